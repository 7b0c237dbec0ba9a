"""Nothing is done for an agent without a word of the user that names it, or a budget that the user set.

A proposal is planned, bound to a hash of its terms and stored. When it is approved, or a standing budget covers it, it
is done exactly once: whether it may begin is decided in one transaction; a submission carries a token that is derived
from the proposal, so that a second call, another tab or a restart in between gives the same task; and the decision that
it is submitted with has to have the approved terms, else the proposal is void and nothing was done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import AsyncIterator, Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from jupyter_diamond.errors import (
    ApprovalVoid,
    DiamondError,
    InvalidRequest,
    PolicyBlocked,
    ServerUnavailable,
    StoreError,
)
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.group import GroupRequest
from jupyter_diamond.model.proposal import LONGEST_S, Act, Proposal, Speaker, Standing
from jupyter_diamond.model.task import TaskRequest
from jupyter_diamond.settings import DiamondApprovals

from .acts import SUBMISSIONS, Acts, Outcome, client_token
from .allowances import Allowances
from .speakers import person_only, refuse_guest
from .terms import Planned, Request, asked, difference, later, needs, one, with_one

if TYPE_CHECKING:
    from jupyter_diamond.service import DiamondService

_OPEN: tuple[Standing, ...] = ("waiting", "approved")


class Guard(Allowances):
    """The one way for an agent to do anything but look."""

    def __init__(self, service: DiamondService, settings: DiamondApprovals, log: logging.Logger) -> None:
        super().__init__(service, log)
        self._lasts = timedelta(seconds=min(max(1.0, settings.lasts_s), LONGEST_S))
        self._acts = Acts(service)
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    async def start(self) -> None:
        """Note what was done before a crash and could not be noted. Nothing is begun here."""
        self._ledger.listen(self._hear)
        self._acts.off = not (await self.switched()).on
        approved: tuple[Standing, ...] = ("approved",)
        for found in await self._ledger.do(self._store.proposals.list, approved, limit=1000):
            if found.began_at is not None and (task := await self._acts.made(found)) is not None:
                await self._ledger.write(self._store.proposals.finish, found.id, found.by, _now(), task=task)

    def _hear(self, event: Event) -> None:
        """The switch, whichever server of the user was asked."""
        if event.type == "agents.switched":
            self._acts.off = not event.data["on"]

    # ---- proposing

    async def propose(
        self,
        act: Act,
        speaker: Speaker,
        *,
        request: Request | None = None,
        bundle: bytes = b"",
        subject: str = "",
        arguments: Mapping[str, str] | None = None,
        intent: str = "",
        notes: Collection[str] = (),
    ) -> Proposal:
        """Plan an act and have it wait for a word. The same question again gives the same proposal.

        A submission needs its ``request`` and ``bundle``, anything else its ``subject``: a task, a group or a site.
        Raises Infeasible, OverBudget, NotFound, Conflict, InvalidRequest, PolicyBlocked: nothing is proposed then.
        """
        await self._check_switch(speaker)
        wanted, at = dict(arguments or {}), _now()
        question = asked(act, subject, {**wanted, "data": bundle.hex()[:64]} if request is None else wanted, request)
        known = await self._ledger.do(self._store.proposals.same, question, speaker, since=at - self._lasts)
        again = request is not None and one(request).again
        for found in known:
            if _answers(found, at, again=again):
                return found
        proposal_id = f"p{secrets.token_hex(5)}"
        planned, sent, data = await self._planned(act, proposal_id, speaker, (request, bundle, subject, wanted))
        made = Proposal(
            id=proposal_id, hash=planned.terms.hash, terms=planned.terms, title=planned.title, why=planned.why,
            intent=intent[:2000], asked=question, source=one(sent).source if sent is not None else "",
            script=planned.script, starts_in_s=planned.starts_in_s, runs_s=planned.runs_s,
            predicted=planned.predicted, tries=planned.tries, notes=(*planned.notes, *notes), by=speaker,
            created_at=at, expires_at=at + self._lasts,
        )  # fmt: skip
        body = sent.model_dump_json() if sent is not None else ""
        return await self._ledger.write(self._store.proposals.make, made, body, data)

    async def _planned(
        self, act: Act, proposal_id: str, speaker: Speaker, said: tuple[Request | None, bytes, str, dict[str, str]]
    ) -> tuple[Planned, Request | None, bytes]:
        """The terms, and what would be sent."""
        request, bundle, subject, arguments = said
        if act not in SUBMISSIONS:
            return await self._acts.other(act, subject, arguments, bundle), None, bundle
        token = client_token(proposal_id)
        if act == "smoke":
            request, bundle = await self._acts.smoke(subject, token)
        if request is None or isinstance(request, GroupRequest) != (act == "submit_group"):
            raise InvalidRequest(f"A proposal to {act} needs its request.")
        own = one(request).model_copy(update={"client_token": token, "by": speaker.agent})
        planned, bound = await self._acts.submission(act, with_one(request, own), bundle)
        return planned, bound, bundle

    # ---- the user's word

    async def approve(self, proposal_id: str, hash_: str, by: Speaker) -> Proposal:
        """Let what has this hash be done. Approving it again is the same.

        Raises PolicyBlocked for who may not, ApprovalVoid where it is another one, or too late, or denied.
        """
        await self._person(by, "approve", proposal_id)
        at = _now()
        approve = self._store.proposals.approve
        return await self._ledger.write(approve, proposal_id, hash_, by, at=at, until=at + self._lasts)

    async def deny(self, proposal_id: str, by: Speaker, reason: str = "") -> Proposal:
        """Let it not be done."""
        await self._person(by, "deny", proposal_id)
        return await self._ledger.write(self._store.proposals.deny, proposal_id, reason[:500], by, _now())

    async def _person(self, by: Speaker, what: str, proposal_id: str | None = None) -> None:
        if said := person_only(by, what):
            await self._ledger.write(self._store.proposals.blocked, proposal_id, by, said, _now())
            raise PolicyBlocked(said)

    # ---- doing it

    async def perform(self, proposal_id: str, speaker: Speaker) -> Proposal:
        """Do it, once, if it was approved or a standing budget covers it. Done before: what came of it then.

        Raises NeedsApproval, ApprovalVoid (what would happen is not what was approved), PolicyBlocked, and whatever
        the act itself raises; where that may pass, calling again goes on with the same act.
        """
        async with self._turn(proposal_id):
            proposal = await self.proposal(proposal_id)
            await self._theirs(proposal, speaker)
            store = self._store.proposals
            if proposal.standing == "done":
                return await self._ledger.do(store.seen, proposal_id) if speaker.agent is not None else proposal
            if (task := await self._acts.made(proposal)) is not None:  # a crash between the act and its note
                return await self._ledger.write(store.finish, proposal_id, speaker, _now(), task=task)
            again = proposal.began_at is not None
            proposal = await self._ledger.write(store.begin, proposal_id, needs(proposal), speaker, _now())
            if proposal.standing == "done":
                return proposal
            outcome = await self._done(proposal, speaker, again=again)
            return await self._ledger.write(
                store.finish, proposal_id, speaker, _now(), task=outcome.task, result=outcome.result, used=outcome.used
            )

    async def _done(self, proposal: Proposal, speaker: Speaker, *, again: bool) -> Outcome:
        request, data = await self._sent(proposal)
        try:
            return await self._acts.do(proposal, request, data, again=again)
        except PolicyBlocked as blocked:
            await self._ledger.write(self._store.proposals.blocked, proposal.id, speaker, blocked.code, _now())
            raise
        except ApprovalVoid as changed:
            if (task := await self._acts.made(proposal)) is not None:
                return Outcome(task=task)  # another server of the user was faster, and what it took is what changed
            await self._ledger.write(self._store.proposals.void, proposal.id, changed.message, speaker, _now())
            said = f"{proposal.title}: what was approved is not what would happen now. {changed.message}"
            raise ApprovalVoid(f"{said} Nothing was done; propose it anew.", evidence=(proposal.id,)) from changed
        except DiamondError as problem:
            if not (problem.transient or isinstance(problem, StoreError | ServerUnavailable)):
                void = self._store.proposals.void
                await self._ledger.write(void, proposal.id, problem.message, speaker, _now(), code=problem.code)
            raise

    async def _sent(self, proposal: Proposal) -> tuple[Request | None, bytes]:
        body, data = await self._ledger.do(self._store.proposals.sent, proposal.id)
        if not body:
            return None, data
        model: type[GroupRequest | TaskRequest] = GroupRequest if proposal.terms.act == "submit_group" else TaskRequest
        return model.model_validate_json(body), data

    async def _theirs(self, proposal: Proposal, speaker: Speaker) -> None:
        """An agent does only what it proposed itself. Raises PolicyBlocked."""
        said = ""
        if speaker.guest:
            said = f"{speaker.user} is a guest of this server: guests look, nothing else."
        elif speaker.agent is not None and (speaker.agent, speaker.channel) != (proposal.by.agent, proposal.by.channel):
            said = f"{proposal.id} was not proposed by {speaker.agent} in this conversation."
        if said:
            await self._ledger.write(self._store.proposals.blocked, proposal.id, speaker, said, _now())
            raise PolicyBlocked(said)

    @contextlib.asynccontextmanager
    async def _turn(self, proposal_id: str) -> AsyncIterator[None]:
        """One at a time for each proposal; two servers meet in the store."""
        lock, waiting = self._turns.get(proposal_id, (asyncio.Lock(), 0))
        self._turns[proposal_id] = lock, waiting + 1
        try:
            async with lock:
                yield
        finally:
            lock, waiting = self._turns.pop(proposal_id)
            if waiting > 1:
                self._turns[proposal_id] = lock, waiting - 1

    # ---- looking

    async def proposal(self, proposal_id: str) -> Proposal:
        """A proposal by its id. Raises NotFound."""
        await self._ledger.do(self._store.proposals.expire, _now())
        return await self._ledger.do(self._store.proposals.get, proposal_id)

    async def proposals(
        self, standing: Collection[Standing] = (), channel: str | None = None, limit: int = 100
    ) -> tuple[Proposal, ...]:
        """Proposals, newest first."""
        await self._ledger.do(self._store.proposals.expire, _now())
        return await self._ledger.do(self._store.proposals.list, standing, channel, limit)

    async def looked_at(self, proposal_id: str) -> Proposal:
        """A proposal, with what is different now from what was proposed. Raises NotFound."""
        found = await self.proposal(proposal_id)
        if found.standing not in _OPEN or found.began_at is not None:
            return found
        request, data = await self._sent(found)
        if request is None:
            return found
        try:
            now = await self._acts.bound(found.terms.act, request, data)
        except DiamondError as problem:
            return found.model_copy(update={"changed": (problem.message,)})
        said = (difference(found.terms, now.terms), later(found, now.starts_in_s))
        return found.model_copy(update={"changed": tuple(each for each in said if each)})

    # ---- foreign text

    async def foreign(self, channel: str, at: datetime | None = None) -> None:
        """Note that text from outside came into the channel's context."""
        await self._ledger.do(self._store.proposals.foreign, channel, at or _now())

    async def clean(self, channel: str) -> None:
        """Note that the channel's context was emptied."""
        await self._ledger.do(self._store.proposals.foreign, channel, None)

    async def _check_switch(self, speaker: Speaker) -> None:
        try:
            refuse_guest(speaker)
            await self.may_propose()
        except PolicyBlocked as blocked:
            await self._ledger.write(self._store.proposals.blocked, None, speaker, blocked.message, _now())
            raise


def _answers(found: Proposal, at: datetime, *, again: bool) -> bool:
    """Whether a proposal answers the same question that is asked now."""
    if found.standing in _OPEN:
        return found.began_at is not None or found.expires_at > at
    if found.standing != "done":
        return False
    return not again if found.terms.act in ("submit", "submit_group") else found.budget is None and not found.told


def _now() -> datetime:
    return from_epoch(time.time())
