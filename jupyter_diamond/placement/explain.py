"""The full explanation of a stored decision, as plain text."""

from __future__ import annotations

import textwrap

from jupyter_diamond.model.decision import Decision

from .comparison import name
from .estimate_words import UNKNOWN
from .explain_rows import (
    RULES,
    TERMS,
    Row,
    answer_of,
    asked,
    chosen_lines,
    groups,
    how,
    next_best,
    refusals,
    rows,
    telling_rules,
    telling_terms,
    ties,
    weighed,
)

WIDTH = 100
_MOST_SIZES = 6


def explain(decision: Decision) -> str:
    """The choice, the request, warnings, runners-up, refusals, and tables of what was estimated and checked."""
    blocks = [decision.sentence, f"{asked(decision)}\n{how(decision)}"]
    blocks += filter(None, ["\n".join(chosen_lines(decision))])
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
        ("Refused", refusals(decision)),
        ("Not known", groups(decision, "unknown")),
        ("Wishes not met", wishes),
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
    """The estimates of those that have any, and who does not pass which check."""
    listed = rows(decision)
    terms = telling_terms(listed)
    first = ["", "candidate", "account", "size", *(TERMS[at] for at in terms), "jobs ahead", "data age"]
    sized = [row for row in listed if row.candidate.size is not None]
    estimates = [[*_facts(row), *(row.terms[at] for at in terms), row.ahead, row.age] for row in sized]
    tables, telling = [_table(first, estimates)] if estimates else [], telling_rules(decision)
    if telling:
        answers = [[row.place, *(_answer(row, rule) for rule in telling)] for row in listed]
        told = [line for line in answers if {"NO", UNKNOWN} & set(line[1:])]
        heads = ["candidate", *(RULES.get(rule, rule) for rule in telling)]
        tables.append(f"Checks (only what somebody does not pass):\n{_table(heads, told)}")
    return tables


def _answer(row: Row, rule: str) -> str:
    return answer_of(row.candidate, rule).replace("-", "")


def _facts(row: Row) -> list[str]:
    return [row.mark, row.place, row.account, row.size]


def _table(head: list[str], body: list[list[str]]) -> str:
    lines = [head, *body]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    right = {at for at, title in enumerate(head) if title in ("jobs ahead", "data age", "in all")}
    return "\n".join(
        "  ".join(
            cell.rjust(widths[at]) if at in right else cell.ljust(widths[at]) for at, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )
