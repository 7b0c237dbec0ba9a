"""What the same code took before: asked against used. It goes before any guess."""

from __future__ import annotations

from jupyter_diamond.model.draft import PastRun, Reason
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.memory import GIB, to_words

from .numbers import friendly

_ROOM_TIME, _ROOM_MEMORY = 1.5, 1.3
"""A second run is not quite like the first: half as much time again, and a third as much memory."""


def reasons_of(runs: tuple[PastRun, ...]) -> list[Reason]:
    """Options by the newest run, and the newest that ended well; none where there was no run."""
    if not runs:
        return []
    newest = runs[0]
    well = next((run for run in runs if run.state is State.COMPLETED), None)
    found = [] if well is None else _of_success(well)
    if newest.state is State.OUT_OF_MEMORY:
        asked = newest.size.memory_bytes or (newest.envelope.memory_bytes.max if newest.envelope.memory_bytes else None)
        if asked:
            found = [each for each in found if each.field != "memory"]
            found.append(_say("memory", _gib(asked * 2), newest, f"{to_words(asked)} was too little the last time"))
    if newest.state is State.TIMEOUT:
        found = [each for each in found if each.field not in ("time", "runtime")]
        twice = newest.size.walltime_s * 2
        limit = friendly(newest.size.walltime_s)
        found.append(_say("time", friendly(twice), newest, f"the time limit of {limit} was too short the last time"))
    return found


def _of_success(run: PastRun) -> list[Reason]:
    found = []
    asked, had = run.envelope, run.size
    if had.gpus or asked.gpus.max:
        found.append(_say("gpus", str(had.gpus), run, f"it ran well with {had.gpus} GPUs a node"))
    if had.nodes > 1:
        found.append(_say("nodes", str(had.nodes), run, f"it ran well on {had.nodes} nodes"))
    if had.cpus > 1:
        found.append(_say("cpus", str(had.cpus), run, f"it ran well with {had.cpus} CPUs a node"))
    if run.run_s:
        limit = friendly(max(run.run_s * _ROOM_TIME, 600))
        found.append(_say("time", limit, run, f"it ran for {friendly(run.run_s)}; half as much again is asked"))
        found.append(_say("runtime", friendly(run.run_s), run, f"it ran for {friendly(run.run_s)}"))
    if run.max_rss_bytes:
        used = to_words(run.max_rss_bytes)
        found.append(_say("memory", _gib(run.max_rss_bytes * _ROOM_MEMORY), run, f"its peak was {used}"))
    return found


def _gib(size: float) -> str:
    return f"{max(1, -(-int(size) // GIB))}G"


def _say(field: str, value: str, run: PastRun, clause: str) -> Reason:
    what = "this code" if run.same == "digest" else "this cell, with other values"
    at = f", {run.ended_at:%Y-%m-%d}" if run.ended_at else ""
    return Reason(
        field=field, value=value, sentence=f"Of {what}: {clause}.", evidence=f"task {run.name} ({run.task}) at "
        f"{run.site}{at}", source="history",
    )  # fmt: skip
