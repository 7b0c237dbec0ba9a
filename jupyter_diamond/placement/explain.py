"""The full explanation of a stored decision, as plain text."""

from __future__ import annotations

import textwrap

from jupyter_diamond.model.decision import Answer, Candidate, Decision

from . import words

WIDTH = 100
_ANSWERS = {"pass": "yes", "fail": "NO", "unknown": "?"}


def explain(decision: Decision) -> str:
    """The choice, the runners-up, refusals grouped by reason, warnings, and a table of all candidates."""
    made = decision.made_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    how = "by the rules" if decision.mode == "rules" else "where you pinned it, within the rules"
    blocks = [decision.sentence, f"Decided {made}, {how}, from snapshot {decision.snapshot_id}."]
    choice = decision.choice
    if choice is not None and choice.size is not None:
        blocks.append(f"Size: {words.size(choice.size)}, for {words.duration(choice.size.walltime_s)}.")
    blocks += _block("Ties", [_name(decision.candidates[at]) for at in decision.ties])
    blocks += _block("Warnings", list(decision.warnings))
    blocks += _block("Refused", _grouped(decision, "fail"))
    blocks += _block("Not known", _grouped(decision, "unknown"))
    blocks = [_wrapped(block) for block in blocks]
    if decision.candidates:
        blocks += _table(decision)
    return "\n\n".join(blocks)


def _wrapped(block: str) -> str:
    """Lines that no notebook has to break: it would do so in the middle of a word."""
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="    " if line.startswith(" ") else "", break_on_hyphens=False)
        for line in block.splitlines()
    )


def _block(title: str, lines: list[str]) -> list[str]:
    return ["\n".join([f"{title}:", *(f"  - {line}" for line in lines)])] if lines else []


def _name(candidate: Candidate) -> str:
    return words.place(candidate.site, candidate.partition) + (" (simulated)" if candidate.simulated else "")


def _grouped(decision: Decision, answer: Answer) -> list[str]:
    groups: dict[str, list[str]] = {}
    for candidate in decision.candidates:
        for verdict in candidate.verdicts:
            if verdict.answer == answer:
                groups.setdefault(verdict.sentence, []).append(_name(candidate))
    return [f"{', '.join(names)}: {words.clause(sentence)}." for sentence, names in groups.items()]


def _table(decision: Decision) -> list[str]:
    """One column for each rule that somebody does not pass, and a line that names the others."""
    passed: dict[str, bool] = {}
    for each in decision.candidates:
        for verdict in each.verdicts:
            passed[verdict.rule] = passed.get(verdict.rule, True) and verdict.answer == "pass"
    rules = [rule for rule, by_all in passed.items() if not by_all]
    easy = [rule for rule, by_all in passed.items() if by_all]
    head = ["", "candidate", "account", "size", "starts", "ahead", "age", *rules]
    order = sorted(range(len(decision.candidates)), key=lambda at: (decision.candidates[at].rank or 1 << 30, at))
    rows = [head, *(_row(decision.candidates[at], rules, chosen=at == decision.chosen) for at in order)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    right = {head.index("ahead"), head.index("age")}
    table = "\n".join(
        "  ".join(
            cell.rjust(widths[at]) if at in right else cell.ljust(widths[at]) for at, cell in enumerate(row)
        ).rstrip()
        for row in rows
    )
    return [table, _wrapped(f"Every candidate passes: {', '.join(easy)}.")] if easy else [table]


def _row(candidate: Candidate, rules: list[str], *, chosen: bool) -> list[str]:
    answers = {verdict.rule: verdict.answer for verdict in candidate.verdicts}
    starts = {True: "now", False: "later", None: "?"}[candidate.starts_now] if candidate.size is not None else "-"
    return [
        ">" if chosen else str(candidate.rank or ""),
        _name(candidate),
        candidate.account or "-",
        words.size(candidate.size) if candidate.size is not None else "-",
        starts,
        "?" if candidate.queue_ahead is None else str(candidate.queue_ahead),
        "?" if candidate.record_age_s is None else words.duration(candidate.record_age_s),
        *(_ANSWERS[answers[rule]] if rule in answers else "-" for rule in rules),
    ]
