"""Drafts in a notebook: which code they are about, what goes along with it, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from IPython.display import display

from jupyter_diamond.cell.capture import Capture, capture
from jupyter_diamond.cell.history import IPythonHistory
from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.reading.code import files_named
from jupyter_diamond.cell.spec import Statement
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.task import Captured, Language

from .submit import notebook_folder
from .tables import frame_of
from .text import Text

if TYPE_CHECKING:
    import pandas as pd

    from .session import Session

MOST_CODE = 1_000_000
MOST_PACKED = 64 << 20
"""The digest of larger inputs is not worth the time: their cell is looked up by its text."""
_FROM = {"rules": "rules", "model": "model", "history": "earlier run"}
_OURS = re.compile(r"\s*%{1,2}diamond(_submit)?\b")


def of_cell(session: Session, cell: str, *, words: str, given: Mapping[str, str], model: bool,
            language: Language = "python") -> DraftRequest:  # fmt: skip
    """What to draft for a cell: its own text, and that of all that it uses in the notebook."""
    taken = capture(
        cell, session.namespace.names, name="draft", language=language, folder=notebook_folder(),
        history=IPythonHistory(session.shell), limits=session.limits(),
    )  # fmt: skip
    return of_capture(taken, cell, words=words, given=given, model=model)


def of_capture(taken: Capture, cell: str, *, words: str, given: Mapping[str, str], model: bool) -> DraftRequest:
    """The same for a cell that was captured."""
    code = context_of(taken, cell)
    small = sum(len(data) for data in dict(taken.values).values()) <= MOST_PACKED and not taken.refusals
    return DraftRequest(
        words=words[:20_000], code=code, cell=cell[:MOST_CODE], language=taken.spec.language, given=dict(given),
        model=model, sizes=sizes_of(code, taken.spec.language), values=_values(taken.captured),
        digest=pack(taken).digest if small else None,
    )  # fmt: skip


def context_of(taken: Capture, cell: str) -> str:
    """The definitions that travel with a cell, then the cell; modules beside the notebook, too."""
    if taken.spec.language == "bash":
        return cell[:MOST_CODE]
    before = [item.source for item in taken.spec.prelude if isinstance(item, Statement)]
    modules = [data.decode("utf-8", "replace") for name, data in sorted(taken.modules.items()) if name.endswith(".py")]
    return "\n".join([*modules, *before, cell])[-MOST_CODE:]


def sizes_of(code: str, language: str = "python", folder: Path | None = None) -> dict[str, int]:
    """Bytes of the files that the code names, of those that are here."""
    base = folder or Path.cwd()
    sizes = {name: _size(base, name) for name in files_named(code, language) if "://" not in name}
    return {name: size for name, size in sizes.items() if size is not None}


def _size(base: Path, name: str) -> int | None:
    try:
        path = base / Path(name).expanduser()
        return path.stat().st_size if path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name that is none here
        return None


def _values(captured: Iterable[Captured]) -> dict[str, int]:
    return {each.name: each.bytes for each in captured if each.travels == "value" and each.bytes}


def drafted_cell(raw: Sequence[str], *, words: str = "") -> str:
    """Of the cells as they were typed, oldest first, the one that a line of ours is about.

    What stands below the line in its own cell, else the cell before.
    """
    cells = [_without_ours(each) for each in raw if each.strip()]
    if raw and not _OURS.search(raw[-1]):  # the line itself is not in the history
        cells.append("")
    own, before = (cells[-1] if cells else ""), cells[:-1]
    code = own if own.strip() else next((each for each in reversed(before) if each.strip()), "")
    if not code.strip() and not words.strip():
        raise InvalidRequest(
            "There is no code to draft for: run the cell first, write %%diamond draft above it, or describe the work: "
            '%diamond draft -d "two A100s for 4 hours".'
        )
    return code


def _without_ours(cell: str) -> str:
    """A cell without our lines: what is left is the user's own code."""
    return "\n".join(line for line in cell.split("\n") if not _OURS.match(line))


def draft_table(draft: Draft) -> pd.DataFrame:
    """One row an option, with why, and where that is from."""
    reasons = {reason.field: reason for reason in draft.reasons}
    rows = []
    for name, value in draft.options.items():
        why = reasons.get(name)
        rows.append({
            "option": f"--{name}", "value": value, "why": why.sentence if why else "You set it.",
            "evidence": why.evidence if why else "", "from": _FROM[why.source] if why else "you",
        })  # fmt: skip
    return frame_of(rows, ["option", "value", "why", "evidence", "from"])


def show(draft: Draft, paste: str, *, sends: bool = False) -> None:
    """The draft under the cell: what and how sure, a row an option, what is not known, and the line to paste."""
    for part in (head_text(draft, sends=sends), draft_table(draft), foot_text(draft, paste)):
        display(part)  # type: ignore[no-untyped-call]  # IPython's display has no types


def head_text(draft: Draft, *, sends: bool = False) -> Text:
    """What is drafted and how sure that is."""
    by = f" with {draft.model}" if draft.source == "model" and draft.model else " by our own rules"
    sent = "It is sent with these options." if sends else "Nothing was sent."
    return Text(f"{draft.rationale}\nA draft{by}, confidence {draft.confidence:.2f} of 1. {sent}")


def _by_reason(refusals: Iterable[str]) -> list[str]:
    """Refusals with one reason in one line, those of most places first."""
    places: dict[str, list[str]] = {}
    for each in refusals:
        place, _, reason = each.partition(": ")
        places.setdefault(reason, []).append(place)
    ordered = sorted(places.items(), key=lambda item: -len(item[1]))
    return [
        f"- {', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}: {reason}"
        for reason, names in ordered[:12]
    ]


def foot_text(draft: Draft, paste: str) -> Text:
    """Where it would go, what is not known, and the line to paste."""
    lines = [draft.where] if draft.where else []
    lines += _by_reason(draft.refusals)
    if draft.unknown:
        lines += ["Not known:", *(f"- {each}" for each in draft.unknown)]
    if draft.problems:
        lines += ["To be looked at:", *(f"- {each}" for each in draft.problems)]
    return Text("\n".join([*lines, f"{paste} {draft.line}".rstrip()]))
