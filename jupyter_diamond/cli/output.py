"""How answers are printed: aligned tables for people, one JSON document for programs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from jupyter_diamond.notebook.card_text import printable

UNKNOWN = "?"


def say(text: str = "") -> None:
    """One line, or several; what came from a site cannot move the cursor or change the terminal."""
    sys.stdout.write(printable(text) + "\n")


def complain(text: str) -> None:
    """One sentence on standard error."""
    sys.stderr.write(printable(text) + "\n")


def as_json(answer: object) -> None:
    """One JSON document."""
    sys.stdout.write(json.dumps(_plain(answer), indent=2, ensure_ascii=False) + "\n")


def _plain(answer: object) -> Any:
    if isinstance(answer, BaseModel):
        return answer.model_dump(mode="json")
    if isinstance(answer, Mapping):
        return {str(key): _plain(value) for key, value in answer.items()}
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return [_plain(item) for item in answer]
    return answer


def number(count: int | None) -> str:
    """``1,024``; ``?`` when it is not known."""
    return UNKNOWN if count is None else f"{count:,}"


def of(free: int | None, total: int | None) -> str:
    """``6/32``; ``-`` where there is none."""
    return "-" if total == 0 else f"{number(free)}/{number(total)}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """Columns as wide as their widest cell; those in ``right`` end flush. The last one may be cut to the terminal."""
    body = [[printable(str(cell)).replace("\n", " ") for cell in row] for row in rows]
    widths = [max([len(head), *(len(row[at]) for row in body)]) for at, head in enumerate(heads)]
    flush = {heads.index(name) for name in right}
    room = shutil.get_terminal_size((10_000, 24)).columns if sys.stdout.isatty() else 10_000
    for row in [list(heads), *body]:
        cells = [cell.rjust(widths[at]) if at in flush else cell.ljust(widths[at]) for at, cell in enumerate(row)]
        line = "  ".join(cells).rstrip()
        say(line if len(line) <= room else line[: room - 1] + "…")


def pairs(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values."""
    listed = [(name, value) for name, value in facts if value]
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        say(f"{name.ljust(width)}  {value}")
