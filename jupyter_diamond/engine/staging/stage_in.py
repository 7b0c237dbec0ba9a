"""Stage-in: what a batch needs is at its site before the batch is sent, brought there once, and told with the attempt.

What is brought is a durable transfer, which goes on whatever happens to this server. It has the same token for all who
need the same data at the same site, so it is made once. Nothing is waited for here: a batch that is not ready yet is
asked about again when one of its transfers has ended.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from jupyter_diamond.engine.batch import Batch, newest
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.errors import DataProblem, DiamondError, GlobusProblem, NotFound, TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.data import Location, Replica, Staged, StageIn
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Task
from jupyter_diamond.model.transfer import Transfer, TransferRequest
from jupyter_diamond.store.datasets import Copy

from .resolve import Seen, Target, Way, by_rate, way_to
from .sights import Sight, look, may_pass, plain, replica_of, used

_MOST_TRIES = 1000
"""Far more often than anybody brings the same data to the same site anew."""


Copies = Callable[[str], Awaitable[tuple[Copy, ...]]]
"""Gives a dataset's copies as they were seen last. Raises NotFound."""


class _Got(NamedTuple):
    """What became of one name. ``transfer`` is set while it goes on."""

    staged: Staged
    transfer: Transfer | None = None


class StageIns:
    """Makes data ready; one for all sites."""

    def __init__(self, ledger: Ledger, transfers: TransferDesk, copies: Copies, log: logging.Logger) -> None:
        self._ledger, self._transfers, self._named, self._log = ledger, transfers, copies, log
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        """By transfer, who is to be woken at its end."""
        ledger.listen(self._hear)

    def concerns(self, envelope: Envelope) -> bool:
        """Whether it needs any data."""
        return bool(envelope.stage_in)

    async def ready(self, batch: Batch, link: SiteLink, wake: Callable[[], None]) -> Batch | None:
        """The batch when all its data is there; see ``Readiness``."""
        known = {each.name: each for each in batch.attempt.staged}
        wanted = batch.lead.envelope.stage_in
        try:
            found = [await self._one(want, known.get(want.name), batch, link) for want in wanted]
        except DiamondError as problem:
            if may_pass(problem):
                raise TransportError(problem.message, outcome="refused", evidence=problem.evidence) from problem
            if not isinstance(problem, TransportError):
                await self.let_go(batch.tasks)  # what else was on its way is of no use now
            raise
        going = [each.transfer for each in found if each.transfer is not None]
        staged = tuple(each.staged for each in found)
        if staged != batch.attempt.staged or (going and batch.attempt.state is not State.STAGING_IN):
            batch = await self._note(batch, staged, going)
        if not going:
            return batch
        for each in going:
            self._waiting.setdefault(each.id, []).append(wake)
        for each in going:  # it may have ended before anybody listened
            if (await self._transfers.get(each.id)).ended:
                wake()
        return None

    async def _note(self, batch: Batch, staged: tuple[Staged, ...], going: Sequence[Transfer]) -> Batch:
        moving: dict[str, Any] = {"state": State.STAGING_IN, "trouble": ""} if going else {}
        told = {"data": [each.name for each in staged][:20], "transfers": [each.id for each in going][:20]}
        tasks = await self._ledger.update_all(batch.tasks, "attempt.staging", told, staged=staged, **moving)
        return batch.of(tasks)

    def _hear(self, event: Event) -> None:
        if event.type == "transfer.ended":
            for wake in self._waiting.pop(event.subject.partition(":")[2], ()):
                wake()

    # ---- one name

    async def _one(self, want: StageIn, known: Staged | None, batch: Batch, link: SiteLink) -> _Got:
        if known is not None and known.transfer is not None:
            transfer = await self._transfers.get(known.transfer)
            if not transfer.ended:
                return _Got(known, transfer)
            if transfer.state == "succeeded":
                return await self._arrived(want, known, transfer, link)
            if transfer.state == "failed":
                raise _failed(want.name, link.name, transfer)
        return await self._found(want, batch, link)

    async def _found(self, want: StageIn, batch: Batch, link: SiteLink) -> _Got:
        """What is there now, or a transfer that has begun. Raises DataProblem, TransportError, NotFound."""
        copies = await self._copies(want)
        seen = [
            Seen(old.replica, old.listing, sight)
            for old, sight in zip(copies, await self._looked(copies, link.name), strict=True)
        ]
        await self._keep(want, copies, seen)
        at = await target_of(link)
        looks: dict[str, Sight | None] = {}
        way = way_to(want.name, at, seen, looks.get)
        there = Location(kind="site", site=link.name, path=way.path)
        if not way.here:
            looks[way.path] = await look(self._transfers, there)
            way = way_to(want.name, at, seen, looks.get)
        if way.here:
            made = (s.sight for s in seen if not s.replica.given and s.sight.location.path == way.path)
            known = next(made, None) if link.site.data.purge_days is not None else None
            return await self._is_here(want, way, looks.get(way.path) or known, link)
        transfer = await self._brought(want, way, there, batch)
        staged = Staged(name=want.name, path=way.path, transfer=transfer.id, why=transfer.why)
        return _Got(staged, None if transfer.ended else transfer)

    async def _copies(self, want: StageIn) -> tuple[Copy, ...]:
        if want.source is None:
            try:
                return await self._named(want.name)
            except NotFound as problem:
                raise DataProblem(problem.message, kind="missing") from None
        return (Copy(Replica(location=plain(want.source), given=True), ""),)

    async def _looked(self, copies: Sequence[Copy], site: str) -> list[Sight]:
        """Looks at the copies that matter: all that the user named, and those at this site."""
        skipped = Sight(copies[0].replica.location, None) if copies else None

        async def sight(copy: Copy) -> Sight:
            replica = copy.replica
            if replica.given or replica.location.place == site or skipped is None:
                return await look(self._transfers, replica.location)
            # elsewhere, and made: it is looked at when it is to be the source
            return Sight(replica.location, None, DataProblem("It was not looked at.", kind="missing"))

        return list(await asyncio.gather(*map(sight, copies)))

    async def _keep(self, want: StageIn, copies: Sequence[Copy], seen: Sequence[Seen]) -> None:
        """What was seen of a dataset's copies, for all who ask where they lie."""
        if want.source is not None:
            return
        now = from_epoch(time.time())
        told = [
            replica_of(each.sight, given=each.replica.given, now=now, before=old)
            for old, each in zip(copies, seen, strict=True)
            if each.sight.found is not None
        ]
        if told:
            await self._ledger.write(self._ledger.store.datasets.saw, want.name, told, now)

    async def _is_here(self, want: StageIn, way: Way, sight: Sight | None, link: SiteLink) -> _Got:
        path = await link.transport.expand(way.path)
        if want.source is None and sight is not None and sight.good:
            await self._placed(want.name, sight, link)  # to read it is to touch it; or nobody had written it down
        return _Got(Staged(name=want.name, path=path, why=way.why))

    async def _arrived(self, want: StageIn, known: Staged, transfer: Transfer, link: SiteLink) -> _Got:
        """It was brought: from now on it is a copy of the dataset."""
        if want.source is None:
            sight = await look(self._transfers, Location(kind="site", site=link.name, path=known.path))
            if not sight.good:
                gone = sight.problem or DataProblem(f"{sight.location} cannot be looked at.", kind="missing")
                raise gone
            await self._placed(want.name, sight, link, digest=transfer.digest)
        return _Got(known)

    async def _placed(self, name: str, sight: Sight, link: SiteLink, digest: str | None = None) -> None:
        now = from_epoch(time.time())
        copy = replica_of(sight, given=False, now=now, site=link.site)
        replica = used(copy.replica, link.site, now)
        if digest is not None and replica.size is not None:
            replica = replica.model_copy(update={"size": replica.size.model_copy(update={"digest": digest})})
        await self._ledger.write(self._ledger.store.datasets.placed, name, Copy(replica, copy.listing), now)

    # ---- what moves

    async def _brought(self, want: StageIn, way: Way, there: Location, batch: Batch) -> Transfer:
        """A transfer of it that goes on, from the best source that can be had. Raises the problem of the first."""
        site, places = there.place, {each.place for each in way.sources}
        rates = {place: await self._transfers.rate(place, site) for place in places}
        first: DiamondError | None = None
        for source in by_rate(way.sources, rates, site):
            begun = await self._begun(want, source, there, batch)
            if isinstance(begun, Transfer):
                return begun
            first = first or begun
            self._log.info("%s does not come from %s: %s", want.name, source, begun.message)
        assert first is not None, "there is a source, or there was a problem"
        raise first

    async def _begun(
        self, want: StageIn, source: Location, there: Location, batch: Batch
    ) -> Transfer | DataProblem | TransportError | GlobusProblem:
        """The transfer of this data to this place that goes on, or why there is none.

        One that ended before is no answer any more, for what it brought is not there now.
        """
        digest = hashlib.sha256(f"{source}\0{there}".encode()).hexdigest()[:32]
        lead = batch.lead
        for again in range(_MOST_TRIES):
            request = TransferRequest(
                client_token=f"stage-in-{digest}-{again}", source=source, destination=there, purpose="stage_in",
                dataset=want.name, task=lead.id, attempt=newest(lead).n, by=lead.by,
            )  # fmt: skip
            try:
                transfer = await self._transfers.start(request)
            except (DataProblem, TransportError, GlobusProblem) as problem:
                return problem
            if not transfer.ended and transfer.cancel_requested_by is None:
                return transfer
        return DataProblem(f"{want.name} was brought to {there.place} too often.", kind="refused")

    async def dressed(self, job: JobRequest, batch: Batch, link: SiteLink) -> JobRequest:  # noqa: ARG002 - Readiness
        """The job as it is: where its data lies is said by its attempt."""
        return job

    async def let_go(self, tasks: Sequence[Task]) -> None:
        """End the transfers that only these needed."""
        mine = {each.transfer for task in tasks for each in newest(task).staged if each.transfer is not None}
        if not mine:
            return
        ids = {task.id for task in tasks}
        others = [task for task in await self._ledger.do(self._ledger.store.datasets.staging) if task.id not in ids]
        needed = {each.transfer for task in others if not unwanted_now(task) for each in newest(task).staged}
        for transfer_id in mine - needed:
            if not (await self._transfers.get(transfer_id)).ended:
                by = next((task.cancel_requested_by for task in tasks if task.cancel_requested_by), "user")
                await self._transfers.cancel(transfer_id, by)


def unwanted_now(task: Task) -> bool:
    """Nothing is to be sent for it: then it needs no data either."""
    return task.cancel_requested_by is not None or newest(task).withdrawal is not None


async def target_of(link: SiteLink) -> Target:
    """Where data is wanted at a site. Raises TransportError."""
    told = link.site.data.folder
    folder = await link.transport.expand(told or f"{link.site.workdir.rstrip('/')}/data")
    return Target(link.name, folder, in_place=told is None and link.transport.shares_files)


def _failed(name: str, site: str, transfer: Transfer) -> DataProblem:
    said = transfer.cause or "the transfer failed."
    return DataProblem(
        f"{name} did not get to {site}: {said}", kind=transfer.fault or "broken",
        advice=transfer.next or f"Then: %diamond transfer again {transfer.id}", evidence=transfer.evidence,
    )  # fmt: skip
