"""The movers that there are, each with what it needs."""

from __future__ import annotations

from collections.abc import Mapping

from jupyter_diamond.data.base import Mover
from jupyter_diamond.data.chunks import ChunkMover
from jupyter_diamond.data.copy import CopyMover
from jupyter_diamond.data.globus import GlobusMover
from jupyter_diamond.data.rsync import RsyncMover
from jupyter_diamond.data.stream import StreamMover
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.transfer import MoverKind
from jupyter_diamond.settings import DiamondData


def movers(globus: Globus, settings: DiamondData) -> Mapping[MoverKind, Mover]:
    """Every mover, by its kind."""
    return {
        "copy": CopyMover(), "rsync": RsyncMover(), "stream": StreamMover(), "chunks": ChunkMover(settings.small_bytes),
        "globus": GlobusMover(globus),
    }  # fmt: skip
