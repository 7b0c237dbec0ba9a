"""What a cell runs in at a site: modules, an interpreter, a container; chosen by name, or built from requirements."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator, model_validator

from .base import UtcTime, Value

ContainerRuntime = Literal["apptainer", "singularity", "shifter", "podman-hpc"]
ENV_NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$"


class ModuleStart(Value):
    """How environment modules start at this site (B22): a login shell, a file to source, or nothing needed."""

    kind: Literal["none", "login_shell", "source"] = "none"
    path: str = ""
    load: tuple[str, ...] = ()


class Container(Value):
    """An image and what runs it. ``image`` is a path at the site or a reference that the runtime knows."""

    runtime: ContainerRuntime = "apptainer"
    image: str = Field(min_length=1, max_length=1024)
    binds: tuple[str, ...] = ()
    """Folders of the site that are seen inside, as ``/scratch`` or ``/scratch:/data``; the work folder always is."""
    modules: tuple[str, ...] = ()

    @field_validator("image", "binds")
    @classmethod
    def _plain(cls, given: str | tuple[str, ...]) -> str | tuple[str, ...]:
        for text in (given,) if isinstance(given, str) else given:
            if not re.fullmatch(r"[A-Za-z0-9_./@:~+=-]+", text) or text.startswith("-"):
                raise ValueError(f"{text!r} must be a plain path or reference")
        return given


class SiteEnvironment(Value):
    """One environment of a site, as configured (``environments: {torch: …}``).

    ``python`` is the full path of the interpreter: nothing is ever activated (B23). ``prefix`` is the folder of a conda
    or virtual environment, whose ``bin/python`` is meant. ``activate_d``: source a conda environment's own
    ``etc/conda/activate.d`` first.
    """

    modules: ModuleStart | None = None
    """None: the site's own."""
    python: str | None = None
    prefix: str | None = None
    activate_d: bool = False
    container: Container | None = None
    env: dict[str, str] = Field(default_factory=dict)
    note: str = ""

    @model_validator(mode="after")
    def _one_python(self) -> SiteEnvironment:
        if self.python is not None and self.prefix is not None:
            raise ValueError("names python or prefix, not both")
        if self.activate_d and self.prefix is None:
            raise ValueError("activate_d needs the prefix of a conda environment")
        for text in (self.python, self.prefix):
            if text is not None and (not text.startswith(("/", "~/")) or any(ord(c) < 32 for c in text)):
                raise ValueError(f"{text!r} must be a full path")
        return self

    @property
    def interpreter(self) -> str | None:
        """The interpreter's path; None: the site's own."""
        return f"{self.prefix.rstrip('/')}/bin/python" if self.prefix is not None else self.python


class Environment(Value):
    """What a task asks for: one of the site's by its ``name``, or one that is built there from ``requirements``.

    ``requirements`` is the text of a requirements file (or the dependencies of a pyproject), ``python`` its version, as
    ``3.11``. The same text is built once a site.
    """

    name: str = Field(pattern=ENV_NAME)
    requirements: str | None = Field(default=None, max_length=65_536)
    python: str | None = Field(default=None, pattern=r"^3\.[0-9]{1,2}$")


BuildState = Literal["building", "ready", "failed"]


class BuiltEnvironment(Value):
    """An environment that was built at a site, found again by the digest of the requirements that it was built from."""

    site: str
    digest: str
    state: BuildState
    prefix: str
    python_version: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
    problem: str = ""
    evidence: tuple[str, ...] = ()
    seconds: float | None = None
    changed_at: UtcTime


class NamedEnvironment(Value):
    """An environment that the catalogue names for a site."""

    name: str
    runs: str
    """What it is, in words: an interpreter, an image."""
    note: str = ""


class SiteEnvironments(Value):
    """What cells can run in at a site: what is configured, and what was built there."""

    site: str
    builds: bool
    """Others may be built there from requirements, where ``uv`` is found."""
    named: tuple[NamedEnvironment, ...] = ()
    built: tuple[BuiltEnvironment, ...] = ()


Agreement = Literal["same", "other", "missing", "unknown"]


class PackageDifference(Value):
    """A package that a cell imports, here and there. Empty versions: not known."""

    package: str
    here: str
    there: str
    answer: Agreement
