"""Names that a site can make by an ``import`` of its own."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_BROUGHT = "jupyter_diamond"
"""The runner brings what of it a cell can use, see ``checkpoint``."""
_NOT_BOUND = (types.ModuleType, type(None), type)


@dataclass(frozen=True)
class ImportBinding:
    """The statement that binds a name again, and the modules it needs."""

    source: str
    modules: tuple[str, ...]


def module_binding(name: str, module: types.ModuleType, chains: Iterable[str]) -> ImportBinding | None:
    """How to bind ``name`` to a module, with the submodules that the code reaches through it (``xml.etree.…``).

    None for a module that no import finds.
    """
    full = module.__name__
    if sys.modules.get(full) is not module or full == "__main__":
        full = _other_name(module)
        if not full:
            return None
    submodules = sorted({found for chain in chains for found in _submodules(full, chain)})
    if name == full:
        lines = [f"import {each}" for each in [full, *submodules]]
    elif "." not in full and not submodules:
        lines = [f"import {full} as {name}"]
    elif name == full.partition(".")[0]:
        return None  # a package's own name bound to something inside it
    else:  # the first lines load the submodules, the last one gives the name its meaning
        lines = [f"import {each} as {name}" for each in [*submodules, full]]
    return ImportBinding("\n".join(lines) + "\n", (full, *submodules))


def object_binding(name: str, obj: Any) -> ImportBinding | None:
    """``from m import n as name`` for what lives in an importable module, by the shortest public path."""
    module, qualname = getattr(obj, "__module__", None), getattr(obj, "__qualname__", getattr(obj, "__name__", None))
    if isinstance(obj, types.BuiltinMethodType | types.MethodType) and not isinstance(obj.__self__, _NOT_BOUND):
        # numpy.random.rand is a method of the one generator that numpy.random.seed sets
        module, qualname = type(obj.__self__).__module__, obj.__name__
    if not isinstance(module, str) or not isinstance(qualname, str) or "." in qualname or module == "__main__":
        return None
    if not isinstance(obj, type) and not callable(obj):
        return None  # an instance that tells its class's module
    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        path = ".".join(parts[:length])
        if not any(part.startswith("_") for part in parts[:length]) or length == len(parts):
            for attribute in dict.fromkeys([qualname, name]):
                if vars(sys.modules.get(path, object)).get(attribute) is obj:
                    rename = "" if attribute == name else f" as {name}"
                    return ImportBinding(f"from {path} import {attribute}{rename}\n", (path,))
    return None


def needs_install(top: str) -> bool:
    """Whether a top-level module comes neither with Python nor with our runner."""
    return top not in sys.stdlib_module_names and top not in ("__main__", _BROUGHT)


def _other_name(module: types.ModuleType) -> str:
    """``os.path`` calls itself posixpath; other modules may stand under a name that is not theirs."""
    return next((name for name, found in list(sys.modules.items()) if found is module and name != "__main__"), "")


def _submodules(full: str, chain: str) -> list[str]:
    """The modules along a dotted use: ``np.random.rand`` of numpy gives ``numpy.random``."""
    found, path = [], full
    for part in chain.split(".")[1:]:
        path = f"{path}.{part}"
        if path not in sys.modules:
            break
        found.append(path)
    return found
