"""Modules beside the notebook: they are nowhere at a site, so their files travel.

A module is local when its file lies below the notebook's folder and was not installed there. Its imports are followed
through its syntax tree, nothing is imported or run. A package travels whole, as it may import parts of itself by name.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .imports import needs_install
from .names import Import, analyse
from .sizes import bytes_text
from .stale_modules import has_changed_since_import
from .text import read_python

_INSTALLED = {"site-packages", "dist-packages", "__pycache__", "node_modules"}
DATA_FILE_BYTES = 1 << 20
"""A package's other files travel up to this size each: templates and tables, no data sets."""
MOST_FILES = 2000
"""A folder with more files than this is no package that was meant to travel."""


@dataclass
class Shipped:
    """One local top-level module and its files, by their path in the bundle."""

    name: str
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """The files' total size."""
        return sum(path.stat().st_size for path in self.files.values())


class LocalModules:
    """Collects the local modules that a cell needs, directly or through each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.shipped: dict[str, Shipped] = {}
        self.requires: set[str] = set()
        self.refusals: list[str] = []
        self.warnings: list[str] = []
        self._others: dict[str, bool] = {}

    def need(self, module: str, *, sure: bool = True) -> bool:
        """The code needs this module. True when it is local, and travels; else it must be installed at the site.

        ``sure=False``: the import may never run, so that a site without the module is no reason to refuse.
        """
        top = module.partition(".")[0]
        if top in self.shipped:
            return True
        if not needs_install(top):
            return False
        place = self._place(top)
        if place is None:
            if sure:
                self.requires.add(top)
            return False
        self._ship(top, place)
        return True

    def _place(self, top: str) -> Path | None:
        """The local file or package folder of a top-level module."""
        loaded = sys.modules.get(top)
        if isinstance(loaded, types.ModuleType):
            origin = getattr(loaded, "__file__", None) or next(iter(getattr(loaded, "__path__", ())), None)
        else:
            spec = importlib.machinery.PathFinder.find_spec(top, [str(self.folder), *sys.path])
            origin = spec and (spec.origin or next(iter(spec.submodule_search_locations or ()), None))
        if not origin or not self._is_local(Path(origin)):
            return None
        path = Path(origin)
        if path.is_dir() and not any(path.rglob("*.py")):
            return None  # a folder of data that happens to have a module's name
        return path.parent if path.name == "__init__.py" else path

    def _is_local(self, path: Path) -> bool:
        try:
            parts = path.resolve().relative_to(self.folder).parts
        except ValueError:
            return False
        return not any(part in _INSTALLED for part in parts)

    def _ship(self, top: str, place: Path) -> None:
        shipped = self.shipped[top] = Shipped(top)
        if place.is_dir():
            for path in self._package_files(place):
                shipped.files[str(PurePosixPath(top, *path.relative_to(place).parts))] = path
        else:
            shipped.files[place.name] = place
        compiled = [name for name, path in shipped.files.items() if path.suffix in {".so", ".pyd", ".dylib"}]
        if compiled or place.suffix not in {"", ".py"}:
            self.refusals.append(
                f"`{top}` is beside the notebook and holds compiled code ({(compiled or [place.name])[0]}), which was "
                "built for this machine. Install it at the site, and move it out of the notebook's folder."
            )
            return
        self._warn_of_changes(shipped)
        for name, path in sorted(shipped.files.items()):
            if path.suffix == ".py":
                self._follow(name, path)

    def _package_files(self, folder: Path) -> Iterator[Path]:
        count = 0
        for path in _walk(folder):
            count += 1
            if count > MOST_FILES:
                self.refusals.append(
                    f"The package `{folder.name}` beside the notebook has more than {MOST_FILES} files. Install it at "
                    "the site, or move its data out of the package."
                )
                return
            size = path.stat().st_size
            if path.suffix != ".py" and size > DATA_FILE_BYTES:
                self.warnings.append(
                    f"{path.relative_to(self.folder)} ({bytes_text(size)}) is no Python and is left out of the "
                    f"package `{folder.name}`."
                )
                continue
            yield path

    def _follow(self, name: str, path: Path) -> None:
        """The imports of one file."""
        found = imports_of(path, path.stat().st_mtime_ns)
        if found is None:
            self.refusals.append(f"{path.relative_to(self.folder)} is not Python that can be read; mend it first.")
            return
        for each in found:
            if not each.level:  # relative imports stay inside the package, which travels whole
                self.need(each.module, sure=each.sure and not each.deferred and not _is_spare(name))

    def _warn_of_changes(self, shipped: Shipped) -> None:
        for name, path in sorted(shipped.files.items()):
            dotted = name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            module = sys.modules.get(dotted)
            if path.suffix == ".py" and isinstance(module, types.ModuleType) and has_changed_since_import(module, path):
                self.warnings.append(
                    f"{path.relative_to(self.folder)} was changed after this kernel imported it; the site gets the "
                    "file as it is now. Restart the kernel or reload the module to have the same here."
                )


def _walk(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _INSTALLED or path.suffix == ".pyc":
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.is_file():
            yield path


def _is_spare(name: str) -> bool:
    """Tests and scripts inside a package: they travel, but what only they import need not be at the site."""
    parts = PurePosixPath(name).parts
    return len(parts) > 1 and any(part in {"tests", "test", "conftest.py", "__main__.py", "setup.py"} for part in parts)


@functools.lru_cache(maxsize=512)
def imports_of(path: Path, _mtime_ns: int) -> tuple[Import, ...] | None:
    """The imports of a file, module names of ``from x import y`` included; None when it is not Python."""
    try:
        tree = read_python(path.read_bytes().decode("utf-8"))
    except (SyntaxError, ValueError):
        return None
    tree.body = [node for node in tree.body if isinstance(node, ast.stmt)]
    return tuple(analyse(tree.body).imports)
