"""What each act is before it is done, and how it is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from jupyter_diamond.engine.allowed import allowed
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.intake import Agreed, twin_of
from jupyter_diamond.engine.smoke import smoke_job
from jupyter_diamond.errors import (
    ApprovalVoid,
    Conflict,
    Infeasible,
    InvalidRequest,
    NotFound,
    OverBudget,
    PolicyBlocked,
)
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.group import Group, GroupRequest
from jupyter_diamond.model.proposal import OFF, Act, Proposal, Terms
from jupyter_diamond.model.states import Phase
from jupyter_diamond.model.task import Task, TaskRequest
from jupyter_diamond.placement import words
from jupyter_diamond.placement.budget import too_dear
from jupyter_diamond.placement.charge import foreseen

from . import data_acts
from .data_acts import DATA_ACTS
from .terms import Planned, Request, difference, later, of_submission, one, pinned, sha256

if TYPE_CHECKING:
    from jupyter_diamond.service import DiamondService

SUBMISSIONS: frozenset[Act] = frozenset({"submit", "submit_group", "smoke"})
_RESULT_CHARS = 32_768


class Outcome(NamedTuple):
    """What came of an act. ``used`` False: nothing new did."""

    task: str | None = None
    result: str = ""
    used: bool = True


class Acts:
    """The acts of one service."""

    def __init__(self, service: DiamondService) -> None:
        self._service = service
        self.off = False
        """Agents were switched off: what has begun is not done any more either."""

    # ---- what it would be

    async def submission(self, act: Act, request: Request, bundle: bytes) -> tuple[Planned, Request]:
        """Plan it, and bind it to the place and the size. Raises Infeasible, OverBudget, NotFound, Conflict.

        Where the user lets a model order the places that passed every rule, its order counts here, and here alone.
        """
        await self._check(one(request), bundle)
        first = await self._decided(one(request))
        if self._service.reorder is not None:
            first = await self._service.reorder(first)
        first = self._possible(first)
        assert first.choice is not None, "a decision that is possible has a choice"
        bound = pinned(request, first.choice)
        planned = await self.bound(act, bound, bundle)
        return planned._replace(why=first.sentence), bound

    async def _check(self, request: TaskRequest, bundle: bytes) -> None:
        """What would be refused when it is done need not be approved first."""
        if sha256(bundle) != request.bundle_sha256:
            raise InvalidRequest("The inputs are not those that the request names; nothing was proposed.")
        if not request.again:
            ledger, notebook = self._service.ledger, request.notebook.path
            twin_of(request, await ledger.do(ledger.store.active_same_name, request.name, notebook))

    async def bound(self, act: Act, request: Request, bundle: bytes) -> Planned:
        """What a request that is bound already would be now. Raises Infeasible, OverBudget, NotFound."""
        decision = self._possible(await self._decided(one(request)))
        return self._terms(act, request, bundle, decision)

    async def _decided(self, request: TaskRequest) -> Decision:
        planner = self._service.engine.planner
        return await planner.plan(request.envelope, by=request.by, healing=request.healing)

    @staticmethod
    def _possible(decision: Decision) -> Decision:
        choice = decision.choice
        if choice is None or choice.size is None:
            raise OverBudget(decision.sentence) if too_dear(decision) else Infeasible(decision.sentence)
        if choice.simulated:
            raise Infeasible(f"{choice.site} is simulated: nothing can be submitted there. Choose another site.")
        return decision

    def _terms(self, act: Act, request: Request, bundle: bytes, decision: Decision) -> Planned:
        assert decision.choice is not None, "only for what has a place"
        link = self._service.links[decision.choice.site]
        return of_submission(act, request, bundle, decision=decision, link=link, at=from_epoch(time.time()))

    async def smoke(self, site: str, client_token: str) -> tuple[TaskRequest, bytes]:
        """The smallest real job there, from numbers that are fresh."""
        link = self._service.links[site]
        await self._service.refresh(site)
        return await asyncio.to_thread(smoke_job, link, client_token)

    async def other(self, act: Act, subject: str, arguments: Mapping[str, str], data: bytes) -> Planned:
        """Anything that submits nothing. Raises NotFound, Conflict, InvalidRequest, Infeasible."""
        if act in DATA_ACTS:
            return await data_acts.planned(self._service, act, subject, arguments)
        if act in ("execute", "put_file"):
            return self._at_site(act, subject, arguments, data)
        found = await self._found(subject)
        if found.phase is Phase.ENDED:
            raise Conflict(f"{found.name} has ended already: there is nothing to {act}.")
        kind = "group" if isinstance(found, Group) else "task"
        attempt = newest(found) if isinstance(found, Task) else None
        terms = Terms(
            act=act, subject=f"{kind}:{found.id}", arguments={"made_by": found.by or "you", **arguments},
            site=attempt.site if attempt is not None else None,
        )  # fmt: skip
        where = f" at {words.place(attempt.site, attempt.partition or '')}" if attempt is not None else ""
        title = f"{_VERBS[act]} {found.name}, which is {found.phase.value.lower()}{where}"
        if act == "mismatch":
            return await self._mismatch(found, terms, arguments.get("reason", ""))
        if act == "replan":
            return await self._replan(found, terms, title, unpin=arguments.get("unpin") == "true")
        if act == "release":
            charge = attempt.charge if attempt is not None else Charge()
            bound = None if charge is None else charge.model_copy(update={"predicted": None})
            terms = terms.model_copy(update={"charge": bound})
        return Planned(terms=terms, title=title)

    def _at_site(self, act: Act, site: str, arguments: Mapping[str, str], data: bytes) -> Planned:
        name = self._service.links[site].name
        if act == "execute":
            command = arguments.get("command", "")
            allowed(command)
            terms = Terms(act=act, subject=f"site:{name}", site=name, arguments={"command": command})
            return Planned(terms=terms, title=f"Look around at {name}: {command}"[:200])
        file = arguments.get("name", "")
        if not file:
            raise InvalidRequest("A file that is put needs its name.")
        told = {
            "name": file, "sha256": sha256(data), "bytes": str(len(data)),
            "replace": "true" if arguments.get("replace") == "true" else "false",
        }  # fmt: skip
        moved = (f"{len(data):,} bytes go to {file[:128]} in the work folder at {name}.",)
        terms = Terms(act=act, subject=f"site:{name}", site=name, arguments=told, data=moved)
        return Planned(terms=terms, title=f"Put {file[:128]} ({len(data):,} bytes) at {name}")

    async def _mismatch(self, found: Task | Group, terms: Terms, reason: str) -> Planned:
        """Its site is wrong for it: where it would go instead. Raises Conflict where no budget is left for that."""
        if isinstance(found, Group):
            raise InvalidRequest(f"{found.name} is at several places: report it of a member, as {found.name}[3].")
        site = newest(found).site
        _, decision = await self._service.engine.mismatches.planned(found, reason, found.by or "you")
        title = (
            f"Leave {site} out for {found.name}, which is {found.phase.value.lower()} there: it is reported as wrong"
        )
        return self._elsewhere(found, terms, title, decision)

    async def _replan(self, found: Task | Group, terms: Terms, title: str, *, unpin: bool) -> Planned:
        if isinstance(found, Group):  # its members go to several places
            return Planned(terms=terms.model_copy(update={"charge": Charge()}), title=title)
        return self._elsewhere(found, terms, title, await self._service.engine.asked.planned(found, unpin=unpin))

    @staticmethod
    def _elsewhere(found: Task, terms: Terms, title: str, decision: Decision) -> Planned:
        """The terms of an act after which the task goes on where it would go now."""
        choice, attempt = decision.choice, newest(found)
        assert choice is not None and choice.size is not None, "a decision that is possible has a choice"  # noqa: PT018
        place = {"site": choice.site, "partition": choice.partition or None, "account": choice.account}
        charge = foreseen(decision, attempt.model_copy(update={**place, "size": choice.size}))
        bound = None if charge is None else charge.model_copy(update={"predicted": None})
        terms = terms.model_copy(update={**place, "size": choice.size, "charge": bound})
        return Planned(
            terms=terms, title=f"{title}: now {words.place(choice.site, choice.partition)}", why=decision.sentence
        )

    async def _found(self, subject: str) -> Task | Group:
        kind, colon, ref = subject.partition(":")
        if not colon:
            kind, ref = "", subject
        if kind != "group":
            try:
                return await self._service.task(ref)
            except NotFound:
                if kind == "task":
                    raise
        return await self._service.groups.group(ref)

    # ---- doing it

    async def made(self, proposal: Proposal) -> str | None:
        """The task or group that came of a submission already, by its token."""
        if proposal.terms.act not in SUBMISSIONS:
            return None
        ledger, token = self._service.ledger, client_token(proposal.id)
        task = await ledger.do(ledger.store.find_token, token)
        group = await ledger.do(ledger.store.groups.find_token, token) if task is None else None
        return task.id if task is not None else group.id if group is not None else None

    async def do(self, proposal: Proposal, request: Request | None, data: bytes, *, again: bool) -> Outcome:
        """Do it, if it is what was approved. Raises ApprovalVoid where it is not; nothing was done then.

        ``again``: it was begun before, and nobody knows how far it came.
        """
        if request is not None:
            return await self._submit(proposal, request, data)
        terms = proposal.terms
        now = await self.other(terms.act, _asked_of(terms), _arguments(terms), data)
        if said := difference(terms, now.terms):
            raise ApprovalVoid(said)
        self._check_switch()
        if terms.act == "execute":
            done = await self._service.execute(terms.site or "", terms.arguments["command"])
            return Outcome(result=f"exit {done.exit}\n{done.stdout}{done.stderr}"[:_RESULT_CHARS])
        if terms.act == "put_file":
            return await self._put(terms, data, again=again)
        if terms.act in DATA_ACTS:
            return Outcome(result=await data_acts.done(self._service, proposal, client_token(proposal.id)))
        kind, _, ref = terms.subject.partition(":")
        by = proposal.by.agent or "you"
        target = self._service.groups if kind == "group" else self._service
        if terms.act == "mismatch":
            await self._service.report_mismatch(ref, terms.arguments["reason"], by, _same_place(terms))
        elif terms.act == "replan":
            await self._replanned(kind, ref, by, terms)
        else:
            acts = {"cancel": target.cancel, "hold": target.hold, "release": target.release}
            await acts[terms.act](ref, by)
        return Outcome(task=ref)

    async def _replanned(self, kind: str, ref: str, by: str, terms: Terms) -> None:
        """A task goes to the place that was approved, or stays; the members of a group go to several."""
        unpin = terms.arguments.get("unpin") == "true"
        if kind == "group":
            await self._service.groups.replan(ref, by, unpin=unpin)
        else:
            await self._service.replan(ref, by, unpin=unpin, agreed=_same_place(terms))

    def _check_switch(self) -> None:
        """Right before the act: a site's numbers may have been waited for since it was allowed to begin."""
        if self.off:
            raise PolicyBlocked(OFF)

    async def _submit(self, proposal: Proposal, request: Request, data: bytes) -> Outcome:
        def agreed(decision: Decision) -> None:
            self._check_switch()
            now = self._terms(proposal.terms.act, request, data, self._possible(decision))
            if said := difference(proposal.terms, now.terms) or later(proposal, now.starts_in_s):
                raise ApprovalVoid(said)

        if isinstance(request, GroupRequest):
            group = await self._service.groups.submit(request, data, agreed)
            return Outcome(task=group.group.id, used=not group.attached)
        task = await self._service.submit(request, data, agreed)
        return Outcome(task=task.task.id, used=not task.attached)

    async def _put(self, terms: Terms, data: bytes, *, again: bool) -> Outcome:
        name, replace = terms.arguments["name"], terms.arguments["replace"] == "true"
        try:
            put = await self._service.put_file(terms.site or "", name, data, replace=replace)
        except Conflict as there:
            if not again:
                raise
            raise ApprovalVoid(
                f"It was begun before and cut off. {there.message} Look whether it is that one."
            ) from there
        return Outcome(result=f"{put.path} at {put.site}: {put.bytes:,} bytes")


_VERBS: dict[Act, str] = {
    "cancel": "Cancel",
    "hold": "Hold",
    "release": "Release",
    "replan": "Plan anew",
    "mismatch": "Leave its site for",
}


def _same_place(terms: Terms) -> Agreed:
    """Refuses a decision that goes elsewhere, or at another size, than was approved."""

    def agreed(decision: Decision) -> None:
        choice = decision.choice
        assert choice is not None, "only what has a place is decided on"
        there = {"site": choice.site, "partition": choice.partition or None, "account": choice.account}
        if said := difference(terms, terms.model_copy(update={**there, "size": choice.size})):
            raise ApprovalVoid(said)

    return agreed


def client_token(proposal_id: str) -> str:
    """The token of the submission that a proposal is about: however often it is sent, it makes one task."""
    return f"proposal-{proposal_id}"


_FOUND = ("made_by", "sha256", *data_acts.FOUND)


def _asked_of(terms: Terms) -> str:
    return terms.site or "" if terms.act in ("execute", "put_file") else terms.subject


def _arguments(terms: Terms) -> dict[str, str]:
    return {name: value for name, value in terms.arguments.items() if name not in _FOUND}
