"""The code that a message is about: a block in it, an attached cell, a whole notebook, a script."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_diamond.model.chat import Code

from .definitions import with_definitions

if TYPE_CHECKING:
    from .bridge import Conversation

_FENCED = re.compile(r"^(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_BASH = frozenset({"bash", "sh", "shell", "slurm", "sbatch"})
_SCRIPTS = {".py": "python", ".sh": "bash", ".bash": "bash", ".slurm": "bash", ".sbatch": "bash"}
_MOST_BYTES = 20 << 20
_MOST_CODE = 1_000_000


def without_code(words: str) -> str:
    """The message without its blocks of code, and without whom it is to."""
    plain = _FENCED.sub(" ", words)
    return re.sub(r"^\s*@?diamond\b[:,]?\s*", "", plain, flags=re.IGNORECASE).strip()


def fenced(words: str) -> Code | None:
    """The blocks of code in a message, joined; in the language that the first one names."""
    found = _FENCED.findall(f"{words}\n")
    source = "\n\n".join(body.rstrip("\n") for _, _, body in found if body.strip())
    if not source:
        return None
    language = "bash" if found[0][1].lower() in _BASH or source.startswith("#!/bin/") else "python"
    return Code(source=source[:_MOST_CODE], language=language, origin="your message")


def code_of(chat: Conversation, message: Any, root: Path) -> tuple[Code | None, list[str]]:
    """What is attached, else what stands in the message; and what could not be read. Blocks: it reads files."""
    problems: list[str] = []
    found: list[Code] = []
    for each in chat.attachments(message):
        code = _read(each, root, problems)
        if code is not None:
            found.append(code)
    if not found:
        return fenced(message.body), problems
    first = found[0]
    source = "\n\n".join(each.source for each in found if each.language == first.language)
    origin = ", ".join(each.origin for each in found)
    return first.model_copy(update={"source": source[:_MOST_CODE], "origin": origin}), problems


def _read(attachment: Any, root: Path, problems: list[str]) -> Code | None:
    name = str(attachment.value)
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        problems.append(f"{name} is outside of the server's root folder and was not read.")
        return None
    selected = getattr(getattr(attachment, "selection", None), "content", None)
    try:
        if path.stat().st_size > _MOST_BYTES:
            problems.append(f"{name} has more than {_MOST_BYTES >> 20} MB and was not read.")
            return None
        raw = path.read_text(encoding="utf-8", errors="replace")
    except OSError as fault:
        problems.append(f"{name} could not be read: {fault.strerror or 'no reason is given'}.")
        return None
    if path.suffix == ".ipynb":
        return _of_notebook(name, raw, [str(each.id) for each in attachment.cells or ()], problems)
    language = _SCRIPTS.get(path.suffix)
    if language is None:
        problems.append(f"{name} is no Python, no shell script and no notebook, so it is not taken for code.")
        return None
    return Code(source=selected or raw, language=language, name=_name(path.stem), origin=name)


def _of_notebook(name: str, raw: str, cells: list[str], problems: list[str]) -> Code | None:
    """Sources of cells only: what a notebook's outputs say is no code."""
    try:
        content = json.loads(raw)
        every = [(at, each) for at, each in enumerate(content["cells"], 1) if each.get("cell_type") == "code"]
    except (ValueError, TypeError, KeyError, AttributeError):
        problems.append(f"{name} is no notebook that can be read.")
        return None
    wanted = [(at, each) for at, each in every if not cells or each.get("id") in cells]
    sources = ["".join(each.get("source", "")) for _, each in wanted]
    source = "\n\n".join(each for each in map(_without_ours, sources) if each.strip())
    if cells and source:
        before = ["".join(each.get("source", "")) for at, each in every if at < wanted[0][0]]
        source = with_definitions(source, [_without_ours(each) for each in before])
    if not source:
        problems.append(f"There is no code in {name}.")
        return None
    single = wanted[0] if len(wanted) == 1 else None
    origin = f"cell {single[0]} of {name}" if single else name
    cell = str(single[1].get("id", "")) or None if single else None
    return Code(source=source, name=_name(Path(name).stem), origin=origin, notebook=name, cell=cell)


def _without_ours(source: str) -> str:
    """A cell without our own magics: what it would run."""
    kept = [line for line in source.split("\n") if not re.match(r"\s*%%?diamond|\s*%load_ext\s+jupyter_diamond", line)]
    return "\n".join(kept)


def _name(stem: str) -> str:
    """A task's name from a file's."""
    name = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_")[:40]
    return name if re.match(r"[A-Za-z_]", name) else f"job_{name}".rstrip("_")
