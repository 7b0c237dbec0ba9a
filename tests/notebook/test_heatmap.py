"""The rhythm of a site's queues: means by weekday and hour, and the figure of them."""

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.history import HistorySeries, SiteHistory
from jupyter_diamond.notebook.heatmap import DAYS, heatmap, rhythm

MONDAY = datetime(2026, 11, 30, 9, 10, tzinfo=timezone.utc)


def series(*spans, partition="gpu"):
    """Spans of (moment, readings, free, total, pending)."""
    at, readings, free, total, pending = zip(*spans, strict=True)
    return HistorySeries(
        partition=partition, unit="GPU", at=at, readings=readings, free=free, total=total, pending=pending
    )  # fmt: skip


WEEKS = series(
    (MONDAY - timedelta(days=7), 3, 8.0, 8.0, 0.0),
    (MONDAY, 1, 0.0, 8.0, 4.0),
    (MONDAY + timedelta(hours=1), 2, None, 8.0, 2.0),
    (MONDAY + timedelta(hours=2), 2, 4.0, 0.0, None),
)


def past(*several):
    return SiteHistory(site="delta", since=MONDAY, span_s=600, series=several)


def test_means_count_each_reading_once():
    found = rhythm(WEEKS, "busy", timezone.utc)
    assert (found.means[0][9], found.readings[0][9]) == (25.0, 4)
    assert rhythm(WEEKS, "pending", timezone.utc).means[0][9] == 1.0


def test_what_was_not_known_is_a_gap_and_no_zero():
    found = rhythm(WEEKS, "busy", timezone.utc)
    assert (found.means[0][10], found.means[0][11]) == (None, None), "nothing free was told; nothing is there"
    assert sum(mean is not None for day in found.means for mean in day) == 1


def test_hours_are_those_of_the_reader():
    found = rhythm(WEEKS, "pending", timezone(timedelta(hours=15)))
    assert found.means[1][0] == 1.0, "midnight of Tuesday there"


@pytest.mark.parametrize(("what", "most"), [("busy", 100), ("pending", None)])
def test_the_figure_shows_one_partition_and_offers_the_others(what, most):
    figure = heatmap(past(WEEKS, series((MONDAY, 1, 1.0, 2.0, 0.0), partition="<b>cpu</b>")), what=what)
    first, second = figure.data
    assert (first.visible, second.visible, first.zmax, tuple(first.y)) == (True, False, most, DAYS)
    assert [button.label for button in figure.layout.updatemenus[0].buttons] == ["gpu", "&lt;b>cpu&lt;/b>"]
    assert figure.layout.title.text.startswith("delta:gpu, ")
    assert figure.to_json(), "it can be shown"


def test_one_partition_needs_no_menu_and_another_is_refused_by_name():
    assert len(heatmap(past(WEEKS), partition="gpu").layout.updatemenus) == 0
    with pytest.raises(InvalidRequest, match="no partition 'nope' in its past; there are: gpu"):
        heatmap(past(WEEKS), partition="nope")
    with pytest.raises(InvalidRequest, match="none was read yet"):
        heatmap(past())
