"""What has to be sent, from what lies at both ends; and how fast it goes, from what is told."""

from __future__ import annotations

import pytest

from jupyter_diamond.data.differences import differing, empty_folders, to_compare, wanted
from jupyter_diamond.data.listing import Entry, Listing
from jupyter_diamond.engine.transfers.meter import Meter
from jupyter_diamond.model.transfer import Filter, Progress


def entries(**sizes):
    return {name: Entry(name, size, 7_000_000_000 + size) for name, size in sizes.items()}


HERE = entries(same=1, newer=2, larger=3, absent=4)
THERE = {
    **entries(same=1, larger=30, other=5), "newer": Entry("newer", 2, 9_000_000_000), "same": Entry("same", 1, 7_900_000_000),
}  # fmt: skip


@pytest.mark.parametrize(("level", "sent"), [
    (None, {"same", "newer", "larger", "absent"}),
    ("exists", {"absent"}),
    ("size", {"larger", "absent"}),
    ("mtime", {"newer", "larger", "absent"}),
    ("checksum", {"newer", "larger", "absent"}),
])  # fmt: skip
def test_each_level_sends_what_differs_by_it(level, sent):
    assert set(to_compare(HERE, THERE, level)) == ({"same", "newer"} if level == "checksum" else set())
    assert differing(HERE, THERE, level, equal={"same"}).keys() == sent


def test_filters_decide_by_their_first_match_for_folders_too():
    names = ("a.txt", "b.log", "keep/c.txt", "skip/d.txt", "keep/deep/skip/e.txt", "skip.txt")
    found = Listing("folder", {name: Entry(name, 1, 0) for name in names})
    filters = [
        Filter(method="exclude", name="skip", type="dir"), Filter(method="include", name="*.txt", type="file"),
        Filter(method="exclude", name="*", type="file"),
    ]  # fmt: skip
    assert set(wanted(found, filters)) == {"a.txt", "keep/c.txt", "skip.txt"}
    assert set(wanted(found, ())) == set(names)


def test_only_folders_without_any_file_are_empty():
    found = Listing("folder", {"a/b/x": Entry("a/b/x", 1, 0)}, ("a", "a/b", "a/c", "d", "d/e"))
    assert set(empty_folders(found)) == {"a/c", "d", "d/e"}


def test_rate_and_time_left_come_from_the_last_seconds():
    meter = Meter(Progress())
    assert meter.read(0.0) is None
    for second in range(5):
        meter.tell(Progress(bytes_total=1000, bytes_done=100 * second))
        told = meter.read(float(second))
    assert (told.rate, told.eta_s) == (100.0, 6.0)
    assert meter.read(5.0) is None
    meter.tell(Progress(bytes_total=1000, bytes_done=0))
    assert meter.read(6.0).rate is None, "it was begun again"
