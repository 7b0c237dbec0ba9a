"""The REST API of data by name and of transfers."""

from __future__ import annotations

from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.model.data import Location
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
        forgotten = await self.service.data.get(name)
        await self.service.data.remove(name)
        self.answer(forgotten)


class CheckHandler(DiamondHandler):
    """A look at every copy."""

    @web.authenticated
    @authorized
    async def post(self, name: str) -> None:
        """Look now."""
        self.answer(await self.service.data.check(name))


class ListingHandler(DiamondHandler):
    """What a copy holds."""

    @web.authenticated
    @authorized
    async def get(self, name: str) -> None:
        """Its files at a site, with the digest that deleting it asks for."""
        self.answer(await self.service.data.listing(name, self.query(ListingQuery).site))


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
