"""A transfer by Globus between two folders: the mover under test, the real SDK, the stand-in of the service."""

from __future__ import annotations

import logging
import os
from datetime import datetime, timedelta, timezone

from jupyter_diamond.data.base import End, Move
from jupyter_diamond.data.globus import GlobusMover
from jupyter_diamond.data.globus_watch import Pace
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.transfer import Transfer, TransferRequest
from jupyter_diamond.settings import DiamondGlobus
from jupyter_diamond.transport.local import LocalTransport

QUICK = Pace(first=0.02, least=0.02, most=0.05, ask_again=0.1, stalled=0.15, resumes=0.1, fails=(0.02, 0.05), seen=0.05)
"""What takes minutes there takes moments here."""


def globus_at(home, environ):
    settings = DiamondGlobus(tokens_folder=str(home / "globus"), client_id="", timeout_s=5.0)
    return Globus(settings, logging.getLogger("jupyter_diamond"), {"HOME": str(home), **environ})


def move_of(transfer, root, shell, **how):
    """The movement of a transfer to the collection whose folder is ``root``, with or without a shell there."""
    source, destination = transfer.request.source, transfer.request.destination
    return Move(
        transfer,
        End(source, source.path, collection=str(source.collection), collection_path=source.path),
        End(
            destination, f"{root}{destination.path}", transport=shell, collection=str(destination.collection),
            collection_path=destination.path,
        ),
        **how,
    )  # fmt: skip


class Between:
    """Two collections, and movements between them. What is kept, said and told is kept here.

    ``shell``: the destination is a site's with a shell; else it is a collection only.
    """

    def __init__(self, services, folder, globus, *, shell=True, pace=QUICK):
        self.services, self.globus = services, globus
        self.a = services.transfer.add_collection("Site A", folder / "a")
        self.b = services.transfer.add_collection("Site B", folder / "b")
        self.mover = GlobusMover(globus, pace)
        self.shell = LocalTransport({}) if shell else None
        self.said, self.told, self.links = [], [], []
        self.kept = {}
        self.on_keep = lambda fields: None

    def write(self, **files):
        """Write files at the source; their names may have folders."""
        for name, text in files.items():
            path = self.a.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def transfer(self, source="/in", destination="/out", *, deadline_s=60.0, **request):
        now = datetime.now(timezone.utc)
        asked = TransferRequest(
            client_token="a-token-of-this-test",
            source=Location(kind="globus", collection=self.a.id, path=source),
            destination=Location(kind="globus", collection=self.b.id, path=destination),
            deadline_s=deadline_s,
            **request,
        )
        return Transfer(
            id="x0123456789", request=asked, mover="globus", created_at=now, state_since=now,
            deadline=now + timedelta(seconds=deadline_s),
        )  # fmt: skip

    def made(self, transfer):
        """The movement, with the transfer as it is kept by now."""
        kept = transfer.model_copy(update=self.kept)
        return move_of(kept, self.b.root, self.shell, keep=self.keep, tell=self.told.append, say=self.say)

    async def move(self, transfer=None):
        return await self.mover.move(self.made(transfer or self.transfer()))

    async def keep(self, **fields):
        self.kept |= fields
        self.on_keep(fields)

    async def say(self, state, sentence, link):
        self.said.append((state, sentence))
        self.links.append(link)

    @property
    def states(self):
        return [state for state, _ in self.said]

    def found(self, path="out"):
        """What lies at the destination now, by name."""
        folder = self.b.root / path
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

    @property
    def parts(self):
        """What lies under temporary names."""
        listed = (names for _, folders, files in os.walk(self.b.root) for names in (folders, files))
        return [name for names in listed for name in names if name.startswith(".diamond-part-")]

    @property
    def submitted(self):
        return self.services.transfer.transfers()

    async def close(self):
        await self.globus.close()
        if self.shell is not None:
            await self.shell.close()
