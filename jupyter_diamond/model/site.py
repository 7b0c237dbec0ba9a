"""A site as the user configured it."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from .base import Value

TransportKind = Literal["local"]
SchedulerKind = Literal["process", "slurm", "simulated"]


_OURS = frozenset({
    "account", "array", "chdir", "comment", "cpus-per-task", "dependency", "error", "gpus-per-node", "hold",
    "job-name", "mem", "no-requeue", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable",
    "partition", "qos", "requeue", "signal", "time", "wait", "walltime", "wrap",
})  # fmt: skip


class ModuleStart(Value):
    """How environment modules start at this site (B22): a login shell, a file to source, or nothing needed."""

    kind: Literal["none", "login_shell", "source"] = "none"
    path: str = ""
    load: tuple[str, ...] = ()


class Site(Value):
    """One independently run system that the user can reach, as configured.

    ``env`` is set for every scheduler command (e.g. ``SLURM_CONF``). ``workdir`` is where attempts live at the site,
    ``~`` allowed. ``python`` is the interpreter that runs cells there; None means the kernel's own, which is right only
    where the site sees this machine's files.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")
    transport: TransportKind = "local"
    scheduler: SchedulerKind
    env: dict[str, str] = Field(default_factory=dict)
    workdir: str = "~/diamond"
    python: str | None = None
    modules: ModuleStart = ModuleStart()
    account: str | None = None
    partition: str | None = None
    prefer: int = 0
    poll_floor_s: float = Field(default=2.0, gt=0)
    simulated: bool = False
    machine: str | None = None
    """The known machine that this is, ``none`` for *not a known one*; None: recognised by its host name."""
    options: dict[str, str] = Field(default_factory=dict)
    """Further options of the scheduler that the site wants with every job, by long name."""

    @model_validator(mode="before")
    @classmethod
    def _marked(cls, given: Any) -> Any:
        """What replays a recording is simulated, whatever the catalogue says."""
        return (
            {**given, "simulated": True} if isinstance(given, dict) and given.get("scheduler") == "simulated" else given
        )

    @field_validator("options")
    @classmethod
    def _further(cls, options: dict[str, str]) -> dict[str, str]:
        for name, value in options.items():
            if not re.fullmatch(r"[a-z][a-z-]*", name):
                raise ValueError(f"must name options without dashes in front, as filesystems, not {name!r}")
            if name in _OURS:
                raise ValueError(f"cannot set {name}, which every job says for itself")
            if not re.fullmatch(r"[A-Za-z0-9_.,:/@=+%&|*-]+", value) or value.startswith("-"):
                raise ValueError(f"must have a plain word for {name}")
        return options

    @field_validator("workdir", "python")
    @classmethod
    def _printable(cls, text: str | None) -> str | None:
        if text is not None and (not text or any(ord(c) < 32 for c in text) or text.startswith("-")):
            raise ValueError("must be a plain path: no control characters, no leading '-'")
        return text
