"""What must hold when a run is over: the store against what the world itself knows."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_diamond.model.attempt_files import array_folder
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.store import Store

from .cluster import STRANGER, Job
from .plan import CHARGES
from .sums import check_group, within_caps

if TYPE_CHECKING:
    from .world import World

# what a job's fate may be called, beside COMPLETED for what came to its end
_CALLED = {
    "ok": {State.COMPLETED}, "requeued": {State.COMPLETED}, "failed": {State.FAILED}, "oom": {State.OUT_OF_MEMORY},
    "timeout": {State.TIMEOUT}, "node_fail": {State.NODE_FAIL}, "preempted": {State.PREEMPTED},
    "operator": {State.CANCELLED}, "forgotten": {State.COMPLETED, State.LOST}, "cancel_late": {State.COMPLETED},
}  # fmt: skip


def check(world: World) -> None:
    """Note every violation in the world's report."""
    store = Store(world.store_path)
    try:
        tasks = [store.task(summary.id) for summary in store.tasks(limit=1000)]
        groups = store.groups.list(None, None, None, 100)
        tasks += [task for each in groups for task in store.groups.members(each.id)]
        events = store.events(0, 100_000)
    finally:
        store.close()
    _readers(world, [event.seq for event in events])
    jobs: dict[str, list[Job]] = defaultdict(list)
    for site in world.sites:
        for job in site.cluster.jobs:
            if job.token != STRANGER:
                jobs[job.token].append(job)
    known = {attempt.token for task in tasks for attempt in task.attempts}
    for token in set(jobs) - known:
        world.violated(f"nobody knows the jobs of {token}")
    for task in tasks:
        world.report.tasks += 1
        world.report.states[task.state.value] += 1
        _task(world, task)
        _never_two_at_once(world, task, jobs)
        for attempt in task.attempts:
            _attempt(world, task, attempt, jobs[attempt.token])
    wanted = {act.task for act in world.plan.acts if act.what == "submit"} - world.refused
    names = sorted([*(task.name for task in tasks if task.member is None), *(each.name for each in groups)])
    if names != sorted(wanted):
        world.violated(f"asked for {sorted(wanted)}, and there are {names}")
    of_subject: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        of_subject[event.subject].append(event)
    for task in tasks:
        _never_while_held(world, task, of_subject[f"task:{task.id}"])
        _charged_once(world, task, of_subject[f"task:{task.id}"])
    within_caps(world, events)
    for each in groups:
        check_group(world, each, [task for task in tasks if task.id.startswith(f"{each.id}-")], of_subject)


def _readers(world: World, written: list[int]) -> None:
    if any(later <= earlier for earlier, later in pairwise(written)):
        world.violated("the log is not in order")
    for reader in world.readers:
        if reader.seen != written[: len(reader.seen)]:
            world.violated(f"{reader.name} saw other events than were written: lost, twice or out of order")
        if len(written) - len(reader.seen) > 3:  # written while the last server stopped: for the next one to tell
            world.violated(f"{reader.name} saw {len(reader.seen)} of {len(written)} events")


def _task(world: World, task: Task) -> None:
    if not task.state.terminal:
        world.violated(f"{task.name} has not ended: {task.state.value}, {task.attempt.trouble if task.attempt else ''}")
    elif task.state is not State.COMPLETED and not task.cause:
        world.violated(f"{task.name} is {task.state.value} and does not say why")
    if task.state is State.CANCELLED and task.cancel_requested_by is None and "operator" not in world.plan.fates:
        world.violated(f"{task.name} is cancelled, and nobody wanted that")


def _never_two_at_once(world: World, task: Task, jobs: dict[str, list[Job]]) -> None:
    spans = sorted(span for attempt in task.attempts for job in jobs[attempt.token] for span in job.spans)
    if any(later[0] < earlier[1] for earlier, later in pairwise(spans)):
        world.violated(f"{task.name} ran twice at the same time: {spans}")


def _attempt(world: World, task: Task, attempt: Attempt, jobs: list[Job]) -> None:
    name = f"{task.name} attempt {attempt.n}"
    ran = [job for job in jobs if job.spans]
    twice = world.plan.injected.get("submit double", 0)
    if len(ran) > 1:
        world.violated(f"{name}: the cell ran in {len(ran)} jobs")
    if any(len(job.spans) > 1 + job.turn for job in ran):
        world.violated(f"{name}: the cell ran more often than its job was sent back")
    if len(jobs) > 1 and not twice:
        world.violated(f"{name}: {len(jobs)} jobs were handed in")
    for job in jobs:
        if not job.over:
            world.violated(f"{name}: job {job.id} lives on after its task")
    for job in ran:
        if attempt.native is None or attempt.native.id != job.id:
            world.violated(f"{name}: job {job.id} ran, and the store says {attempt.native}")
    folder = Path(array_folder(attempt.folder) if attempt.array else attempt.folder) if attempt.folder else None
    intents = _highest(folder) if folder is not None else 0
    if intents > attempt.submissions:
        world.violated(f"{name}: submission {intents} was made, and the store has noted {attempt.submissions}")
    if ran and attempt.state.terminal:
        _truth(world, name, task, attempt, ran[0])
    if not ran and attempt.state in (State.COMPLETED, State.FAILED, State.TIMEOUT, State.OUT_OF_MEMORY):
        world.violated(f"{name} is {attempt.state.value}, and no job of it ran")


def _truth(world: World, name: str, task: Task, attempt: Attempt, job: Job) -> None:
    called = set(_CALLED[job.fate])
    if task.cancel_requested_by is not None:
        called.add(State.CANCELLED)
    if attempt.cause.startswith("Taken back from ") and attempt.n < len(task.attempts):
        called.add(State.CANCELLED)  # it waited again after its scheduler had sent it back
    if world.plan.ids_anew or world.plan.jumps:
        called.add(State.LOST)  # the books cannot be asked for it any more
    if attempt.state not in called:
        world.violated(
            f"{name} is called {attempt.state.value} ({attempt.cause}), and was {job.row['raw']} ({job.fate})"
        )


def _never_while_held(world: World, task: Task, events: list[Event]) -> None:
    """Nothing of a task is sent while its user holds it; what has started after all is held no more."""
    held = False
    for event in events:
        if event.type in ("task.held", "task.released", "task.stays"):
            held = event.type == "task.held"
        elif event.type == "attempt.submitting" and held:
            world.violated(f"{task.name} was sent while it was held")


def _charged_once(world: World, task: Task, events: list[Event]) -> None:
    """Each attempt is reserved once, when it is made, and settled once, when it has ended; told where its unit is known."""
    for attempt in task.attempts:
        charge = attempt.charge
        if charge is None or (charge.settled_at is not None) is not attempt.state.terminal:
            world.violated(f"{task.name} attempt {attempt.n} is {attempt.state.value}, and charged {charge}")
        if charge is None or not charge.unit:
            continue
        mine = [event.type for event in events if event.type in CHARGES and event.data.get("attempt") == attempt.n]
        wanted = list(CHARGES) if attempt.state.terminal else list(CHARGES[:1])
        if mine != wanted:
            world.violated(f"{task.name} attempt {attempt.n} is {attempt.state.value}, and its charges say {mine}")


def _highest(folder: Path) -> int:
    return max((int(path.name.split(".")[1]) for path in folder.glob("submit.*.*")), default=0)
