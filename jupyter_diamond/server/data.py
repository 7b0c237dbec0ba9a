"""The REST API of data by name and of transfers."""

from __future__ import annotations

import os
from itertools import islice

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.data.listing import Listing as Found
from jupyter_diamond.errors import DataProblem, NotFound
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.data import ListedFile, Listing, Location
from jupyter_diamond.model.transfer import TransferPlan, TransferRequest
from jupyter_diamond.parsing.locations import location_of

from .base import DiamondHandler
from .data_forms import (
    DataForm,
    DatasetList,
    DropForm,
    ListingQuery,
    TransferForm,
    TransferList,
    TransferPlanQuery,
    TransfersQuery,
)

LISTED = 1000
"""So many files of a copy are named; all are counted, and in its digest."""


class _Locating(DiamondHandler):
    """Reads locations as people write them."""

    def located(self, text: str) -> Location:
        """The location. Raises InvalidRequest, also for a site that is not configured."""
        return location_of(text, tuple(self.service.links))


class DatasetsHandler(_Locating):
    """Data by name."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """All of it, with what is known of each copy."""
        self.answer(DatasetList(data=await self.service.data.list()))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Give a name to data, or another copy to a name; it is looked at."""
        form = self.form(DataForm)
        self.answer(await self.service.data.add(form.name, self.located(form.location), form.note), 201)


class DatasetHandler(DiamondHandler):
    """One dataset."""

    @web.authenticated
    @authorized
    async def get(self, name: str) -> None:
        """It, as it was looked at last."""
        self.answer(await self.service.data.get(name))

    @web.authenticated
    @authorized
    async def delete(self, name: str) -> None:
        """Forget the name; no file is touched."""
        self.answer(await self.service.data.remove(name))


class CheckHandler(DiamondHandler):
    """A look at every copy."""

    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        """Look now."""
        self.answer(await self.service.data.check(name))


class ListingHandler(_Locating):
    """What a copy holds."""

    @web.authenticated
    @authorized
    async def get(self, name: str) -> None:
        """Its files as they are now, with the digest that deleting it asks for."""
        asked = self.query(ListingQuery)
        where = self.located(asked.location) if asked.location is not None else None
        copies = (await self.service.data.get(name)).replicas
        fits = [each.location for each in copies if where in (None, each.location)]
        fits = [each for each in fits if asked.site in (None, each.place)]
        if not fits:
            raise NotFound(f"No copy of {name} is known at {asked.location or asked.site}.")
        self.answer(listed(fits[0], await self.service.transfers.look(fits[0])))


def listed(location: Location, found: Found | None) -> Listing:
    """A listing as it is answered: its first files. Raises DataProblem where there is none."""
    if found is None or found.kind not in ("file", "folder"):
        said = "cannot be listed from here" if found is None else f"is {found.kind}"
        raise DataProblem(f"{location} {said}.", kind="no_way" if found is None else "missing")
    files = tuple(
        ListedFile(
            path=os.fsencode(path).decode("utf-8", "backslashreplace") or ".",
            bytes=each.bytes,
            modified_at=from_epoch(each.mtime_ns / 1e9),
        )
        for path, each in islice(sorted(found.files.items()), LISTED)
    )
    return Listing(location=location, size=found.size, digest=found.digest, files=files)


class DropHandler(_Locating):
    """The end of a copy that a stage-in made."""

    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        """Delete it, where it is still what was listed."""
        form = self.form(DropForm)
        self.answer(await self.service.data.drop_replica(name, self.located(form.location), form.listing))


class TransfersHandler(_Locating):
    """All transfers."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Transfers, newest first."""
        asked = self.query(TransfersQuery)
        found = await self.service.transfers.list(active=asked.active, task=asked.task, limit=asked.limit)
        self.answer(TransferList.model_construct(transfers=found))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Begin one."""
        form = self.form(TransferForm)
        ends = {"source": self.located(form.source), "destination": self.located(form.destination)}
        request = TransferRequest.model_validate({**dict(form), **ends})
        self.answer(await self.service.transfers.start(request), 201)


class TransferPlanHandler(_Locating):
    """How something would move."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Choose the way, and move nothing."""
        asked = self.query(TransferPlanQuery)
        source, destination = self.located(asked.source), self.located(asked.destination)
        mover, why = await self.service.transfers.plan(source, destination)
        rate = await self.service.transfers.rate(source.place, destination.place)
        needs = await self.service.transfers.needs(source, destination) if mover == "globus" else ()
        self.answer(TransferPlan(mover=mover, why=why, rate=rate, needs=needs))


class TransferHandler(DiamondHandler):
    """One transfer."""

    @web.authenticated
    @authorized
    async def get(self, ref: str) -> None:
        """It, as it is known now."""
        self.answer(await self.service.transfers.get(ref))


class CancelTransferHandler(DiamondHandler):
    """The end of a transfer, on request."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Ask for it."""
        self.answer(await self.service.transfers.cancel(ref, "you"))


class AgainHandler(DiamondHandler):
    """A transfer once more."""

    @web.authenticated
    @authorized
    async def post(self, ref: str) -> None:
        """Begin a new one that asks for the same."""
        self.answer(await self.service.transfers.again(ref, "user"), 201)


DATA_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/data", DatasetsHandler),
    ("/data/([^/]+)", DatasetHandler),
    ("/data/([^/]+)/check", CheckHandler),
    ("/data/([^/]+)/listing", ListingHandler),
    ("/data/([^/]+)/drop", DropHandler),
    ("/transfers", TransfersHandler),
    ("/transfers/plan", TransferPlanHandler),
    ("/transfers/([^/]+)", TransferHandler),
    ("/transfers/([^/]+)/cancel", CancelTransferHandler),
    ("/transfers/([^/]+)/again", AgainHandler),
]
