"""A site as the user configured it."""

from __future__ import annotations

import re
from typing import Any, Literal
from uuid import UUID

from pydantic import Field, ValidationInfo, field_validator, model_validator

from .base import Value
from .data import SiteData
from .environment import ENV_NAME, ModuleStart, SiteEnvironment

TransportKind = Literal["local", "ssh", "globus-compute"]
SchedulerKind = Literal["process", "slurm", "simulated"]

_OURS = frozenset({
    "account", "array", "chdir", "comment", "cpus-per-task", "dependency", "error", "gpus-per-node", "hold",
    "job-name", "mem", "no-requeue", "nodes", "ntasks", "ntasks-per-node", "open-mode", "output", "parsable",
    "partition", "qos", "requeue", "signal", "time", "wait", "walltime", "wrap",
})  # fmt: skip

SSH_OPTIONS = (
    "AddressFamily", "BindAddress", "BindInterface", "CheckHostIP", "Ciphers", "Compression", "ConnectionAttempts",
    "ConnectTimeout", "GSSAPIAuthentication", "GSSAPIDelegateCredentials", "HostKeyAlgorithms", "HostKeyAlias",
    "HostName", "IPQoS", "KexAlgorithms", "MACs", "Port", "PreferredAuthentications", "ProxyJump",
    "PubkeyAcceptedAlgorithms", "RekeyLimit", "ServerAliveCountMax", "ServerAliveInterval", "TCPKeepAlive", "User",
)  # fmt: skip
"""What ``ssh_options`` may set: how the connection is made. Nothing that runs a command here (ProxyCommand,
LocalCommand, PKCS11Provider …), weakens the check of host keys, forwards anything, or chooses keys: those are the
business of the user's own ssh config."""
_HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]*")
_OPTION = re.compile(r"([A-Za-z0-9]+)=([A-Za-z0-9_@:.,+*/^\[\]-]+)")


class Site(Value):
    """One independently run system that the user can reach, as configured.

    ``env`` is set for every scheduler command (e.g. ``SLURM_CONF``). ``workdir`` is where attempts live at the site,
    ``~`` allowed. ``python`` is the interpreter that runs cells there; None means the kernel's own, which is right only
    where the site sees this machine's files.

    With ``transport: ssh``, ``host`` is an alias of the user's own ssh config, or ``user@host``; ``ssh_options`` are
    ``Name=value`` out of SSH_OPTIONS; ``ssh_config`` is a file to use in place of ``~/.ssh/config``.

    With ``transport: globus-compute``, ``endpoint`` is the UUID of the user's own endpoint on a login node; ``host``
    may name that node, to recognise the machine by and to say where the endpoint is started.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$")
    transport: TransportKind = "local"
    scheduler: SchedulerKind
    host: str | None = Field(default=None, validate_default=True)
    ssh_options: tuple[str, ...] = ()
    ssh_config: str | None = None
    endpoint: UUID | None = Field(default=None, validate_default=True)
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
    data: SiteData = SiteData()
    environments: dict[str, SiteEnvironment] = Field(default_factory=dict)
    """What a cell may run in there, by the names that ``--env`` takes."""
    builds_environments: bool = True
    """Environments may be built on its login node from requirements, where ``uv`` is found there."""

    @model_validator(mode="before")
    @classmethod
    def _marked(cls, given: Any) -> Any:
        """What replays a recording is simulated, whatever the catalogue says."""
        return (
            {**given, "simulated": True} if isinstance(given, dict) and given.get("scheduler") == "simulated" else given
        )

    @field_validator("environments")
    @classmethod
    def _named(cls, found: dict[str, SiteEnvironment]) -> dict[str, SiteEnvironment]:
        for name in found:
            if not re.fullmatch(ENV_NAME, name):
                raise ValueError(f"cannot be named {name!r}: a letter first, then letters, digits, dots and dashes")
        return found

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

    @field_validator("scheduler")
    @classmethod
    def _in_reach(cls, kind: SchedulerKind, info: ValidationInfo) -> SchedulerKind:
        transport = info.data.get("transport", "local")
        if kind == "process" and transport != "local":
            raise ValueError(
                f"must be a batch system where transport is {transport}: process is for this machine alone"
            )
        return kind

    @field_validator("host")
    @classmethod
    def _destination(cls, host: str | None, info: ValidationInfo) -> str | None:
        over_ssh = info.data.get("transport") == "ssh"
        if host is None and over_ssh:
            raise ValueError("is needed where transport is ssh")
        if host is not None and info.data.get("transport") == "local":
            raise ValueError("is for a site that is reached over ssh or globus-compute")
        if host is not None and not _HOST.fullmatch(host):
            raise ValueError("must be a host, an alias of your ssh config, or user@host")
        return host

    @field_validator("endpoint")
    @classmethod
    def _over_globus(cls, endpoint: UUID | None, info: ValidationInfo) -> UUID | None:
        over_globus = info.data.get("transport") == "globus-compute"
        if endpoint is None and over_globus:
            raise ValueError("is needed where transport is globus-compute")
        if endpoint is not None and "transport" in info.data and not over_globus:
            raise ValueError("is for transport: globus-compute alone")
        return endpoint

    @field_validator("ssh_options", "ssh_config")
    @classmethod
    def _over_ssh(cls, given: tuple[str, ...] | str | None, info: ValidationInfo) -> tuple[str, ...] | str | None:
        if given and info.data.get("transport", "ssh") != "ssh":
            raise ValueError("is for transport: ssh alone")
        return given

    @field_validator("ssh_options")
    @classmethod
    def _harmless(cls, options: tuple[str, ...]) -> tuple[str, ...]:
        known = {name.casefold() for name in SSH_OPTIONS}
        for option in options:
            parts = _OPTION.fullmatch(option)
            if parts is None:
                raise ValueError(f"must hold Name=value without spaces, and {option!r} is not that")
            if parts[1].casefold() not in known:
                raise ValueError(
                    f"may not set {parts[1]}: keys, host keys, forwarding and whatever runs a command belong in "
                    f"your own ssh config"
                )
        return options

    @field_validator("workdir", "python", "ssh_config")
    @classmethod
    def _printable(cls, text: str | None) -> str | None:
        if text is not None and (not text or any(ord(c) < 32 for c in text) or text.startswith("-")):
            raise ValueError("must be a plain path: no control characters, no leading '-'")
        return text
