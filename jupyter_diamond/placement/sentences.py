"""A decision in one sentence: the choice, the runner-up and what it lacked, and who was refused."""

from __future__ import annotations

from collections.abc import Sequence

from jupyter_diamond.model.decision import Candidate
from jupyter_diamond.model.envelope import Envelope

from . import words
from .comparison import against, because, blockers, lack, name, unmet
from .estimate_words import UNKNOWN, charge, starts
from .most import most_anywhere
from .place import Place

MANY_UNITS = (
    "What these places charge is in different units, which have no rate of exchange: the earliest completion decided. "
    "Name the sites whose charges you can compare with --sites."
)
_REFUSALS = 3
"""More refused sites than this are counted, not listed: the full list is in the explanation."""


def why_here(
    envelope: Envelope,
    candidates: Sequence[Candidate],
    places: Sequence[Place],
    ranked: Sequence[int],
    named: Sequence[int],
) -> str:
    """Why here; or, when nothing is feasible, each site's reason with the smallest change that would pass."""
    if not candidates:
        return "No site is configured: add one to the site catalogue."
    if not ranked:
        return _nowhere(envelope, candidates)
    first = ranked[0]
    chosen = (candidates[first], places[first])
    pinned = ", as you pinned it," if envelope.site is not None else ""
    lot = f", drawn by lot (seed {envelope.seed or 0})" if envelope.objective == "random" else ""
    sentence = f"{name(chosen[0])}{pinned} {_start(envelope, *chosen)}{_cost(chosen[0])}{lot}"
    others = [
        lack(envelope, (candidates[at], places[at]), chosen, tie=at in named)
        for at in _worth_a_word(candidates, ranked)
    ]
    refused = [] if envelope.site is not None else _refusals(candidates, ranked)
    return "; ".join([sentence, *others, *refused]) + "."


def _worth_a_word(candidates: Sequence[Candidate], ranked: Sequence[int]) -> list[int]:
    """The next best, and the best one that would start now where neither of the first two does."""
    if len(ranked) < 2:
        return []
    if any(_starts_now(candidates[at]) for at in ranked[:2]):
        return [ranked[1]]
    return [ranked[1], *[at for at in ranked[2:] if _starts_now(candidates[at])][:1]]


def _starts_now(candidate: Candidate) -> bool:
    wait = candidate.estimate.forecast.wait_s if candidate.estimate is not None else None
    return wait is not None and wait < 1


def warnings(envelope: Envelope, chosen: Candidate) -> tuple[str, ...]:
    """What the user should know about the choice before it runs."""
    found = [
        f"{name(chosen)}: {words.clause(verdict.sentence)}; it was chosen because you pinned it."
        for verdict in chosen.verdicts
        if verdict.answer == "unknown" and not verdict.soft
    ]
    found += [f"{name(chosen)} does not meet a wish of yours: {words.clause(each.sentence)}." for each in unmet(chosen)]
    notes = {verdict.rule: verdict for verdict in chosen.verdicts}
    if chosen.simulated:
        found.append(f"{name(chosen)}: nothing can be submitted to a simulated site.")
    if notes["whole node"].observed == "whole nodes only":
        found.append(f"{name(chosen)} gives, and charges, whole nodes only.")
    if "usable" in notes["health"].sentence:
        found.append(f"{name(chosen)}: {words.clause(notes['health'].sentence)}.")
    if "credit" in notes and "taken by tasks of yours" in notes["credit"].sentence:
        found.append(f"{name(chosen)}: {words.clause(notes['credit'].sentence)}.")
    size = chosen.size
    if size is not None and size.walltime_s < envelope.walltime_s.max:
        found.append(f"{name(chosen)} allows {words.duration(size.walltime_s)}, less than the most that you asked for.")
    return tuple(found)


def _start(envelope: Envelope, candidate: Candidate, place: Place) -> str:
    record, estimate = place.record, candidate.estimate
    if estimate is None or estimate.forecast.wait_s is None:
        said = estimate.forecast.because if estimate is not None else ""
        return "starts at a time that is not known" + (because(said) if said else "")
    if not _starts_now(candidate):
        said = estimate.forecast.because
        return f"starts {starts(estimate.forecast)}" + (because(said) if said else "")
    free, noun = (record.gpus_free, "GPU") if envelope.gpus.max and record else (None, "")
    if free is None and record is not None:
        free, noun = record.cpus_free, "core"
    known = f" ({words.count(free, noun)} free)" if free else ""
    return f"starts {starts(estimate.forecast)}{known}"


def _cost(candidate: Candidate) -> str:
    said = charge(candidate.estimate)
    return "" if said == UNKNOWN else f", and costs {said}"


def _refusals(candidates: Sequence[Candidate], ranked: Sequence[int]) -> list[str]:
    """One reason for each site of which no candidate is left."""
    alive = {candidates[at].site for at in ranked}
    refused: list[str] = []
    for site in dict.fromkeys(candidate.site for candidate in candidates):
        if site not in alive:
            closest = _closest(candidates, site)
            verb = "refused" if _failures(closest) else "left out"
            refused.append(f"{name(closest)} {verb}: {against(closest)}")
    more = len(refused) - _REFUSALS
    return [*refused[:_REFUSALS], f"{words.count(more, 'more site')} refused"] if more > 0 else refused


def _closest(candidates: Sequence[Candidate], site: str) -> Candidate:
    """The candidate of a site that needs the fewest changes; before it, one where changes help at all."""
    own = [candidate for candidate in candidates if candidate.site == site]
    return min(
        own, key=lambda each: (_elsewhere(each), _hopeless(each), _failures(each), len(blockers(each)), each.partition)
    )


def _elsewhere(candidate: Candidate) -> bool:
    # a partition that the pin excludes is the last one to talk about
    return any(each.rule == "pin" and each.answer == "fail" for each in candidate.verdicts)


def _hopeless(candidate: Candidate) -> bool:
    return any(not (each.change or each.advice) for each in blockers(candidate) if each.answer == "fail")


def _failures(candidate: Candidate) -> int:
    return sum(each.answer == "fail" and not each.soft for each in candidate.verdicts)


def _nowhere(envelope: Envelope, candidates: Sequence[Candidate]) -> str:
    """Each site's reasons, all of them: the change that is named must be enough."""
    sites = dict.fromkeys(candidate.site for candidate in candidates)
    asked = [site for site in sites if envelope.site in (None, site)]
    if not asked:
        return f"There is no site {envelope.site}: choose one of {', '.join(sites)}."
    most = most_anywhere(envelope, candidates) if envelope.site is None else None
    reasons: dict[str, list[str]] = {}
    for site in asked if most is None else [each for each in asked if each not in most.sites]:
        closest = _closest(candidates, site)
        said = against(closest)
        if not _failures(closest):
            said += f" (to try it all the same, name --site {site})"
        reasons.setdefault(said, []).append(name(closest))
    parts = [f"{', '.join(names)}: {said}" for said, names in reasons.items()]
    never = all(_failures(_closest(candidates, site)) for site in asked)
    where = f"{envelope.site} cannot" if envelope.site else "No site can" if never else "No site is known to be able to"
    silent = all(_silent(candidate) for candidate in candidates if candidate.site in asked)
    again = " Try again when one answers: %diamond sites shows since when each is silent, and why." if silent else ""
    lead = [] if most is None else [most.sentence]
    return f"{where} run this. {'; '.join([*lead, *parts])}.{again}"


def _silent(candidate: Candidate) -> bool:
    """What is known of it is too old, or was never read."""
    return any(each.rule == "health" and each.answer != "pass" for each in candidate.verdicts)
