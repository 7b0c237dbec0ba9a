"""Names that only a notebook's kernel has."""

from __future__ import annotations

import builtins
import re
import types
from collections.abc import Mapping
from typing import Any

BUILTINS = frozenset(dir(builtins)) - {"get_ipython", "display", "__IPYTHON__"}
KERNELS_OWN = frozenset({"In", "Out", "exit", "quit", "open", "get_ipython", "display"})
"""What IPython puts into every notebook: no name that a user has misspelt."""
_MODULE = {
    "__name__",
    "__doc__",
    "__builtins__",
    "__spec__",
    "__loader__",
    "__package__",
    "__debug__",
    "__annotations__",
}
_FIXED = {
    "get_ipython": "`get_ipython` belongs to this kernel and is not there at a site. Leave it out.",
    "_oh": "`_oh` holds this kernel's outputs. Give what you need a name first.",
    "_ih": "`_ih` holds this kernel's inputs. Give what you need a name first.",
    "_dh": "`_dh` holds this kernel's folders. Use os.getcwd().",
    "exit": "`exit` ends this kernel. Raise SystemExit in the cell instead.",
    "quit": "`quit` ends this kernel. Raise SystemExit in the cell instead.",
}
_NUMBERED = ((r"_{1,3}", "the last output"), (r"_\d+", "an output"), (r"_i{1,3}|_i\d+", "an input"))


def is_provided(name: str, namespace: Mapping[str, Any]) -> bool:
    """Whether every Python, or our runner, has the name by itself, and the user did not give it another meaning."""
    if name in _MODULE:
        return True
    if name not in BUILTINS and name != "display":
        return False
    if name not in namespace:
        return True
    value = namespace[name]  # IPython puts its own open and display there, dressed as the originals
    home = value.__globals__.get("__name__", "") if isinstance(value, types.FunctionType) else ""
    return str(home).partition(".")[0] == "IPython"


def kernel_sentence(name: str, namespace: Mapping[str, Any]) -> str:
    """Why a name cannot leave the kernel; empty for all others."""
    value = namespace.get(name)
    if name in {"In", "Out"}:
        own = namespace.get("_ih" if name == "In" else "_oh")
        what = "inputs" if name == "In" else "outputs"
        if value is own:
            return f"`{name}` holds this kernel's {what}. Give what you need a name first, e.g. in a cell before."
        return ""
    for pattern, what in _NUMBERED:
        if re.fullmatch(pattern, name) and name in namespace:
            return f"`{name}` is {what} of this kernel. Give it a name first, in a cell before."
    if name in {"exit", "quit"} and type(value).__module__.partition(".")[0] != "IPython":
        return ""
    return _FIXED.get(name, "")
