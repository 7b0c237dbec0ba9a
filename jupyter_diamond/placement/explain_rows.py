"""The candidates of a stored decision as rows of a table, the same for text, HTML and DataFrame."""

from __future__ import annotations

from typing import NamedTuple

from jupyter_diamond.model.decision import Answer, Candidate, Decision, Verdict
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.forecast import Estimate

from . import words
from .comparison import distinct, name
from .estimate_words import UNKNOWN, about, charge, later, run, starts, starts_of, terms
from .place import NOW

ANSWERS: dict[Answer, str] = {"pass": "yes", "fail": "NO", "unknown": "?"}
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


class Group(NamedTuple):
    """Candidates about which a rule says the same. ``change`` would pass, where the sentence does not name it."""

    places: tuple[str, ...]
    verdict: Verdict

    @property
    def line(self) -> str:
        """``delta:short, delta:quick: it allows 1 h: ask for at most --time 1h.``"""
        change = self.change
        return f"{', '.join(self.places)}: {words.clause(self.verdict.sentence)}{f'; {change}' if change else ''}."

    @property
    def change(self) -> str:
        """The smallest change that would pass, unless the sentence says it."""
        change = self.verdict.change
        return f"it would pass with {change}" if change and change not in self.verdict.sentence else ""


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
        mark=">" if chosen else str(candidate.rank or ""),
        place=name(candidate),
        account=candidate.account or "-",
        size=words.size(candidate.size) if candidate.size is not None else "-",
        terms=_terms(candidate),
        ahead=UNKNOWN if candidate.queue_ahead is None else str(candidate.queue_ahead),
        age=UNKNOWN if candidate.record_age_s is None else words.duration(candidate.record_age_s),
    )


def _terms(candidate: Candidate) -> tuple[str, ...]:
    estimate = candidate.estimate
    if candidate.size is None or estimate is None:
        return (starts_of(candidate), *("-" for _ in TERMS[1:]))
    more = "> " if estimate.forecast.beyond else ""
    return (
        starts(estimate.forecast),
        run(estimate),
        _seconds(estimate.prepare_s),
        _seconds(estimate.transfer_s),
        UNKNOWN if estimate.total_s is None else more + _seconds(estimate.total_s),
        charge(estimate),
    )


def _seconds(amount: float | None) -> str:
    return UNKNOWN if amount is None else about(amount)


def telling_terms(listed: list[Row]) -> list[int]:
    """The terms of which anything is known of anybody; when it starts is always one of them."""
    return [at for at in range(len(TERMS)) if not at or any(row.terms[at] not in ("-", UNKNOWN) for row in listed)]


def telling_rules(decision: Decision) -> tuple[list[str], list[str]]:
    """The rules that somebody does not pass, and those that everybody does."""
    passed: dict[str, bool] = {}
    for each in decision.candidates:
        for verdict in each.verdicts:
            if verdict.rule == NOW:  # when it starts is a column of its own
                continue
            passed[verdict.rule] = passed.get(verdict.rule, True) and verdict.answer == "pass"
    return [rule for rule, by_all in passed.items() if not by_all], [rule for rule, all_ in passed.items() if all_]


def answer_of(candidate: Candidate, rule: str) -> str:
    """What a rule said of a candidate, in the table's words."""
    return next((ANSWERS[verdict.answer] for verdict in candidate.verdicts if verdict.rule == rule), "-")


def groups(decision: Decision, answer: Answer, *, soft: bool = False) -> list[Group]:
    """Candidates by what was said of them: refusals, what is not known, or wishes that are not met."""
    found: dict[str, tuple[list[str], Verdict]] = {}
    for candidate in decision.candidates:
        answers = [each for each in candidate.verdicts if each.answer == answer and each.soft == soft]
        for verdict in distinct(answers):
            if verdict.rule != NOW:
                found.setdefault(verdict.sentence, ([], verdict))[0].append(name(candidate))
    return [Group(tuple(places), verdict) for places, verdict in found.values()]


def ties(decision: Decision) -> list[str]:
    """Who is as good as the chosen one, and what decided."""
    decided = f", decided {decision.tie_break}" if decision.tie_break else ""
    *first, last = [name(decision.candidates[at]) for at in decision.ties] or [""]
    if last:
        names = f"{', '.join(first)} and {last} are" if first else f"{last} is"
        return [f"{names} equally good{decided}."]
    return [f"Others are equally good by the objective{decided}."] if decided else []


def next_best(decision: Decision) -> list[str]:
    """The alternatives, and the best of each other site: its terms, how much later it would be done, and its charge."""
    choice = decision.choice
    found = []
    for at in _worth_a_line(decision):
        candidate = decision.candidates[at]
        if candidate.estimate is None or choice is None:
            continue
        said = [terms(candidate.estimate), later(candidate, choice), _priced(candidate.estimate)]
        if at not in decision.ties and _gives_whole_nodes(candidate) and not _gives_whole_nodes(choice):
            said.append("it gives whole nodes only")
        smaller = "" if candidate.size in (None, choice.size) else f" with {words.size(candidate.size)}"
        found.append(f"{name(candidate)}{smaller}: {'; '.join(filter(None, said))}.")
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
    said = charge(estimate)
    return "" if said == UNKNOWN else said


def chosen_lines(decision: Decision) -> list[str]:
    """The choice's size, terms and charge, a line each."""
    choice = decision.choice
    if choice is None or choice.size is None:
        return []
    lines = [f"Size: {words.size(choice.size)}, for {words.duration(choice.size.walltime_s)}."]
    if choice.estimate is not None:
        lines.append(f"Time: {terms(choice.estimate)}.")
        speed = choice.estimate.speed
        if speed is not None and speed != 1.0:
            lines.append(f"Speed: work of yours took {speed:g} times as long there as at your sites on the whole.")
        if charge(choice.estimate) != UNKNOWN:
            lines.append(f"Charge: {charge(choice.estimate)}.")
        elif any(charge(each.estimate) != UNKNOWN for each in decision.candidates):
            lines.append("Charge: not known; what it charges is not documented.")
    return lines


def weighed(candidate: Candidate) -> list[str]:
    """All sizes that were weighed at a place, best first; empty where there was one."""
    if candidate.size is None or candidate.estimate is None or not candidate.sizes:
        return []
    return [_size_line(size, estimate) for size, estimate in ((candidate.size, candidate.estimate), *candidate.sizes)]


def _size_line(size: Size, estimate: Estimate) -> str:
    priced = _priced(estimate)
    return f"{words.size(size)}: {terms(estimate)}{f'; {priced}' if priced else ''}"


def how(decision: Decision) -> str:
    """When, how and for what it was decided."""
    made = decision.made_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    mode = "by the rules" if decision.mode == "rules" else "where you pinned it, within the rules"
    seed = f" (seed {decision.seed})" if decision.seed is not None else ""
    goal = decision.objective.replace("_", " ")
    return f"Decided {made}, {mode}, for {goal}{seed}, from snapshot {decision.snapshot_id}."
