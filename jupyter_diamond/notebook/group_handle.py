"""The object that a submitted array or sweep leaves in the notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from jupyter_diamond.errors import CaptureRefused, DiamondError, InvalidRequest, NotFound
from jupyter_diamond.model.group import Group, MemberSummary
from jupyter_diamond.model.receipt import Crate
from jupyter_diamond.model.states import State

from .card import Card
from .conditions import group_condition
from .consumers import Callback
from .explanation import Explanation
from .group_calls import GroupAct
from .group_card import GROUP, plain, static_bundle
from .group_results import LARGE_BYTES, Loaded, Room, load_member, results_table
from .group_story import every_group_event, group_story
from .group_words import failures, numbers, state_of
from .handle import FOLLOW_S, TaskHandle
from .session import Session
from .tables import events_table
from .task_files import Files, export_folder, fetched, files_of_group
from .text import Text
from .verdict_text import Verdict, shown

if TYPE_CHECKING:
    import pandas as pd


class GroupHandle:
    """A group: ``len(fit)``, ``fit[17]``, ``for task in fit``, ``wait()``, ``results()``, ``failed``, ``states``,
    ``cancel()``, ``hold()``, ``release()``, ``replan()``, ``explain()``, ``events()``, ``timeline()``, ``files``,
    ``fetch()``, ``export()``, ``await``.

    It can be made again at any time, also after a kernel restart: ``diamond.task("fit")``.
    """

    def __init__(self, session: Session, group: Group) -> None:
        self._session = session
        self._following = session.watcher.follow_group(group)
        self._loaded: dict[int, tuple[int, Loaded]] = {}

    # -- what it is --------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name it was submitted under."""
        return self._following.group.name

    @property
    def id(self) -> str:
        """The group's own id."""
        return self._following.group.id

    @property
    def group(self) -> Group:
        """Everything that is known about it as a whole, asked for now unless it has ended."""
        if not self._following.ended.is_set():
            self._following.take_group(self._session.client.group(self.id))
        return self._following.group

    @property
    def state(self) -> State:
        """The state that stands for all of it now: how it ended, or that of its members which says most."""
        return state_of(self.group)

    @property
    def states(self) -> dict[str, int]:
        """How many members are in which state now; those of later rounds are in none."""
        return {state.value: count for state, count in self.group.states.items()}

    def __len__(self) -> int:
        """How many members it has, of all rounds."""
        return self._following.group.members

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> TaskHandle:
        """A member by its number, as a task of its own.

        :raises NotFound: there is none, or its round has not begun.
        """
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise InvalidRequest(
                f"A member is named by its number: {self.name}[3]; {self.name}.results() has them all."
            )
        number = index.__index__()
        found = self._session.client.members(self.id, after=number - 1, limit=1) if number >= 0 else ()
        if not found or found[0].index != number:
            raise NotFound(self._no_member(number))
        return TaskHandle(self._session, self._session.client.task(found[0].id))

    def __iter__(self) -> Iterator[TaskHandle]:
        """The members that have begun, by number."""
        for member in self._members():
            yield TaskHandle(self._session, self._session.client.task(member.id))

    def _members(self) -> tuple[MemberSummary, ...]:
        return self._session.client.members(self.id)

    def _no_member(self, number: int) -> str:
        begun = numbers(member.index or 0 for member in self._members())
        later = " Those of later rounds begin when their round does." if self.group.rounds > 1 else ""
        return f"{self.name} has no member {number} that has begun; it has {begun or 'none'}.{later}"

    # -- waiting and results -----------------------------------------------------------------------------------

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all of it has ended; False when ``timeout`` seconds have passed before that.

        To stop waiting leaves the group alone: it goes on.
        """
        return self._following.ended.wait(timeout)

    def __await__(self) -> Generator[Any, None, pd.DataFrame]:
        return self._awaited().__await__()

    async def _awaited(self) -> pd.DataFrame:
        """Wait without holding up the kernel's event loop."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has been closed meanwhile: nobody waits any more
                loop.call_soon_threadsafe(ended.set)

        self._following.on_change(wake)
        while not self._following.ended.is_set():
            with suppress(asyncio.TimeoutError):  # the stop button is seen only when the loop turns
                await asyncio.wait_for(ended.wait(), FOLLOW_S)
        return await asyncio.to_thread(self.results)

    def results(self, at_most: int = LARGE_BYTES) -> pd.DataFrame:
        """What there is now: a row a member that has begun, by its number; it does not wait.

        Columns: what each was given, state, place, seconds waited and run, charge, cause, and the value of each name
        of ``--out``. What failed has its cause there; nothing is raised for it. Of values that are too large to come
        with the table, ``at_most`` bytes are fetched; ``fit[17].result()`` brings any that is left.
        """
        group, members = self.group, self._members()
        self._load(group, members, Room(at_most))
        loaded = {index: found for index, (_, found) in self._loaded.items()}
        return results_table(group, members, loaded, datetime.now(timezone.utc))

    @property
    def failed(self) -> pd.DataFrame:
        """The members that ended and not well, as ``results()`` has them, without values."""
        wrong = [state for state in State if state.terminal and state is not State.COMPLETED]
        members = self._session.client.members(self.id, states=wrong)
        bare = self.group.model_copy(update={"outputs": ()})
        return results_table(bare, members, {}, datetime.now(timezone.utc))

    def _load(self, group: Group, members: tuple[MemberSummary, ...], room: Room) -> None:
        """Bring the values that are not here yet; a member's are kept until another attempt of it has some."""
        fresh = [member for member in members if self._loaded.get(member.index or 0, (0,))[0] < member.attempts]
        if not group.outputs or not any(member.state.terminal for member in fresh):
            return
        after: int | None = min(member.index or 0 for member in fresh) - 1
        while after is not None:
            page = self._session.client.group_results(self.id, after if after >= 0 else None)
            for result in page.members:
                if self._loaded.get(result.index, (0,))[0] < result.attempt:
                    found = load_member(result, group.outputs, self._session.client, room)
                    self._loaded[result.index] = (0 if room.refused else result.attempt, found)
            for gone in page.missing:
                self._loaded.setdefault(gone.index, (0, ({}, "")))
            after = page.next

    def logs(self, *, follow: bool = False, tail: int | None = None) -> Text | None:
        """Each member has a log of its own: ``fit[3].logs()``; that of an only member is meant here, too."""
        members = self._members()
        if len(members) == 1:
            return self[members[0].index or 0].logs(follow=follow, tail=tail)
        wrong = [index for each in failures(members) for index in each.indices]
        first = wrong[0] if wrong else (members[0].index if members else 0)
        raise InvalidRequest(f"{self.name} has {len(self)} logs, one a member: %diamond logs {self.name}[{first}].")

    # -- what its members left ---------------------------------------------------------------------------------

    @property
    def files(self) -> Files:
        """The files of all members that have ended: a list that shows as a table, with the member's number."""
        return files_of_group(self._session.client, self.id)

    def fetch(self, *patterns: str, to: str | Path | None = None) -> list[Path]:
        """Bring the files that patterns name, each member's to a folder of its number: ``fit/0003/ckpt/1.pt``.

        :raises NotFound: no file is named by them.
        """
        return fetched(self._session, self.files, patterns, Path(to or self.name).expanduser(), by_member=True)

    def export(self, folder: str | Path | None = None, *, copy: int | None = None) -> Crate:
        """Write all members that have begun as one RO-Crate; ``copy`` as for a task."""
        to = export_folder(self.name, folder)
        return self._session.client.crate(self.id, to, copy_bytes=copy, group=True)

    # -- being woken -------------------------------------------------------------------------------------------

    def on_end(self, callback: Callback | None = None, *, consumer: str | None = None) -> None:
        """Call ``callback(news)`` between two cells when all of it has ended, at once if it has; also after a restart.

        ``consumer`` is a name under which any kernel may hear it, or ``"webhook"``; by default this notebook's.
        """
        self._session.consumers.on(f"group:{self.id}", group_condition("ended"), callback, consumer=consumer)

    def on(
        self,
        what: str,
        callback: Callback | None = None,
        *,
        ended: float | None = None,
        well: float | None = None,
        consumer: str | None = None,
    ) -> None:
        """``on("quorum", f, well=10)``, ``on("quorum", f, ended=0.9)``, ``on("failed", f)``: the first that fails.

        :raises InvalidRequest: there is nothing of that name to wait for.
        """
        members = ended if ended is not None else well
        if members is not None and members > len(self):
            raise InvalidRequest(f"{self.name} has {len(self)} members: a quorum of {members} would never be there.")
        wanted = group_condition(what, ended=ended, well=well)
        self._session.consumers.on(f"group:{self.id}", wanted, callback, consumer=consumer)

    # -- asking ------------------------------------------------------------------------------------------------

    def cancel(self) -> GroupHandle:
        """Ask the sites to end all members. Returns at once; later rounds never begin."""
        return self._act("cancel")

    def hold(self) -> GroupHandle:
        """Submit nothing more of it until ``release()``; jobs of it that wait are taken back."""
        return self._act("hold")

    def release(self) -> GroupHandle:
        """Let it go on after ``hold()``."""
        return self._act("release")

    def replan(self, *, unpin: bool = False) -> GroupHandle:
        """Share out anew what has not started; ``unpin``: not bound any more to the place that you had named."""
        return self._act("replan", unpin=unpin)

    def _act(self, act: GroupAct, *, unpin: bool = False) -> GroupHandle:
        self._following.take_group(self._session.client.on_group(self.id, act, unpin=unpin))
        return self

    # -- what happened -----------------------------------------------------------------------------------------

    @property
    def verdict(self) -> Verdict:
        """How many of its members did what was asked, and the first that did not; a text with ``.correct``."""
        return shown(self._session.client.group_verdict(self.id))

    def explain(self) -> Explanation:
        """Why its members went where they went: the shares, and the decision that was stored when they were sent."""
        first = self._session.client.members(self.id, limit=1)
        if not first:
            raise NotFound(f"No member of {self.name} has begun: nothing was decided yet.")
        decision, shared = self._session.client.decision(first[0].id), self.group.why_here
        return Explanation(decision.model_copy(update={"sentence": shared}) if shared else decision)

    def events(self) -> pd.DataFrame:
        """What happened to the group as such, oldest first; each member has events of its own."""
        return events_table(every_group_event(self._session.client, self.id))

    def timeline(self) -> Text:
        """Its rounds, its places, what went wrong, what was mended, and what happened, oldest first."""
        group, members = self.group, self._members()
        events = every_group_event(self._session.client, self.id)
        return Text(group_story(group, members, events, datetime.now(timezone.utc)))

    # -- how it shows ------------------------------------------------------------------------------------------

    def show(self) -> None:
        """Put a live card below the running cell."""
        acts: dict[str, Callable[[], None]] = {
            "cancel": lambda: self._from_card("cancel", "Not cancelled"),
            "hold": lambda: self._from_card("hold", "Not held"),
            "release": lambda: self._from_card("release", "Not released"),
        }
        card = Card(self._session.publisher, self._following.view(), slots=False, acts=acts, look=GROUP)
        card.show(alive=not self._following.ended.is_set())
        self._following.add_card(card)
        if self._following.ended.is_set():
            self._following.redraw()

    def _from_card(self, act: GroupAct, not_done: str) -> None:
        try:
            self._act(act)
        except DiamondError as fault:
            self._following.take_trouble(f"{not_done}: {fault.message}")

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ARG002
        return static_bundle(self._following.view())

    def __repr__(self) -> str:
        return plain(self._following.view())

    def __reduce__(self) -> NoReturn:
        """A handle speaks with this kernel's server, so it cannot travel with a cell; what it returned can."""
        raise CaptureRefused(
            f"`{self.name}` is a group's handle, which lives in this kernel. Take what it returned in a cell before: "
            f"table = {self.name}.results()."
        )
