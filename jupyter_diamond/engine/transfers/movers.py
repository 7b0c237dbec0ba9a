"""The movers that there are, each with what it needs."""

from __future__ import annotations

from collections.abc import Mapping

from jupyter_diamond.data.base import Mover
from jupyter_diamond.data.copy import CopyMover
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.transfer import MoverKind


def movers(globus: Globus) -> Mapping[MoverKind, Mover]:
    """Every mover, by its kind."""
    del globus
    return {"copy": CopyMover()}
