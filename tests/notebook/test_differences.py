"""What a cell imports, here and at a site."""

from __future__ import annotations

import sys
from importlib import metadata

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.views import Interpreter
from jupyter_diamond.notebook.differences import differences, differences_table, distributions, said_of

MODULES = ("numpy.linalg", "numpy", "yaml_of_nobody", "ruamel", "dateutil")


def there(version=sys.version_info[:3], **fields):
    return Interpreter(executable="/there/python", version=tuple(version), read_at=from_epoch(0.0), **fields)


def test_a_module_is_found_in_its_package_also_where_that_has_another_name():
    found = distributions(MODULES)
    assert found["numpy"] == ("numpy", metadata.version("numpy"))
    assert found["dateutil"] == ("python-dateutil", metadata.version("python-dateutil"))
    assert "yaml_of_nobody" not in found


def test_each_package_is_the_same_another_missing_or_not_known():
    here = {"numpy": ("numpy", "2.0"), "dateutil": ("python-dateutil", "2.9"), "rich": ("rich", "1")}
    packages = {"numpy": "2.0", "python-dateutil": "2.8"}
    found = differences((*MODULES, "rich", "torch"), here, there((3, 6, 8), packages=packages, missing=("torch",)))
    assert [(each.package, each.here, each.there, each.answer) for each in found] == [
        ("Python", ".".join(map(str, sys.version_info[:3])), "3.6.8", "other"),
        ("numpy", "2.0", "2.0", "same"),
        ("python-dateutil", "2.9", "2.8", "other"),
        ("rich", "1", "", "unknown"),
        ("ruamel", "", "", "unknown"),
        ("torch", "", "", "missing"),
        ("yaml_of_nobody", "", "", "unknown"),
    ]
    assert said_of(found, "delta").startswith("Versions differ at delta: Python ")
    assert "; python-dateutil 2.9 here, 2.8 there." in said_of(found, "delta")
    assert list(differences_table(found).iloc[:, -1])[-2:] == ["missing there", "not known"]


def test_nothing_is_compared_with_what_does_not_start_or_is_not_built():
    assert differences(("numpy",), {}, Interpreter(executable="", version=None, read_at=from_epoch(0.0))) == ()
    assert said_of((), "delta") == ""
