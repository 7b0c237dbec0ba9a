"""An ``#SBATCH`` script as a cell: read here, shown as text; nothing is sent."""

from __future__ import annotations

import textwrap
from datetime import datetime, timezone
from pathlib import Path

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.imported import Imported
from jupyter_diamond.parsing.sbatch_import import import_script
from jupyter_diamond.sites.gpus import is_known

MOST_BYTES = 1 << 20
"""What sbatch takes is a script, no program: 4 MiB at most, and nobody writes one of these."""


def read_job(file: str, site: str | None) -> Imported:
    """The script in a file as a task. Raises NotFound and InvalidRequest with one sentence."""
    path = Path(file).expanduser()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InvalidRequest(f"{file} has more than 1 MiB: it is no batch script.")
        text = path.read_bytes().decode("utf-8", "backslashreplace")
    except FileNotFoundError:
        raise NotFound(f"There is no file {file} (looked in {Path.cwd()}).") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InvalidRequest(f"{file} cannot be read: {reason}.") from None
    return import_script(text, file=path.name, now=datetime.now(timezone.utc), site=site, is_known=is_known)


def imported_text(found: Imported, file: str) -> str:
    """What became of each option, the notes, and the cell."""
    width = max((len(each.written) for each in found.options), default=0)
    width = min(width, 34)
    lines = [f"{file}, its #SBATCH options:" if found.options else f"{file} has no #SBATCH options."]
    for each in found.options:
        head = f"  {each.line:>4}  {each.written.ljust(width)}  {each.fate.ljust(12)}  "
        lines += textwrap.wrap(each.sentence, 118, initial_indent=head, subsequent_indent=" " * (width + 24))
    lines += [line for note in found.notes for line in textwrap.wrap(note, 118, initial_indent="  *   ",
                                                                     subsequent_indent="      ")]  # fmt: skip
    return "\n".join([*lines, "", "As a cell:", "", found.cell.rstrip(), "", f"Where it could start now: {found.idle}"])
