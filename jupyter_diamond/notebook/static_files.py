"""The style sheets and scripts that travel to the page with a widget, as text."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

DRAWING = "drawing.js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./drawing\.js";\n', re.MULTILINE)


@cache
def static(name: str) -> str:
    """One file of ``static/``."""
    return (files("jupyter_diamond.notebook") / "static" / name).read_text(encoding="utf-8")


@cache
def module(name: str) -> str:
    """A widget's script as one ES module, with what it imports in front: a page has no address to import from.

    Raises ValueError when the script does not import ``./drawing.js`` exactly once, in one statement.
    """
    own, imports = _IMPORT.subn("", static(name))
    if imports != 1:
        raise ValueError(f"{name} imports ./{DRAWING} {imports} times")
    return re.sub(r"^export ", "", static(DRAWING), flags=re.MULTILINE) + own


@cache
def style_line(name: str) -> str:
    """A style sheet on one line and without comments, for HTML that is stored in a notebook."""
    return " ".join(re.sub(r"/\*.*?\*/", "", static(name), flags=re.DOTALL).split())
