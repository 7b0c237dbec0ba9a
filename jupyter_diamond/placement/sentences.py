"""A decision in one sentence: the choice, the runner-up and what it lacked, and who was refused."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_diamond.model.decision import Candidate, Verdict
from jupyter_diamond.model.envelope import Envelope

from . import words
from .rules import Place

_REFUSALS = 3
"""More refused sites than this are counted, not listed: the full list is in the explanation."""


def why_here(
    envelope: Envelope,
    candidates: Sequence[Candidate],
    places: Sequence[Place],
    ranked: Sequence[int],
    ties: Sequence[int],
) -> str:
    """Why here; or, when nothing is feasible, each site's reason with the smallest change that would pass."""
    if not candidates:
        return "No site is configured: add one to the site catalogue."
    if not ranked:
        return _nowhere(envelope, candidates)
    first = ranked[0]
    chosen = candidates[first]
    pinned = " as you pinned it," if envelope.site is not None else ""
    sentence = f"{_name(chosen)},{pinned} {_start(envelope, chosen, places[first])}"
    if len(ranked) > 1:
        second = ranked[1]
        lack = _lack(candidates[second], places[second], chosen, places[first], tie=second in ties)
        sentence += f", chosen over {_name(candidates[second])} ({lack})"
    refused = [] if envelope.site is not None else _refusals(candidates, ranked)
    return "; ".join([sentence, *refused]) + "."


def warnings(envelope: Envelope, chosen: Candidate) -> tuple[str, ...]:
    """What the user should know about the choice before it runs."""
    found = [
        f"{_name(chosen)}: {words.clause(verdict.sentence)}; it was chosen because you pinned it."
        for verdict in chosen.verdicts
        if verdict.answer == "unknown"
    ]
    notes = {verdict.rule: verdict for verdict in chosen.verdicts}
    if chosen.simulated:
        found.append(f"{_name(chosen)}: nothing can be submitted to a simulated site.")
    if notes["whole node"].observed == "whole nodes only":
        found.append(f"{_name(chosen)} gives, and charges, whole nodes only.")
    if "usable" in notes["health"].sentence:
        found.append(f"{_name(chosen)}: {words.clause(notes['health'].sentence)}.")
    size = chosen.size
    if size is not None and size.walltime_s < envelope.walltime_s.max:
        found.append(
            f"{_name(chosen)} allows {words.duration(size.walltime_s)}, less than the most that you asked for."
        )
    return tuple(found)


def blockers(candidate: Candidate) -> list[Verdict]:
    """What stands against a candidate: failures, or else what is not known."""
    fails = [verdict for verdict in candidate.verdicts if verdict.answer == "fail"]
    return fails or [verdict for verdict in candidate.verdicts if verdict.answer == "unknown"]


def _distinct(verdicts: list[Verdict]) -> list[Verdict]:
    """Without *it has no GPU* where the capacity says so already."""
    said = {verdict.rule for verdict in verdicts}
    return [
        each for each in verdicts if (each.rule, each.observed) != ("accelerator", "no GPU") or "capacity" not in said
    ]


def _name(candidate: Candidate) -> str:
    simulated = " (simulated)" if candidate.simulated else ""
    return words.place(candidate.site, candidate.partition) + simulated


def _start(envelope: Envelope, candidate: Candidate, place: Place) -> str:
    record = place.record
    if candidate.starts_now:
        free, noun = (record.gpus_free, "GPU") if envelope.gpus.max and record else (None, "")
        if free is None and record is not None:
            free, noun = record.cpus_free, "core"
        return "starts now" if free is None else f"starts now ({words.count(free, noun)} free)"
    return f"has to wait ({_ahead(candidate)})"


def _ahead(candidate: Candidate) -> str:
    if candidate.queue_ahead is None:
        return "how many are ahead is not known"
    return (
        f"{words.count(candidate.queue_ahead, 'job')} ahead" if candidate.queue_ahead else "nobody ahead, nothing free"
    )


def _lack(candidate: Candidate, place: Place, chosen: Candidate, best: Place, *, tie: bool) -> str:
    """What the runner-up lacked, by the order in which candidates are ranked."""
    if tie:
        return "equally good, decided by name"
    if not candidate.feasible and chosen.feasible:
        return words.clause(blockers(candidate)[0].sentence)
    if not candidate.starts_now:
        return _ahead(candidate)
    burns_gpus = _gpus_there(place) and not _gpus_there(best) and chosen.size is not None and not chosen.size.gpus
    whole, part = (each.record is not None and each.record.whole_node for each in (place, best))
    reasons = {
        "would keep GPUs from others": burns_gpus,
        "would take a whole node": whole and not part,
        f"you prefer {best.site.name}": place.site.prefer < best.site.prefer,
        "offers less of what you asked for": True,
    }
    return next(reason for reason, holds in reasons.items() if holds)


def _gpus_there(place: Place) -> bool:
    return place.record is not None and any(shape.gpus for shape in place.record.shapes)


def _refusals(candidates: Sequence[Candidate], ranked: Sequence[int]) -> list[str]:
    """One reason for each site of which no candidate is left."""
    alive = {candidates[at].site for at in ranked}
    refused: list[str] = []
    for site in dict.fromkeys(candidate.site for candidate in candidates):
        if site not in alive:
            closest = _closest(candidates, site)
            verb = "refused" if any(each.answer == "fail" for each in closest.verdicts) else "left out"
            refused.append(f"{site} {verb}: {words.clause(blockers(closest)[0].sentence)}")
    more = len(refused) - _REFUSALS
    return [*refused[:_REFUSALS], f"{words.count(more, 'more site')} refused"] if more > 0 else refused


def _closest(candidates: Sequence[Candidate], site: str) -> Candidate:
    """The candidate of a site that needs the fewest changes."""
    own = [candidate for candidate in candidates if candidate.site == site]
    return min(own, key=lambda each: (_failures(each), len(blockers(each)), each.partition))


def _failures(candidate: Candidate) -> int:
    # a partition that the pin excludes is the last one to talk about
    return sum(10 if each.rule == "pin" else 1 for each in candidate.verdicts if each.answer == "fail")


def _nowhere(envelope: Envelope, candidates: Sequence[Candidate]) -> str:
    """Each site's reasons, all of them: the change that is named must be enough."""
    sites = dict.fromkeys(candidate.site for candidate in candidates)
    asked = [site for site in sites if envelope.site in (None, site)]
    if not asked:
        return f"There is no site {envelope.site}: choose one of {', '.join(sites)}."
    parts = []
    for site in asked:
        closest = _closest(candidates, site)
        reasons = " and ".join(words.clause(verdict.sentence) for verdict in _distinct(blockers(closest)))
        if all(verdict.answer != "fail" for verdict in closest.verdicts):
            reasons += f" (to try it all the same, name --site {site})"
        parts.append(f"{_name(closest)}: {reasons}")
    where = "No site" if envelope.site is None else envelope.site
    return f"{where} {'can' if envelope.site is None else 'cannot'} run this. " + "; ".join(parts) + "."
