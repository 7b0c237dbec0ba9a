"""The event log: numbered without gaps, append-only, paged by cursor."""

from __future__ import annotations

import sqlite3

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.store.eventlog import DATA_BYTES
from tests.store.store_samples import at, put_task


def test_events_are_numbered_without_gaps(store):
    for number in range(5):
        store.append_event("site.health_changed", "site:alpha", {"n": number}, at(number), dedup_key=f"k{number // 2}")
    told = store.events(0, 100)
    assert [event.seq for event in told] == [1, 2, 3]
    assert [event.data for event in told] == [{"n": 0}, {"n": 2}, {"n": 4}]
    assert told[0].at == at(0)
    assert store.newest_event() == 3


def test_an_empty_log_is_at_zero(store):
    assert store.newest_event() == 0
    assert store.events(0, 10) == ()


def test_pages_follow_the_cursor(store):
    put_task(store, 1)
    put_task(store, 2)
    seen, cursor = [], 0
    while page := store.events(cursor, 1):
        seen += page
        cursor = page[-1].seq
    assert seen == list(store.events(0, 100))
    assert [event.type for event in seen] == ["task.created", "decision.made"] * 2
    assert store.events(0, 100, "task:t0000002") == tuple(seen[2:])


def test_a_dedup_key_counts_per_subject(store):
    assert store.append_event("site.health_changed", "site:a", {}, at(0), "k") is not None
    assert store.append_event("site.health_changed", "site:a", {}, at(1), "k") is None
    assert store.append_event("site.health_changed", "site:b", {}, at(1), "k") is not None
    assert store.append_event("site.health_changed", "site:a", {}, at(1)) is not None
    assert store.append_event("site.health_changed", "site:a", {}, at(1)) is not None


def test_an_event_is_returned_as_it_is_read(store):
    written = store.append_event("site.health_changed", "site:a", {"text": "é\x00\n", "n": [1.5, None]}, at(1.25), "k")
    assert store.events(0, 10) == (written,)


def test_event_data_has_a_limit(store):
    fits = {"t": "x" * (DATA_BYTES - len('{"t":""}'))}
    assert store.append_event("attempt.trouble", "site:a", fits, at(0)) is not None
    with pytest.raises(InvalidRequest, match="8193 bytes of JSON, more than the 8192"):
        store.append_event("attempt.trouble", "site:a", {"t": fits["t"] + "x"}, at(0))


@pytest.mark.parametrize("data", [{"a": float("nan")}, {"a": object()}, {"a": b"x"}])
def test_event_data_is_json(store, data):
    with pytest.raises(InvalidRequest, match="not plain JSON"):
        store.append_event("attempt.trouble", "site:a", data, at(0))


def test_a_refused_event_undoes_the_change_it_told_of(store):
    before = put_task(store)
    with pytest.raises(InvalidRequest):
        store.update_attempt(
            before.id, 1, at=at(1), type="attempt.trouble", data={"t": "x" * 9000}, changes={"trouble": "x"}
        )
    assert store.task(before.id) == before


@pytest.mark.parametrize("sql", ["UPDATE events SET type = 'x'", "DELETE FROM events"])
def test_nobody_can_rewrite_the_log(store, path, sql):
    put_task(store)
    other = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        other.execute(sql)
    other.close()


def test_a_task_s_version_is_its_newest_event(store):
    put_task(store)
    event = store.append_event("attempt.trouble", "task:t0000001", {}, at(1))
    assert store.task("t0000001").version == event.seq
    store.append_event("snapshot.refreshed", "site:alpha", {}, at(2))
    assert store.task("t0000001").version == event.seq
