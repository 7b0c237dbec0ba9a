"""Everything that a cell needs to run somewhere else.

From the cell's free names on, each name is found in the notebook and travels in one of four ways: as an ``import``, as
the source of its definition (which in turn needs names), as data, or as the files of a module beside the notebook.
What cannot travel gets a sentence. Nothing is raised here for what the user did: ``preflight`` raises it all at once.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jupyter_diamond.model.group import Member
from jupyter_diamond.model.task import Captured, Language
from jupyter_diamond.model.views import Limits

from .closure import Closure, close_match
from .history import CellHistory
from .members import supplied_names, supplied_rows, unread_notes, wrong_names
from .names import Names, analyse
from .spec import Spec
from .text import CellText, bash_text, python_text


@dataclass(frozen=True)
class Capture:
    """What would travel. ``values`` and ``modules`` are the bundle's files below the folders of those names."""

    captured: tuple[Captured, ...]
    spec: Spec
    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    values: Mapping[str, bytes] = field(default_factory=dict)
    modules: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def requires(self) -> tuple[str, ...]:
        """The modules that must be installed at the site."""
        return self.spec.requires


def capture(
    cell: str,
    namespace: Mapping[str, Any],
    *,
    name: str,
    language: Language = "python",
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] = (),
    folder: Path,
    history: CellHistory,
    limits: Limits,
    members: Sequence[Member] = (),
) -> Capture:
    """Capture a cell against the notebook's ``namespace``. ``folder`` is the notebook's.

    ``inputs`` (``--in``) adds names and checks that they are there; all that the cell uses travels anyway, and
    ``captured`` lists it. ``outputs`` (``--out``) must be names that the cell assigns, or values that it was given.
    For ``bash`` the cell is a script, ``inputs`` of simple type (text, numbers, paths) are exported to it as
    environment variables, and there are no outputs. ``members`` are a group's: what they are given is not looked for
    in the notebook.
    """
    supplied = frozenset(supplied_names(members))
    wanted = [each for each in inputs or () if each not in supplied]
    if language == "bash":
        taken = _capture_bash(cell, namespace, name, wanted, outputs)
        return _of_members(taken, members, namespace, inputs or ())
    text = python_text(cell)
    if text.tree is None:
        return Capture((), _spec(name, "python", text.source, outputs), text.refusals, text.notes)
    names = analyse(text.tree.body)
    closure = Closure(namespace, folder=folder, history=history, limits=limits, bound=names.bound, supplied=supplied)
    closure.refusals += [*text.refusals, *_star_sentences(names), *_missing_inputs(wanted, namespace)]
    closure.warnings += text.notes
    closure.add_code(names, "the cell")
    for each in wanted:
        if each in namespace:
            closure.need(each, by="--in", must=True)
    closure.finish()
    closure.warnings += unread_notes(members, closure.supplied_read, names.bound, names.dynamic)
    closure.refusals += _wrong_outputs(outputs, names, closure.captured)
    spec = _spec(name, "python", text.source, outputs).model_copy(
        update={
            "prelude": closure.prelude(),
            "requires": tuple(sorted(closure.local.requires)),
            "same_minor": tuple(sorted(closure.same_minor)),
        }
    )
    taken = Capture(
        tuple(closure.captured[each] for each in sorted(closure.captured)),
        spec,
        tuple(dict.fromkeys(closure.refusals)),
        tuple(dict.fromkeys(closure.warnings)),
        closure.value_files(),
        closure.module_files(),
    )
    return _of_members(taken, members, namespace, inputs or ())


def _of_members(
    taken: Capture, members: Sequence[Member], namespace: Mapping[str, Any], inputs: Sequence[str]
) -> Capture:
    """The same with what each member of a group is given."""
    if not members:
        return taken
    spec = taken.spec
    rows = supplied_rows(members, namespace, spec.language)
    return replace(
        taken,
        captured=(*rows, *taken.captured),
        spec=spec.model_copy(update={"members": {str(member.index): member.params for member in members}}),
        refusals=(*taken.refusals, *wrong_names(members, inputs, spec.outputs, spec.language)),
    )


def _spec(name: str, language: Language, source: str, outputs: Sequence[str]) -> Spec:
    return Spec(
        name=name,
        language=language,
        cell=source,
        cell_filename=f"cell {name}",
        outputs=tuple(outputs),
        python=(sys.version_info.major, sys.version_info.minor, sys.version_info.micro),
        kernel_reads_parquet=importlib.util.find_spec("pyarrow") is not None,
    )


def _star_sentences(names: Names) -> list[str]:
    return [
        f"`from {module} import *` hides which names the cell uses. Import the module, or the names that you need."
        for module in names.star_imports
    ]


def _missing_inputs(inputs: Sequence[str], namespace: Mapping[str, Any]) -> list[str]:
    return [
        f"--in names `{name}`, but there is no such variable in this notebook{close_match(name, namespace)}."
        for name in inputs
        if name not in namespace
    ]


def _wrong_outputs(outputs: Sequence[str], names: Names, captured: Mapping[str, Captured]) -> list[str]:
    """A name must be assigned in the cell; a captured value may also come back changed in place."""
    changed = {name for name, each in captured.items() if each.travels == "value"}
    return [
        f"--out names `{name}`, but the cell never assigns it{close_match(name, names.bound)}. "
        "Assign it in the cell, or leave it out of --out."
        for name in outputs
        if name not in names.bound and name not in changed
    ]


# --- bash ---------------------------------------------------------------------------------------------------------


def _capture_bash(
    cell: str, namespace: Mapping[str, Any], name: str, inputs: Sequence[str], outputs: Sequence[str]
) -> Capture:
    text: CellText = bash_text(cell)
    refusals = [*text.refusals, *_missing_inputs(inputs, namespace)]
    if outputs:
        refusals.append("A bash cell returns no variables; write files, and leave --out away.")
    captured: list[Captured] = []
    exports: list[str] = []
    for each in sorted(set(inputs) & namespace.keys()):
        value = namespace[each]
        if isinstance(value, str | int | float | Path) and each.isascii() and "\0" not in str(value):
            exports.append(f"export {each}={_bash_quoted(str(value))}; ")
            size = len(str(value).encode("utf-8", "surrogateescape"))
            travels: Captured = Captured(
                name=each, type=type(value).__name__, travels="value", bytes=size, detail="an environment variable"
            )
        else:
            sentence = (
                f"`{each}` is a {type(value).__name__}, and a bash cell takes text, numbers and paths only. "
                "Write it to a file, and give the file's path."
            )
            refusals.append(sentence)
            travels = Captured(name=each, type=type(value).__name__, travels="refused", detail=sentence)
        captured.append(travels)
    source = "".join(exports) + text.source  # on the first line, so that bash counts the user's own lines
    return Capture(tuple(captured), _spec(name, "bash", source, ()), tuple(refusals))


def _bash_quoted(text: str) -> str:
    if "\n" not in text and "\r" not in text:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"$'{escaped}'"
