"""What the trial of a site's Slurm commands found (B06)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from jupyter_diamond.model.capabilities import Capabilities

from .numbers import whole
from .slurm_jobs import ACCOUNTING_FIELDS
from .slurm_sections import FIELD, Section

NEEDED_FIELDS = frozenset({"JobIDRaw", "JobID", "State", "ExitCode", "JobName"})
"""Without these no row of accounting means anything: a list that lacks one is not such a list."""
UNKNOWN = re.compile(
    r"unrecognized option|invalid option|unknown option|Invalid field requested|Invalid time spec", re.IGNORECASE
)
"""How Slurm's commands say that they do not know a form. It judges no job, and nothing else."""
_CLUSTER = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def capabilities(
    sections: Sequence[Section], *, version: str | None, accounting: bool | None, tried_at: datetime
) -> Capabilities:
    """From the sections of the trial; whatever is missing or odd is not known."""
    by_name = {section.name: section for section in sections}
    fields = _fields(by_name.get("fields"))
    relative = _answer(by_name.get("times"))
    missing = [name for name in ACCOUNTING_FIELDS if fields and name not in fields]
    notes = []
    if missing:
        notes.append(f"sacct here does not know {', '.join(missing)}: asked without.")
    if relative is False:
        notes.append("sacct here does not understand relative times: jobs are asked for since a time of our clock.")
    return Capabilities(
        scheduler="slurm", version=version, tried_at=tried_at, accounting=accounting,
        flags=_flags(by_name.get("flags")), accounting_fields=fields, relative_times=relative,
        clusters=_clusters(by_name.get("clusters")), notes=tuple(notes),
    )  # fmt: skip


def _flags(section: Section | None) -> dict[str, bool | None]:
    """Lines ``<command and option> US <status> US <first words of its complaint>``."""
    found: dict[str, bool | None] = {}
    for line in section.lines if section is not None else []:
        name, status, said = [*line.split(FIELD, 2), "", ""][:3]
        if whole(status) is not None:
            found[name] = True if status == "0" else (False if UNKNOWN.search(said) else None)
    return found


def _answer(section: Section | None) -> bool | None:
    if section is None:
        return None
    if section.rc == 0:
        return True
    return False if UNKNOWN.search(section.err + section.text) else None


def _fields(section: Section | None) -> tuple[str, ...]:
    if section is None or section.rc != 0:
        return ()
    words = tuple(section.text.split())
    return words if NEEDED_FIELDS.issubset(words) else ()


def _clusters(section: Section | None) -> tuple[str, ...]:
    if section is None or section.rc != 0:
        return ()
    return tuple(sorted(line.strip() for line in section.lines if _CLUSTER.fullmatch(line.strip())))
