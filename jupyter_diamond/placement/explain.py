"""The full explanation of a stored decision, as plain text."""

from __future__ import annotations

import textwrap

from jupyter_diamond.model.decision import Decision

from .comparison import name
from .explain_rows import (
    TERMS,
    Row,
    answer_of,
    chosen_lines,
    groups,
    how,
    next_best,
    rows,
    telling_rules,
    telling_terms,
    ties,
    weighed,
)

WIDTH = 100
_MOST_SIZES = 6


def explain(decision: Decision) -> str:
    """The choice, the runners-up, refusals grouped by reason, warnings, and a table of all candidates."""
    blocks = [decision.sentence, how(decision), *filter(None, ["\n".join(chosen_lines(decision))])]
    choice = decision.choice
    if choice is not None:
        blocks += _block(f"Sizes weighed at {name(choice)}, best first", weighed(choice)[:_MOST_SIZES])
    for title, lines in sections(decision):
        blocks += _block(title, lines)
    blocks = [_wrapped(block) for block in blocks]
    if decision.candidates:
        blocks += _tables(decision)
    return "\n\n".join(blocks)


def sections(decision: Decision) -> list[tuple[str, list[str]]]:
    """What is said beside the choice and above the table, in the order in which it is read."""
    wishes = [*groups(decision, "fail", soft=True), *groups(decision, "unknown", soft=True)]
    found = [
        ("Warnings", list(decision.warnings)),
        ("Ties", ties(decision)),
        ("Next best", next_best(decision)),
        ("Refused", [group.line for group in groups(decision, "fail")]),
        ("Not known", [group.line for group in groups(decision, "unknown")]),
        ("Wishes not met", [group.line for group in wishes]),
    ]
    return [(title, lines) for title, lines in found if lines]


def _wrapped(block: str) -> str:
    """Lines that no notebook has to break: it would do so in the middle of a word."""
    return "\n".join(
        textwrap.fill(line, WIDTH, subsequent_indent="    " if line.startswith(" ") else "", break_on_hyphens=False)
        for line in block.splitlines()
    )


def _block(title: str, lines: list[str]) -> list[str]:
    return ["\n".join([f"{title}:", *(f"  - {line}" for line in lines)])] if lines else []


def _tables(decision: Decision) -> list[str]:
    """One table where it is narrow enough, else the estimates first and the verdicts below them."""
    listed = rows(decision)
    telling, easy = telling_rules(decision)
    terms = telling_terms(listed)
    first = ["", "candidate", "account", "size", *(TERMS[at] for at in terms), "ahead", "age"]
    estimates = [[*_facts(row), *(row.terms[at] for at in terms), row.ahead, row.age] for row in listed]
    verdicts = [[answer_of(row.candidate, rule) for rule in telling] for row in listed]
    whole = _table([*first, *telling], [[*left, *right] for left, right in zip(estimates, verdicts, strict=True)])
    tables = [whole]
    if telling and max(len(line) for line in whole.splitlines()) > WIDTH:
        names = [[row.mark, row.place] for row in listed]
        parted = [[*left, *right] for left, right in zip(names, verdicts, strict=True)]
        tables = [_table(first, estimates), _table(["", "candidate", *telling], parted)]
    return [*tables, _wrapped(f"Every candidate passes: {', '.join(easy)}.")] if easy else tables


def _facts(row: Row) -> list[str]:
    return [row.mark, row.place, row.account, row.size]


def _table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, *body]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    right = {at for at, title in enumerate(head) if title in ("ahead", "age", "in all")}
    return "\n".join(
        "  ".join(
            cell.rjust(widths[at]) if at in right else cell.ljust(widths[at]) for at, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )
