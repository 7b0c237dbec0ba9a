"""Putting what Globus brought into its place: by the destination's shell, or where there is none by Globus itself."""

from __future__ import annotations

from jupyter_diamond.errors import DataProblem, GlobusProblem

from .base import Move
from .globus_calls import Calls
from .globus_document import Plan, collection_path, part_path
from .globus_patience import Patience
from .globus_watch import Pace
from .placing import begin, part_of, place
from .placing import discard as discard_by_shell

_LOOKS = 5
"""A site's login node may see what another node has written only some seconds later."""


async def make_room(move: Move, plan: Plan) -> None:
    """See that something can be written beside the destination, where there is a shell that can tell it."""
    if plan.part and move.destination.transport is not None:
        await begin(move.destination.transport, move.destination.path, where=move.destination.location.place)


async def put_in_place(calls: Calls, move: Move, plan: Plan | None, patience: Patience, pace: Pace) -> tuple[str, ...]:
    """Rename what came; what was done, for the log. Without a plan both temporary names are looked for.

    Raises DataProblem. Done already, it does nothing.
    """
    if plan is not None and not plan.part:
        return ()
    insides = (False, True) if plan is None else (plan.inside,)
    if move.destination.transport is None:
        return await patience.get(lambda: _by_globus(calls, move, insides))
    for look in range(_LOOKS):
        try:
            return await patience.get(lambda: _by_shell(move, insides))
        except DataProblem as problem:  # noqa: PERF203 - each look runs a script at a site
            if "nothing has come" not in problem.message or look == _LOOKS - 1:
                raise
            await patience.sleep(pace.seen)
    raise AssertionError("it returns or raises")


async def _by_shell(move: Move, insides: tuple[bool, ...]) -> tuple[str, ...]:
    end = move.destination
    assert end.transport is not None, "there is a shell"
    said: tuple[str, ...] = ()
    for inside in insides:
        part = part_of(end.path, move.transfer.id, inside=inside)
        said += await place(end.transport, part, end.path, where=end.location.place)
    return said


async def _by_globus(calls: Calls, move: Move, insides: tuple[bool, ...]) -> tuple[str, ...]:
    end = move.destination
    assert end.collection is not None, "it came through Globus"
    path, said = collection_path(end), list[str]()
    for inside in insides:
        part = part_path(end, move.transfer.id, inside=inside)
        if (await calls.look(end.collection, part)).kind == "missing":
            continue
        there = (await calls.look(end.collection, path)).kind
        try:
            await calls.rename(end.collection, part, path.rstrip("/") or path)
        except GlobusProblem as problem:
            if problem.transient and problem.outcome != "offline":
                raise
            raise DataProblem(
                f"What came for {end.location} lies under {part} and could not be renamed: {problem.message}",
                kind="refused", evidence=problem.evidence,
                advice="Rename it there, or move away what stands in its way.",
            ) from problem  # fmt: skip
        said.append(f"Renamed into place by Globus: {path}{'; replaced a file' if there == 'file' else ''}")
    if not said and (await calls.look(end.collection, path)).kind == "missing":
        raise DataProblem(f"What came for {end.location} is not there any more.", kind="changed")
    return tuple(said)


async def discard(calls: Calls, move: Move) -> None:
    """Take away what lies under the temporary names of a transfer, and nothing else."""
    end = move.destination
    if end.transport is not None:
        await discard_by_shell(end.transport, end.path, move.transfer.id)
        return
    assert end.collection is not None, "it came through Globus"
    paths = {part_path(end, move.transfer.id, inside=inside) for inside in (False, True)}
    body = {
        "DATA_TYPE": "delete", "endpoint": end.collection, "recursive": True, "ignore_missing": True,
        "label": f"jupyter_diamond {move.transfer.id} tidied"[:128], "submission_id": await calls.submission_id(),
        "notify_on_succeeded": False, "notify_on_failed": False, "notify_on_inactive": False,
        "DATA": [{"DATA_TYPE": "delete_item", "path": path} for path in sorted(paths)],
    }  # fmt: skip
    await calls.submit(body, "taking away what a cancelled transfer had brought")
