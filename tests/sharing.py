"""How the tests are shared out to several processes: what is dear to set up is set up once, and the longest comes first.

A test that no row of GROUPS claims stays with the other tests of its module, whose fixtures it may use.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeVar

import pytest
from xdist.scheduler import LoadScopeScheduling

# A group's name, and what a test of it has, all of these: a fixture, a marker, a folder. The first row that fits claims
# the test. Groups begin in this order, so the longest stands first. Every process that asks for the fixture `testbed`
# has clusters of its own, so several groups may use them at the same time.
GROUPS = (
    ("endpoint set-up", "globus users"),
    ("agents", "testbed globus"),
    ("agents", "one_agent"),
    ("slurm", "testbed engine test_slurm_site.py"),
    ("slurm", "testbed engine test_arrays_slurm.py"),
    ("healing on slurm", "testbed heal"),
    ("slurm in the engine", "testbed engine"),
    ("slurm in the lab", "testbed browser"),
    ("slurm by hand", "testbed"),
    ("globus by hand", "transport test_globus.py"),
    ("lab", "one_lab"),
    ("notebooks", "notebook_live"),
    ("bundle", "node"),
    ("pages", "browser"),
    ("command line", "cli"),
)
_ORDER = [name for name, _ in GROUPS]
_FILE = "groups.json"
_T = TypeVar("_T")


def rotated(found: list[_T], worker: int, workers: int) -> list[_T]:
    """What a folder holds, begun at another place in each process: a module is compiled by the first that comes to it.

    Pytest rewrites the assertions of every module, which takes longer than all the rest of finding the tests. What one
    process has compiled, the others read, if they do not come to it in the same moment.
    """
    first = worker * len(found) // workers
    return found[first:] + found[:first]


def prepare(items: list[pytest.Item], folder: Path) -> None:
    """Put the tests into the order of their groups; leave word of the groups to the process that shares out.

    That one collects nothing itself and is told no more than names, the same by every process.
    """
    found = {item: _group(item) for item in items}
    items.sort(key=lambda item: (_ORDER.index(found[item]) if found[item] else len(_ORDER), item.path))
    written = folder / f"{_FILE}.{os.getpid()}"
    written.write_text(json.dumps({item.nodeid: group for item, group in found.items() if group}))
    written.replace(folder / _FILE)


def _group(item: pytest.Item) -> str:
    marks = (mark.name for mark in item.iter_markers())
    has = {*getattr(item, "fixturenames", ()), *marks, *item.path.relative_to(item.config.rootpath).parts}
    return next((name for name, needs in GROUPS if has.issuperset(needs.split())), "")


class Sharing(LoadScopeScheduling):
    """Gives each free process the next group or module as a whole."""

    def __init__(self, config: pytest.Config, log: object, folder: Path) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # the order is ours
        self._folder = folder
        self._groups: dict[str, str] = {}

    def schedule(self) -> None:
        self._groups = self._groups or json.loads((self._folder / _FILE).read_text())
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._groups.get(nodeid) or nodeid.partition("::")[0]

    def _reschedule(self, node: object) -> None:
        # One test ahead is what a process needs to go on. More would tie a group to a process that is still busy.
        if not self.workqueue or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)
