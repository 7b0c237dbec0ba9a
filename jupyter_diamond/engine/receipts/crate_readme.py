"""An export's README: what another researcher needs to know, in plain words. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jupyter_diamond.model.receipt import Receipt, TaskFile
from jupyter_diamond.placement.words import count, duration

from .crate import About, Exported

_SHOWN = 50


_HEAD = """# {name}

{count} of code on computing clusters, with what went in and what came out. Written by jupyter_diamond {version} on
{day}, for {user}.

`ro-crate-metadata.json` says the same for programs (RO-Crate 1.1, profile Process Run Crate). Each run has a folder
here: its code (`cell.py` or `cell.sh`), its receipt (`receipt.json`), why it ran where it did (`decision.json`), the
end of its log (`log.txt`), and its smaller files. Larger files are named with their digests and stayed where they were.

Digests are SHA-256: `sha256sum FILE` shows whether a file is the one that was meant. Files that end with `.pickle` can
run code when they are loaded: load them only where you trust their author.
"""


def readme(about: About, tasks: Sequence[Exported]) -> str:
    """Markdown, in which no foreign text has a meaning."""
    head = _HEAD.format(
        name=_plain(about.name), count=count(len(tasks), "run"), version=about.version,
        day=f"{about.made_at:%d %B %Y}", user=_plain(about.user),
    )  # fmt: skip
    return "\n".join([head, *(line for task in tasks for line in (*_run(task), ""))])


def _plain(text: object) -> str:
    """On one line, without what Markdown or HTML would read as its own."""
    said = "".join(c if c.isprintable() else " " for c in str(text))
    return re.sub(r"([\\`*_{}\[\]<>#|~!&])", r"\\\1", said)


def _code(text: object) -> str:
    said = "".join(c if c.isprintable() else "?" for c in str(text)).replace("`", "'")
    return f"`{said}`" if said else ""


def _run(task: Exported) -> list[str]:
    receipt = task.receipt
    where, took, ran_in = receipt.where, receipt.took, receipt.ran_in
    facts = [
        ("Code", f"{_code(task.code)}, {receipt.code.language}, digest {_code(receipt.code.digest)}"),
        ("From", _from(receipt)),
        ("Where", " ".join(filter(None, (_plain(where.site), _plain(where.partition or ""), _code(where.nodes))))),
        ("Job", _code(where.job)),
        ("Began", f"{took.started_at:%Y-%m-%d %H:%M:%S} UTC" if took.started_at else ""),
        ("Ran", duration(took.ran_s) if took.ran_s is not None else "not known"),
        ("Ended", _plain(receipt.ended.cause or receipt.ended.state.value)),
        ("Software", _software(receipt)),
        ("Environment", _plain(f"{ran_in.env} {ran_in.digest}".strip())),
        ("Given", ", ".join(f"{_plain(name)} = {_code(value)}" for name, value in receipt.params.items())),
        ("Placed there because", _plain(receipt.decided.sentence) if receipt.decided else ""),
    ]  # fmt: skip
    lines = [f"## {_plain(receipt.name)}", "", *(f"- {name}: {said}" for name, said in facts if said)]
    if receipt.inputs:
        lines += ["", "### What went in", ""]
        lines += [
            f"- {_plain(each.name)}: {_code(each.source or each.path)} {_code(each.digest)}".rstrip()
            for each in receipt.inputs
        ]
    outputs = [each for each in task.files if each.kind in ("kept", "value")]
    if outputs:
        lines += ["", "### What came out", "", "| file | bytes | SHA-256 | where |", "|---|---:|---|---|"]
        lines += [_row(task, each) for each in outputs[:_SHOWN]]
    if len(outputs) > _SHOWN:
        lines.append(f"\n{len(outputs) - _SHOWN:,} more are in `ro-crate-metadata.json`.")
    if notes := [*task.notes, *([receipt.files_note] if receipt.files_note else []), *receipt.unknown]:
        lines += ["", "### To be noted", "", *(f"- {_plain(note)}" for note in notes)]
    return lines


def _from(receipt: Receipt) -> str:
    notebook = receipt.code.notebook
    parts = [_code(notebook.path or ""), f"cell {_code(notebook.cell_id)}" if notebook.cell_id else ""]
    return ", ".join(part for part in parts if part)


def _software(receipt: Receipt) -> str:
    ran_in = receipt.ran_in
    parts = [f"Python {_plain(ran_in.python)}" if ran_in.python else ""]
    parts += [f"{_plain(name)} {_plain(version)}" for name, version in ran_in.packages.items()]
    parts += [f"module {_plain(name)}" for name in ran_in.modules]
    return ", ".join(part for part in parts if part)


def _row(task: Exported, each: TaskFile) -> str:
    size = "" if each.bytes is None else f"{each.bytes:,}"
    place = _code(task.copies[each.ask]) if each.ask in task.copies else f"at {_plain(task.receipt.where.site)}"
    cells = (_code(each.path), size, _code(each.sha256), place)
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
