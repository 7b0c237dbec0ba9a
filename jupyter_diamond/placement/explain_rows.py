"""The candidates of a stored decision as rows of a table, the same for text, HTML and DataFrame."""

from __future__ import annotations

from typing import NamedTuple

from jupyter_diamond.model.decision import Answer, Candidate, Decision
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.forecast import Estimate
from jupyter_diamond.parsing.envelopes import envelope_words

from . import words
from .comparison import EQUALLY, against, distinct, name, said
from .estimate_words import UNKNOWN, about, charge, charge_why, ends, later, run, run_from, terms, would_start
from .most import lacking
from .place import NOW

ANSWERS: dict[Answer, str] = {"pass": "ok", "fail": "NO", "unknown": "?"}
TERMS = ("starts", "runs", "ready", "data", "in all", "charge")


class Row(NamedTuple):
    """One candidate. ``terms`` has a text for each of TERMS."""

    candidate: Candidate
    chosen: bool
    mark: str
    place: str
    account: str
    size: str
    terms: tuple[str, ...]
    ahead: str
    age: str


RULES = {
    "pin": "site pinned", "sites": "site named", "reality": "live site", "health": "live data",
    "partition": "takes jobs", "access": "open to jobs", "admission": "account let in", "fabric": "network",
    "accelerator": "GPU model", "capacity": "node size", "GPU count": "number of GPUs", "allowance": "your limits",
    "walltime": "time limit", "options": "required options", "preemptible": "keeps its nodes",
    "account": "account may pay", "credit": "balance", "budget": "your caps",
}  # fmt: skip
"""Rules by what a stranger would call them; the others are called so already."""


def rows(decision: Decision) -> list[Row]:
    """The chosen one first, then by rank, then the others as they were judged."""
    order = sorted(
        range(len(decision.candidates)),
        key=lambda at: (at != decision.chosen, decision.candidates[at].rank or 1 << 30, at),
    )
    return [_row(decision.candidates[at], chosen=at == decision.chosen) for at in order]


def _row(candidate: Candidate, *, chosen: bool) -> Row:
    return Row(
        candidate=candidate,
        chosen=chosen,
        mark=" ".join(filter(None, (">" if chosen else " ", str(candidate.rank or "")))).rstrip(),
        place=name(candidate),
        account=candidate.account or "-",
        size=words.size(candidate.size) if candidate.size is not None else "",
        terms=_terms(candidate),
        ahead=UNKNOWN if candidate.queue_ahead is None else str(candidate.queue_ahead),
        age=UNKNOWN if candidate.record_age_s is None else words.duration(candidate.record_age_s),
    )


def _terms(candidate: Candidate) -> tuple[str, ...]:
    estimate = candidate.estimate
    if candidate.size is None or estimate is None:
        return (would_start(candidate), *("" for _ in TERMS[1:]))
    more = "> " if estimate.forecast.beyond else ""
    return (
        would_start(candidate),
        run(estimate),
        _seconds(estimate.prepare_s),
        _seconds(estimate.transfer_s),
        UNKNOWN if estimate.in_all_s is None else more + _seconds(estimate.in_all_s),
        charge(estimate),
    )


def _seconds(amount: float | None) -> str:
    return UNKNOWN if amount is None else about(amount)


def telling_terms(listed: list[Row]) -> list[int]:
    """The terms of which anything is known of anybody; when it starts is always one of them."""
    return [at for at in range(len(TERMS)) if not at or any(row.terms[at] not in ("", UNKNOWN) for row in listed)]


def telling_rules(decision: Decision) -> list[str]:
    """The rules that somebody does not pass; when it starts is a column of its own."""
    verdicts = [verdict for each in decision.candidates for verdict in each.verdicts if verdict.rule != NOW]
    failed = {verdict.rule for verdict in verdicts if verdict.answer != "pass"}
    return list(dict.fromkeys(verdict.rule for verdict in verdicts if verdict.rule in failed))


def answer_of(candidate: Candidate, rule: str) -> str:
    """What a rule said of a candidate, in the table's words."""
    return next((ANSWERS[verdict.answer] for verdict in candidate.verdicts if verdict.rule == rule), "-")


def refusals(decision: Decision) -> list[str]:
    """Each refused place once, with all that stands against it; of what lacks less of one thing the largest first."""
    found: dict[str, list[Candidate]] = {}
    for candidate in decision.candidates:
        if _refused(candidate):
            found.setdefault(against(candidate), []).append(candidate)
    if decision.choice is None:
        found = dict(sorted(found.items(), key=lambda each: _least_first(each[1][0])))
    return [f"{', '.join(map(name, places))}: {text}." for text, places in found.items()]


def _refused(candidate: Candidate) -> bool:
    return any(each.answer == "fail" and not each.soft for each in candidate.verdicts)


def _least_first(candidate: Candidate) -> tuple[bool, str, float]:
    option, amount = lacking(candidate)
    return not option, option, -amount


def groups(decision: Decision, answer: Answer, *, soft: bool = False) -> list[str]:
    """Places that are not refused by what is said of them: what is not known, or wishes that are not met."""
    found: dict[str, list[str]] = {}
    for candidate in decision.candidates:
        answers = [each for each in candidate.verdicts if each.answer == answer and each.soft == soft]
        for verdict in distinct(answers) if not _refused(candidate) else ():
            if verdict.rule != NOW:
                found.setdefault(said(verdict), []).append(name(candidate))
    return [f"{', '.join(places)}: {clause}." for clause, places in found.items()]


def ties(decision: Decision) -> list[str]:
    """Who is as good as the chosen one, what decided, and what each costs where that was not compared."""
    decided = f", decided {decision.tie_break}" if decision.tie_break else ""
    equal = EQUALLY[decision.objective]
    *first, last = [name(decision.candidates[at]) for at in decision.ties] or [""]
    if not last:
        return [f"Others are {equal}{decided}."] if decided else []
    names = f"{', '.join(first)} and {last} are" if first else f"{last} is"
    return [f"{names} {equal}{decided}.", *_charges_of_ties(decision)]


def _charges_of_ties(decision: Decision) -> list[str]:
    tied = [each for each in (decision.choice, *(decision.candidates[at] for at in decision.ties)) if each is not None]
    if not any(charge(each.estimate) != UNKNOWN for each in tied):
        return []
    sites = len({each.site for each in tied}) > 1
    told: dict[str, list[str]] = {}
    for each in tied:
        told.setdefault(charge_why(each.estimate), []).append(name(each))
    why = "Charges of different sites are not compared" if sites else "They cost"
    costs = [f"{', '.join(places)}: {cost}" for cost, places in told.items()]
    return [f"{why}: {'; '.join(costs)}."]


def next_best(decision: Decision) -> list[str]:
    """The alternatives, and the best of each other site: its terms, how much later it would be done, and its charge."""
    choice = decision.choice
    found = []
    for at in [each for each in _worth_a_line(decision) if each not in decision.ties]:
        candidate = decision.candidates[at]
        if candidate.estimate is None or choice is None:
            continue
        parts = [terms(candidate.estimate), later(candidate, choice), _priced(candidate.estimate)]
        if _gives_whole_nodes(candidate) and not _gives_whole_nodes(choice):
            parts.append("it gives whole nodes only")
        smaller = "" if candidate.size in (None, choice.size) else f" with {words.size(candidate.size)}"
        found.append(f"{name(candidate)}{smaller}: {'; '.join(filter(None, parts))}.")
    return found


def _worth_a_line(decision: Decision) -> list[int]:
    found = list(decision.alternatives)
    choice = decision.choice
    sites = {decision.candidates[at].site for at in found} | {choice.site if choice is not None else ""}
    ranked = sorted((each.rank, at) for at, each in enumerate(decision.candidates) if each.rank)
    for _, at in ranked:
        site = decision.candidates[at].site
        if site not in sites:
            sites.add(site)
            found.append(at)
    return found


def _gives_whole_nodes(candidate: Candidate) -> bool:
    return any(each.rule == "whole node" and each.observed == "whole nodes only" for each in candidate.verdicts)


def _priced(estimate: Estimate) -> str:
    return charge_why(estimate) if estimate.charge is not None or estimate.charge_why else ""


def chosen_lines(decision: Decision) -> list[str]:
    """The choice's size, terms and charge, a line each."""
    choice = decision.choice
    if choice is None or choice.size is None:
        return []
    lines = [f"Size: {words.size(choice.size)}, time limit {words.duration(choice.size.walltime_s)}."]
    if choice.estimate is not None:
        done, source = ends(choice, decision.made_at), run_from(decision.envelope, choice)
        lines.append(f"Time: {'; '.join(filter(None, (terms(choice.estimate), done)))}.")
        lines += [f"Run time: {source}."] if source else []
        speed = choice.estimate.speed
        if speed is not None and speed != 1.0:
            lines.append(f"Speed: work of yours took {speed:g} times as long there as at your sites on the whole.")
        if charge(choice.estimate) != UNKNOWN:
            lines.append(f"Charge: {charge(choice.estimate)}.")
        elif any(charge(each.estimate) != UNKNOWN for each in decision.candidates):
            lines.append(f"Charge: {charge_why(choice.estimate).removeprefix('charge ')}.")
    return lines


def weighed(candidate: Candidate) -> list[str]:
    """All sizes that were weighed at a place, best first; empty where there was one."""
    if candidate.size is None or candidate.estimate is None or not candidate.sizes:
        return []
    return [_size_line(size, estimate) for size, estimate in ((candidate.size, candidate.estimate), *candidate.sizes)]


def _size_line(size: Size, estimate: Estimate) -> str:
    priced = _priced(estimate)
    return f"{words.size(size)}: {terms(estimate)}{f'; {priced}' if priced else ''}"


_MODES = {
    "rules": "by the rules", "pinned": "where you pinned it, within the rules",
    "model": "by the rules, in a model's order",
}  # fmt: skip


def how(decision: Decision) -> str:
    """When, how and for what it was decided."""
    made = decision.made_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    mode = _MODES[decision.mode]
    seed = f" (seed {decision.seed})" if decision.seed is not None else ""
    goal = decision.objective.replace("_", " ")
    ranking = f" {decision.ranking}" if decision.ranking else ""
    return f"Decided {made}, {mode}, for {goal}{seed}, from snapshot {decision.snapshot_id}.{ranking}"


def asked(decision: Decision) -> str:
    """The request in the words of the options: ``You asked: --gpus 1-2 --time 4h``."""
    options = envelope_words(decision.envelope)
    limit = [] if "--time" in options else ["--time", words.time_option(decision.envelope.walltime_s.max)]
    return f"You asked: {' '.join(words.option(each) for each in [*options, *limit])}"
