"""The table of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One scenario."""

    name: str
    control: bool
    right: bool
    looked: bool
    submits: bool
    tools: int
    model_calls: int
    while_running: int
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    why: str = ""

    @property
    def rigorous(self) -> bool:
        """Right, and looked as far as there was something to look at."""
        return self.right and (self.looked or not self.submits)

    @property
    def good(self) -> bool:
        """As it must be: a control must not pass, and no model is asked while a job runs."""
        as_it_should = self.rigorous and not self.while_running
        return not as_it_should if self.control else as_it_should


def printed(rows: Sequence[Row]) -> str:
    """A line each, and the rates without the controls."""
    heads = (
        "scenario",
        "right",
        "rigorous",
        "tool calls",
        "model calls",
        "while jobs ran",
        "prompt tok",
        "answer tok",
        "s",
    )
    body = [
        (row.name, _yes(row.right), _yes(row.rigorous), str(row.tools), str(row.model_calls), str(row.while_running),
         f"{row.prompt_tokens:,}", f"{row.answer_tokens:,}", f"{row.seconds:.1f}")
        for row in rows
    ]  # fmt: skip
    widths = [max(len(line[at]) for line in (heads, *body)) for at in range(len(heads))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (heads, *body)]
    counted = [row for row in rows if not row.control]
    sums = (
        f"right {_rate([row.right for row in counted])}, rigorous {_rate([row.rigorous for row in counted])}; "
        f"model calls while jobs ran: {sum(row.while_running for row in counted)} (must be 0); "
        f"controls caught: {sum(row.good for row in rows if row.control)} of {sum(row.control for row in rows)}"
    )
    lines += [
        "",
        sums,
        *(f"NOT AS IT MUST BE: {row.name}: {row.why}" for row in rows if not row.good),
    ]
    return "\n".join(lines)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _rate(values: Sequence[bool]) -> str:
    return f"{sum(values)} of {len(values)}" if values else "-"
