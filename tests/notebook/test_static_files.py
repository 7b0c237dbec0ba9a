"""A widget's script is one module: what card and wall draw with stands in front of it."""

from __future__ import annotations

import re

import pytest

from jupyter_diamond.notebook import static_files
from jupyter_diamond.notebook.static_files import module, static


@pytest.mark.parametrize("name", ["card.js", "wall.js"])
def test_a_widget_s_module_imports_nothing_and_exports_itself_once(name):
    text = module(name)
    assert not re.search(r"^import\b|\bimport\(|\bfetch\(\"http", text, re.MULTILINE)
    assert len(re.findall(r"^export ", text, re.MULTILINE)) == 1
    assert "export default {" in text


@pytest.mark.parametrize("name", ["card.js", "wall.js"])
def test_a_widget_names_what_it_draws_with(name):
    named = re.search(r'^import \{([^}]*)\} from "\./drawing\.js";$', static(name), re.MULTILINE)[1].split(",")
    exported = set(re.findall(r"^export (?:async )?(?:function|const) (\w+)", static("drawing.js"), re.MULTILINE))
    own = static(name)[static(name).index("./drawing.js") :]
    for each in map(str.strip, named):
        assert each in exported
        assert re.search(rf"\b{each}\b", own), f"{name} imports {each} and never uses it"
    defined = set(re.findall(r"^(?:async )?(?:function|const) (\w+)", own, re.MULTILINE))
    assert defined & exported == set(), "in one module a name stands for one thing"


def test_a_script_that_imports_something_else_is_refused(monkeypatch):
    monkeypatch.setattr(static_files, "static", lambda _: 'import { make } from "./other.js";\n')
    with pytest.raises(ValueError, match="imports"):
        module.__wrapped__("card.js")
