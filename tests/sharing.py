"""How the tests are shared out to several processes: what is dear to set up is set up once, and the longest comes first.

A test that no row of GROUPS claims stays with the other tests of its module, whose fixtures it may use.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling

# A group's name, and what a test of it has, all of these: a fixture, a marker, a folder. The first row that fits claims
# the test. Groups begin in this order, so the longest stands first. Every process that asks for the fixture `testbed`
# has clusters of its own, so several groups may use them at the same time.
GROUPS = (
    ("slurm-in-the-lab", "testbed browser"),
    ("slurm", "testbed"),
    ("lab", "one_lab"),
    ("notebooks", "notebook_live"),
)
_ORDER = [name for name, _ in GROUPS]


class Sharing(LoadScopeScheduling):
    """Gives each free process the next group or module as a whole."""

    def _split_scope(self, nodeid: str) -> str:
        return _claim(nodeid) or nodeid.partition("::")[0]

    def _reschedule(self, node: object) -> None:
        # One test ahead is what a process needs to go on. More would tie a group to a process that is still busy.
        if not self.workqueue or self._pending_of(self.assigned_work[node]) <= 1:
            super()._reschedule(node)


def prepare(items: list[pytest.Item]) -> None:
    """Put the tests into the order of their groups, and write the group behind each name: only names are sent on."""
    found = {item: _group(item) for item in items}
    for item, group in found.items():
        if group:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: _ORDER.index(found[item]) if found[item] else len(_ORDER))


def plain(nodeid: str) -> str:
    """A test's name as pytest takes it."""
    return nodeid.removesuffix(f"@{_claim(nodeid)}")


def _group(item: pytest.Item) -> str:
    marks = (mark.name for mark in item.iter_markers())
    has = {*getattr(item, "fixturenames", ()), *marks, *item.path.parts}
    return next((name for name, needs in GROUPS if has.issuperset(needs.split())), "")


def _claim(nodeid: str) -> str:
    last = nodeid.rpartition("@")[2]
    return last if last in _ORDER else ""
