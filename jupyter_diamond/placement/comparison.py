"""What a candidate lacks beside the chosen one, in the terms of the objective: seconds, charge, waste, preference."""

from __future__ import annotations

from collections.abc import Iterable

from jupyter_diamond.model.decision import Candidate, Verdict
from jupyter_diamond.model.envelope import Envelope, Objective
from jupyter_diamond.model.forecast import Estimate

from . import words
from .estimate_words import about, charge, later, starts, total_of
from .objectives import Equal, cheaper, standing, wasted
from .place import NOW, Place
from .runs import units

EQUALLY: dict[Objective, str] = {
    "earliest_completion": "equally early", "earliest_start": "equally early", "best_feasible": "equally early",
    "lowest_cost": "equally cheap", "least_waste": "equally sparing", "shortest_queue": "equally short of jobs",
    "prefer_site": "equally early", "random": "equally likely",
}  # fmt: skip
_WORTH_SAYING = 0.1
"""Terms that differ by less than this part of the largest difference are not named."""


def name(candidate: Candidate) -> str:
    """``delta:gpuA100x4``; a simulated site says so."""
    simulated = " (simulated)" if candidate.simulated else ""
    return words.place(candidate.site, candidate.partition) + simulated


def blockers(candidate: Candidate) -> list[Verdict]:
    """What stands against a candidate: failures, or else what is not known. Wishes refuse nothing."""
    hard = [verdict for verdict in candidate.verdicts if not verdict.soft and not verdict.moot]
    fails = [verdict for verdict in hard if verdict.answer == "fail"]
    return fails or [verdict for verdict in hard if verdict.answer == "unknown"]


def distinct(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Without *it has no GPU* where the capacity says so already."""
    found = list(verdicts)
    said = {verdict.rule for verdict in found}
    return [
        each
        for each in found
        if each.rule not in ("accelerator", "GPU memory") or each.observed != "no GPU" or "capacity" not in said
    ]


def fact(verdict: Verdict) -> str:
    """The sentence without its advice and its full stop, as a part of a longer one."""
    return words.clause(verdict.sentence).removesuffix(f": {verdict.advice}" if verdict.advice else "")


def said(verdict: Verdict) -> str:
    """A verdict as a clause, with what would let the job in, once."""
    change = verdict.change if verdict.change and verdict.change not in verdict.sentence else ""
    return words.clause(verdict.sentence) + (f" (it would pass with {change})" if change else "")


def against(candidate: Candidate) -> str:
    """All that stands against a candidate; where several changes are needed, they are asked for together."""
    found = distinct(blockers(candidate))
    if len(found) < 2 or not all(each.change for each in found):
        return ", and ".join(said(each) for each in found)
    *first, last = dict.fromkeys(each.change for each in found)
    every = f"{', '.join(first)} and {last}" if first else last
    joint = "" if not first else "both " if len(first) == 1 else "all of "
    return f"{', and '.join(fact(each) for each in found)}: ask for {joint}{every}"


def unmet(candidate: Candidate) -> list[Verdict]:
    """The wishes that it does not meet."""
    return [verdict for verdict in candidate.verdicts if is_wish(verdict) and verdict.answer != "pass"]


def is_wish(verdict: Verdict) -> bool:
    """It is about what the user would like; whether it fits now is soft, too, but a fact."""
    return verdict.soft and verdict.rule != NOW


def lack(
    envelope: Envelope, other: tuple[Candidate, Place], chosen: tuple[Candidate, Place], *, tie: bool = False
) -> str:
    """One clause: ``vista:gh would start now but runs 40 min longer, done 30 min later``."""
    candidate, place = other
    best = chosen[0]
    if tie:
        return f"{name(candidate)} is {EQUALLY[envelope.objective]}, decided by name"
    if blockers(candidate) and not blockers(best):
        return f"{name(candidate)} is not certain: {words.clause(blockers(candidate)[0].sentence)}"
    if len(unmet(candidate)) > len(unmet(best)):
        missed = unmet(candidate)[0]
        return f"{name(candidate)} does not meet a wish of yours: {words.clause(missed.sentence)}"
    start = _would_start(candidate)
    if envelope.objective == "random":
        return f"{name(candidate)} would {start} but was not drawn"
    ours, theirs = standing(envelope, candidate, place).objective, standing(envelope, *chosen).objective
    reasons = _behind_a_tie(candidate, place, *chosen) if ours == theirs else _by_objective(envelope, other, chosen)
    if not reasons:
        return f"{name(candidate)} would {start}"
    joint = "but" if _no_later(candidate, best) else "and"
    return f"{name(candidate)} would {start} {joint} {_listed(reasons)}"


def _listed(reasons: list[str]) -> str:
    *first, last = reasons
    return f"{', '.join(first)} and {last}" if first else last


def _would_start(candidate: Candidate) -> str:
    forecast = candidate.estimate.forecast if candidate.estimate is not None else None
    if forecast is None or forecast.wait_s is None:
        return "start at a time that is not known"
    if forecast.wait_s < 1 or not forecast.because:
        return f"start {starts(forecast)}"
    return f"start {starts(forecast)}{because(forecast.because)}"


def because(clause: str) -> str:
    """A forecast's reason as a part of a sentence whose clauses are parted by semicolons."""
    said = clause.replace("; ", ", ")
    return f", {said}" if said.startswith("behind") else f" ({said})"


def _no_later(candidate: Candidate, best: Candidate) -> bool:
    ours, theirs = (each.estimate.forecast.wait_s if each.estimate else None for each in (candidate, best))
    return ours is not None and (theirs is None or ours <= theirs)


def _behind_a_tie(candidate: Candidate, place: Place, best: Candidate, best_place: Place) -> list[str]:
    """Equal by the objective: what decided then, in that order."""
    burns_gpus = _gpus_there(place) and not _gpus_there(best_place) and best.size is not None and not best.size.gpus
    whole, part = (each.record is not None and each.record.whole_node for each in (place, best_place))
    first, other = (Equal.of(0, each, ()) for each in (best, candidate))
    reasons = {
        f"costs more: {charge(candidate.estimate)}": cheaper(first, other),
        "would keep GPUs from others": burns_gpus,
        "would take a whole node": whole and not part,
        _idle(candidate, place, best, best_place): wasted(candidate, place.record) > wasted(best, best_place.record),
        f"you prefer {best_place.site.name}": place.site.name != best_place.site.name,
        "offers less of what you asked for": True,
    }
    return [next(reason for reason, holds in reasons.items() if holds)]


def _idle(candidate: Candidate, place: Place, best: Candidate, best_place: Place) -> str:
    gpus, cpus = wasted(candidate, place.record)
    if gpus > wasted(best, best_place.record)[0]:
        return f"would leave {words.count(gpus, 'GPU')} idle"
    return f"would leave {words.count(cpus, 'core')} idle"


def _gpus_there(place: Place) -> bool:
    return place.record is not None and any(shape.gpus for shape in place.record.shapes)


def _by_objective(envelope: Envelope, other: tuple[Candidate, Place], chosen: tuple[Candidate, Place]) -> list[str]:
    (candidate, place), (best, best_place) = other, chosen
    if envelope.objective == "lowest_cost":
        said = charge(candidate.estimate)
        return [f"costs {said}"] if said != "?" else ["what it costs is not known"]
    if envelope.objective == "shortest_queue":
        ahead = candidate.queue_ahead
        return ["how many wait there is not known" if ahead is None else f"has {words.count(ahead, 'job')} waiting"]
    if envelope.objective == "earliest_start":
        return []
    if envelope.objective == "least_waste" and wasted(candidate, place.record) != wasted(best, best_place.record):
        return [_idle(candidate, place, best, best_place)]
    if envelope.objective == "prefer_site" and place.site.name != best_place.site.name:
        return [f"you prefer {best_place.site.name}"]
    return _slower(candidate, best)


def _slower(candidate: Candidate, best: Candidate) -> list[str]:
    """The terms in which it takes longer, and by how much in all where more than the wait differs."""
    if candidate.estimate is None or best.estimate is None:
        return []
    longer = _longer_terms(candidate.estimate, best.estimate, name(best), _fewer(candidate, best))
    most = max((seconds for seconds, _ in longer), default=0.0)
    reasons = [said for seconds, said in longer if seconds >= _WORTH_SAYING * most]
    ours, theirs = total_of(candidate), total_of(best)
    apart = None if ours is None or theirs is None else ours - theirs
    if apart is None or (not reasons and not _no_later(candidate, best)) or about(abs(apart)) == about(most):
        return reasons
    return [*reasons, f"would be {later(candidate, best)}"]


def _fewer(candidate: Candidate, best: Candidate) -> str:
    """`` on 1 GPU``, where it would have fewer of them than the chosen one; else empty."""
    ours, theirs = candidate.size, best.size
    if ours is None or theirs is None or bool(ours.gpus) != bool(theirs.gpus) or units(ours) >= units(theirs):
        return ""
    return f" on {words.count(units(ours), 'GPU' if ours.gpus else 'core')}"


def _longer_terms(ours: Estimate, theirs: Estimate, best: str, fewer: str) -> list[tuple[float, str]]:
    """By how many seconds each term is longer, and how that is said."""
    moved = theirs.transfer_s or 0.0
    runs = ("is assumed to run {} longer" if ours.run_assumed else "runs {} longer") + fewer
    if (ours.speed or 1.0) > (theirs.speed or 1.0):
        runs += " (as work of yours did)"
    ready = "needs {} longer to get ready"
    if theirs.prepare_s is None:  # unknown is not zero
        ready = f"needs {{}} to get ready (not known of {best})"
    found = [
        ((ours.run_s or 0.0) - (theirs.run_s or 0.0), runs),
        ((ours.prepare_s or 0.0) - (theirs.prepare_s or 0.0), ready),
        ((ours.transfer_s or 0.0) - moved, f"needs {{}}{' longer' if moved >= 1 else ''} to move the data"),
    ]
    return [(seconds, says.format(about(seconds))) for seconds, says in found if seconds >= 1]
