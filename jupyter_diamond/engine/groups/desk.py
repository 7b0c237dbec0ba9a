"""What is asked of groups: to take one, to show it, to end, hold, release and plan it anew, to give its results."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection

from jupyter_diamond.engine.batch import Inputs
from jupyter_diamond.engine.engine import Engine
from jupyter_diamond.engine.intake import Agreed, check_bundle
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.engine.spool import Spool
from jupyter_diamond.errors import Conflict, Infeasible, OverBudget
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.group import Group, GroupRequest, GroupResults, GroupSubmitted, MemberSummary
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Task, TaskRequest
from jupyter_diamond.model.views import EventPage
from jupyter_diamond.placement.budget import too_dear
from jupyter_diamond.settings import DiamondLimits
from jupyter_diamond.store.bulk import uncollected
from jupyter_diamond.store.follows import not_started
from jupyter_diamond.store.groups import Round, Share

from .names import Names
from .results import PAGE, VALUE_BYTES, read_results
from .shares import round_of, split, too_few, why_there


class GroupDesk:
    """Any server of the user takes what is asked; the one that advances work acts on it."""

    def __init__(
        self,
        ledger: Ledger,
        links: SiteLinks,
        limits: DiamondLimits,
        *,
        engine: Callable[[], Engine],
        spool: Callable[[], Spool],
    ) -> None:
        self._ledger, self._links, self._limits = ledger, links, limits
        self._engine, self._spool = engine, spool

    # ---- taking one

    async def submit(self, asked: GroupRequest, bundle: bytes, agreed: Agreed | None = None) -> GroupSubmitted:
        """Take a group: planned, stored with its first round, and on its way. The same token gives the same group.

        ``agreed`` raises where the decision is not one that it agrees to.

        Raises InvalidRequest, Conflict, Infeasible, OverBudget: nothing was submitted then.
        """
        request, groups = asked.request, self._ledger.store.groups
        known = await self._ledger.do(groups.find_token, request.client_token)
        if known is not None:
            return GroupSubmitted(group=known, created=False)
        check_bundle(request, bundle, at_most=self._limits.bundle_bytes)
        if not request.again and (twin := await self._ledger.do(self._twin, asked)) is not None:
            return GroupSubmitted(group=twin, attached=True, created=False)
        first = await self._announced(await self._first_round(asked, agreed), asked)
        group_id = f"g{secrets.token_hex(5)}"
        await asyncio.to_thread(self._spool().save, group_id, bundle)
        now, caps = from_epoch(time.time()), self._engine().planner.caps
        try:
            create = groups.create
            group, made = await self._ledger.write(create, asked, group_id=group_id, first=first, at=now, caps=caps)
        except OverBudget:  # another submission was faster
            await asyncio.to_thread(self._spool().drop, group_id)
            raise
        if not made:
            await asyncio.to_thread(self._spool().drop, group_id)
        sent = [task for task in made if task.state is State.SUBMITTING]
        self._engine().groups.handed(group_id, sent, of=len(made))
        self._engine().adopt_all(sent, Inputs(request, "", bundle, announced=True, at_once=asked.at_once))
        return GroupSubmitted(group=group, created=bool(made))

    async def plan(self, envelope: Envelope, count: int, *, at_once: int | None = None) -> Decision:
        """How a round of so many would be shared out now, in the words that its group would keep."""
        planned = await self._engine().planner.planned(envelope)
        found = split(planned, count, at_once=at_once)
        said = too_few(found, planned.decision) or why_there(found, planned.decision)
        return planned.decision.model_copy(update={"sentence": said})

    async def _first_round(self, asked: GroupRequest, agreed: Agreed | None) -> Round:
        """The plan of its first round. Raises Infeasible, OverBudget."""
        request, members = asked.request, asked.rounds[0]
        planned = await self._engine().planner.planned(request.envelope, by=request.by, healing=request.healing)
        decision = planned.decision
        if decision.choice is not None and decision.choice.simulated:
            raise Infeasible(f"{decision.choice.site} is simulated: nothing was submitted. Choose another site.")
        found = split(planned, len(members), at_once=asked.at_once)
        why_not = too_few(found, decision)
        if why_not:
            raise OverBudget(why_not) if too_dear(decision) else Infeasible(why_not)
        if agreed is not None:
            agreed(decision)
        with uncollected():
            return round_of(found, decision, members, names=Names(), now=from_epoch(time.time()))

    async def _announced(self, first: Round, asked: GroupRequest) -> Round:
        """With the intent of each job array that may go to its site now: it is stored together with the group then."""
        if asked.at_once is not None and len(first.shares) > 1:
            return first  # whose turn it is, the driver says
        engine, shares = self._engine(), list[Share]()
        for share in first.shares:
            place = share.first.array
            wanted = asked.request.envelope
            folder = await engine.folder_for(share.first, wanted) if place is not None else None
            with uncollected():
                shares.append(share if folder is None else share.announced(folder))
        return first._replace(shares=tuple(shares))

    def _twin(self, asked: GroupRequest) -> Group | None:
        """In the store's thread: the same group, still active (B27). Raises Conflict where another of that name is."""
        request, store = asked.request, self._ledger.store
        for group in store.groups.active_same_name(request.name, request.notebook.path):
            if group.digest == request.digest and store.groups.request(group.id).members == asked.members:
                return group
        self._refuse_namesakes(request)
        if tasks := store.active_same_name(request.name, request.notebook.path):
            raise _taken(request.name, tasks[-1].state.value, "task")
        return None

    def _refuse_namesakes(self, request: TaskRequest) -> None:
        groups = self._ledger.store.groups.active_same_name(request.name, request.notebook.path)
        if groups:
            raise _taken(request.name, groups[-1].phase.value.lower(), "group")

    async def refuse_namesakes(self, request: TaskRequest) -> None:
        """Raises Conflict where a group of that name is still active, unless both are wanted."""
        if not request.again:
            await self._ledger.do(self._refuse_namesakes, request)

    # ---- looking

    async def group(self, ref: str) -> Group:
        """A group by its id, or the newest of that name. Raises NotFound."""
        return self._told(await self._ledger.do(self._ledger.store.groups.get, ref))

    async def groups(
        self, name: str | None = None, phase: str | None = None, notebook: str | None = None, limit: int = 100
    ) -> tuple[Group, ...]:
        """Groups, newest first. ``phase`` is ``active`` or ``ended``."""
        found = await self._ledger.do(self._ledger.store.groups.list, name, phase, notebook, limit)
        return tuple(self._told(group) for group in found)

    def _told(self, group: Group) -> Group:
        """With what the server that advances work knows beyond the store."""
        waits = self._engine().groups.waits.get(group.id) if group.phase is not Phase.ENDED else None
        return group.model_copy(update={"next": waits}) if waits else group

    async def tasks(
        self, ref: str, states: Collection[State] = (), limit: int = 10_000, after: int | None = None
    ) -> tuple[MemberSummary, ...]:
        """Its members that have begun, by their number. Raises NotFound."""
        return await self._ledger.do(self._ledger.store.groups.tasks, ref, states, limit, after)

    async def events(self, ref: str, after: int = 0, limit: int = 200) -> EventPage:
        """What happened to the group as such, oldest first; each member has events of its own."""
        store, group = self._ledger.store, await self.group(ref)
        events = await self._ledger.do(store.events, after, limit, f"group:{group.id}")
        return EventPage(events=events, cursor=events[-1].seq if events else after)

    async def results(self, ref: str, after: int | None = None, limit: int = PAGE) -> GroupResults:
        """The receipts and small values of its members that have ended, by their number; one read a site."""
        group, store = await self.group(ref), self._ledger.store
        limit = min(limit, PAGE)

        def find() -> tuple[tuple[Task, ...], dict[str, str]]:
            tasks = store.groups.members(group.id, after=after, limit=limit)
            return tasks, store.groups.keys([task.id for task in tasks])

        tasks, keys = await self._ledger.do(find)
        inline = min(self._limits.inline_result_bytes, VALUE_BYTES)
        more = len(tasks) == limit
        return await read_results(group.id, tasks, keys, self._links, inline_bytes=inline, more=more)

    # ---- asking

    async def cancel(self, ref: str, by: str) -> Group:
        """Ask for the end of all of it; rounds that have not begun never do. What has ended stays as it is."""
        group = await self.group(ref)
        return await self._ledger.write(self._ledger.store.groups.cancel, group.id, by, from_epoch(time.time()))

    async def hold(self, ref: str, by: str) -> Group:
        """Submit nothing more of it for now; jobs that wait are taken back. Raises Conflict when all have started."""
        group = await self.group(ref)
        return await self._ledger.write(self._ledger.store.groups.hold, group.id, by, from_epoch(time.time()))

    async def release(self, ref: str, by: str) -> Group:
        """Let it go on."""
        group = await self.group(ref)
        return await self._ledger.write(self._ledger.store.groups.release, group.id, by, from_epoch(time.time()))

    async def replan(self, ref: str, by: str, *, unpin: bool = False) -> Group:
        """Share out anew what has not started; waiting jobs are taken back where too many wait at their place.

        Raises Conflict when all have started, Infeasible when no place can take them: nothing has changed then.
        """
        group, store = await self.group(ref), self._ledger.store
        open_ = await self._ledger.do(store.groups.members, group.id, ended=False)
        waiting = [task for task in open_ if not_started(task.attempts[-1]) and task.attempts[-1].withdrawal is None]
        if not waiting:
            raise Conflict(f"All members of `{group.name}` have started: only what has not is planned anew.")
        envelope = group.envelope
        if unpin:
            envelope = envelope.model_copy(update={"site": None, "partition": None, "account": None})
        planned = await self._engine().planner.planned(envelope, by=group.by)
        found = split(planned, len(waiting), at_once=group.at_once)
        if not found.shares:
            raise Infeasible(f"`{group.name}` stays where it is. {planned.decision.sentence}")
        room = Counter({(place.candidate.site, place.candidate.partition or None): n for place, n in found.shares})
        moved = []
        for task in waiting:
            place = task.attempts[-1].site, task.attempts[-1].partition
            if room[place] > 0:
                room[place] -= 1
            else:
                moved.append(task.id)
        if moved:
            wanted = Withdrawal(by=by, then="replan", unpin=unpin)
            await self._ledger.write(store.groups.withdraw, moved, wanted, from_epoch(time.time()))
        return await self.group(group.id)


def _taken(name: str, how: str, what: str) -> Conflict:
    return Conflict(
        f"`{name}` is still {how}, as another {what}. Choose another name, cancel it with %diamond cancel {name}, or "
        "add --again to have both."
    )
