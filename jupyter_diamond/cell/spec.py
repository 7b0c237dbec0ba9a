"""What a bundle says: the contract between ``cell.pack`` in the kernel and ``cell/runner`` at the site.

A bundle is an uncompressed tar with ``spec.json`` (this model), ``values/<file>`` and ``modules/<path>``.
The runner puts ``modules/`` first on ``sys.path``, replays ``prelude`` in order in its ``__main__``, and runs ``cell``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jupyter_diamond.model.base import Param, Value
from jupyter_diamond.model.manifest import Codec
from jupyter_diamond.model.task import Language

SPEC = "spec.json"
VALUES = "values"
MODULES = "modules"


class Statement(Value):
    """Source text that the runner executes as it stands: an import, a function, a class.

    ``filename`` and ``lineno`` are where the user wrote it, so that a traceback shows the user's own lines.
    """

    kind: Literal["statement"] = "statement"
    name: str
    source: str
    filename: str
    lineno: int = 1


class PackedValue(Value):
    """A variable that travels as data. ``file`` lies below ``values/``."""

    kind: Literal["value"] = "value"
    name: str
    codec: Codec
    file: str
    bytes: int
    sha256: str


class Spec(Value):
    """All that the runner needs to know. ``python`` is the kernel's version.

    ``same_minor`` names the values that hold bytecode (closures, lambdas without source) and therefore run only under
    the kernel's own minor version. ``requires`` are the modules that must be importable at the site, checked before
    the cell starts. ``kernel_reads_parquet`` lets tables come back as parquet; without it they are pickled.
    ``members`` are a group's, by their numbers: what each is given before prelude and cell run, or in the environment
    of a shell. Which of them it is, the runner is told when it is started.
    """

    format: Literal[1] = 1
    name: str
    language: Language
    cell: str
    cell_filename: str
    outputs: tuple[str, ...] = ()
    prelude: tuple[Statement | PackedValue, ...] = ()
    requires: tuple[str, ...] = ()
    python: tuple[int, int, int]
    same_minor: tuple[str, ...] = ()
    kernel_reads_parquet: bool = False
    members: dict[str, dict[str, Param]] = Field(default_factory=dict)
