"""What a cell imports, here and at a site: the same version, another one, or missing there."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import TYPE_CHECKING

from jupyter_diamond.model.environment import Agreement, PackageDifference
from jupyter_diamond.model.views import Interpreter

if TYPE_CHECKING:
    import pandas as pd

_WORDS: dict[Agreement, str] = {
    "same": "same", "other": "other version", "missing": "missing there", "unknown": "not known",
}  # fmt: skip


def distributions(modules: Iterable[str]) -> dict[str, tuple[str, str]]:
    """For each top-level module its package in this kernel, and the version; what is of none is left out."""
    tops = dict.fromkeys(module.partition(".")[0] for module in modules)
    found, all_ = dict[str, tuple[str, str]](), dict[str, list[str]]()
    for top in tops:
        version = _version(top)
        if version is None and not all_:
            all_ = dict(metadata.packages_distributions())  # reads every package's list of files: once, if at all
        package = top if version is not None else next(iter(all_.get(top, ())), "")
        version = version or (_version(package) if package else None)
        if version is not None:
            found[top] = (package, version)
    return found


def differences(
    modules: Iterable[str], here: Mapping[str, tuple[str, str]], there: Interpreter
) -> tuple[PackageDifference, ...]:
    """Python itself first, then each package that the modules are of, by its name."""
    if there.version is None:
        return ()
    mine, theirs = _dotted(sys.version_info[:3]), _dotted(there.version)
    minor: Agreement = "same" if there.version[:2] == sys.version_info[:2] else "other"
    rows = [_row(module, here, there) for module in dict.fromkeys(each.partition(".")[0] for each in modules)]
    python = PackageDifference(package="Python", here=mine, there=theirs, answer=minor)
    return python, *sorted(dict.fromkeys(rows), key=lambda each: each.package)


def differences_table(found: Iterable[PackageDifference]) -> pd.DataFrame:
    """The table of a dry run."""
    from .tables import frame_of

    rows = [
        {"package": each.package, "here": each.here, "there": each.there, "": _WORDS[each.answer]} for each in found
    ]
    return frame_of(rows, ["package", "here", "there", ""])


def said_of(found: Iterable[PackageDifference], where: str) -> str:
    """One line above the card, where versions are not the same; empty where all are."""
    other = [f"{each.package} {each.here} here, {each.there} there" for each in found if each.answer == "other"]
    return f"Versions differ at {where}: {'; '.join(other)}." if other else ""


def _row(module: str, here: Mapping[str, tuple[str, str]], there: Interpreter) -> PackageDifference:
    package, version = here.get(module, (module, ""))
    theirs = there.packages.get(package, "")
    lacks = any(each.partition(".")[0] == module for each in there.missing)
    answer: Agreement = "missing" if lacks else "unknown" if not theirs or not version else "same"
    if answer == "same" and theirs != version:
        answer = "other"
    return PackageDifference(package=package, here=version, there=theirs, answer=answer)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _dotted(version: Iterable[int]) -> str:
    return ".".join(map(str, version))
