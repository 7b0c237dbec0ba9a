"""``jupyter diamond draft``: what a script or a notebook would need."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.draft import Draft, DraftRequest
from jupyter_diamond.model.task import Language
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.drafts import MOST_CODE, foot_text, head_text, sizes_of
from jupyter_diamond.notebook.options import given_options

from .grammar import DONE, FAILED
from .output import as_json, say, table

_BASH = frozenset({".sh", ".bash", ".slurm", ".sbatch"})


def draft(client: DiamondClient, said: Namespace) -> int:
    """Draft it; status 1 where no site has a place for it."""
    code, name, folder = _read(said.file)
    language: Language = said.lang or ("bash" if Path(name).suffix in _BASH else "python")
    asked = DraftRequest(
        words=" ".join(said.describe)[:20_000], code=code[:MOST_CODE], language=language, given=given_options(said),
        model=not said.no_model, sizes=sizes_of(code, language, folder),
    )  # fmt: skip
    found = client.draft(asked)
    if said.json:
        as_json(found)
    else:
        _print(found)
    return FAILED if found.feasible is False else DONE


def _print(found: Draft) -> None:
    say(head_text(found))
    reasons = {reason.field: reason for reason in found.reasons}
    rows = []
    for name, value in found.options.items():
        why = reasons.get(name)
        rows.append((f"--{name}", value, why.sentence if why else "You set it.", why.evidence if why else ""))
    if rows:
        table(("option", "value", "why", "evidence"), rows)
    say(foot_text(found, "%%diamond_submit NAME"))


def _read(file: str) -> tuple[str, str, Path]:
    """The code, its name, and where it lies; of a notebook the code cells, one after another."""
    try:
        if file == "-":
            return sys.stdin.read(MOST_CODE), "-", Path.cwd()
        path = Path(file).expanduser()
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise InvalidRequest(f"{file} cannot be read: {problem.strerror or problem}.") from problem
    return (_cells(text, file) if path.suffix == ".ipynb" else text), file, path.parent


def _cells(text: str, file: str) -> str:
    try:
        cells = json.loads(text)["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as problem:
        raise InvalidRequest(f"{file} is no notebook that can be read.") from problem
    return "\n\n".join(code)
