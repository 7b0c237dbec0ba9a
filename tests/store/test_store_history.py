"""The past of every partition: rolled up, bounded, and unknown is never zero."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta, timezone

import pytest
from alembic import command
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text

from jupyter_diamond.model.snapshot import NodeShape, Record, SiteReading
from jupyter_diamond.store import Store
from jupyter_diamond.store import history as past
from jupyter_diamond.store.migrate import migrations
from tests.store.store_samples import put_task

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=timezone.utc)
GPUS = (NodeShape(gpus=4, nodes=2),)


def reading(at=T0, site="delta", *, free=5, pending=3, partitions=("gpu",), **fields):
    records = tuple(
        Record(
            site=site, partition=name, read_at=at, shapes=GPUS, gpus_total=8, gpus_free=free, pending=pending,
            running=2, mine_pending=0, mine_running=1,
        )
        for name in partitions
    )  # fmt: skip
    return SiteReading(
        site=site, transport="ssh", scheduler="slurm", health="online", read_at=at, records=fields.pop("records", records),
        **fields,
    )  # fmt: skip


def rows(store, *, span):
    with store._database.read() as connection:
        return connection.execute(text("SELECT COUNT(*) FROM history WHERE span_s = :span"), {"span": span}).scalar()


def hours_of(store, hours, now, site="delta"):
    return store.history(site, now - timedelta(hours=hours), now)


def test_what_was_read_comes_back_as_it_was(store):
    store.put_reading(reading())
    store.put_reading(reading(T0 + timedelta(minutes=1), free=0, pending=None))
    answer = hours_of(store, 1, T0 + timedelta(minutes=2))
    (series,) = answer.series
    assert (answer.span_s, series.partition, series.unit) == (0, "gpu", "GPU")
    assert series.at == (T0, T0 + timedelta(minutes=1))
    assert (series.free, series.total, series.pending) == ((5, 0), (8, 8), (3, None))
    assert (series.running, series.mine_running, series.mine_pending) == ((2, 2), (1, 1), (0, 0))


def test_the_same_reading_twice_is_kept_once(store):
    store.put_reading(reading())
    store.put_reading(reading())
    assert rows(store, span=0) == 1


def test_partitions_without_gpus_are_told_in_cores_and_hidden_or_unknown_ones_not_at_all(store):
    cpu = Record(site="delta", partition="cpu", read_at=T0, cpus_total=128, cpus_free=100, gpus_total=0, pending=1)
    staff = cpu.model_copy(update={"partition": "staff", "hidden": True})
    lane = Record(site="delta", partition="lane", read_at=T0)
    store.put_reading(reading(records=(cpu, staff, lane)))
    (series,) = hours_of(store, 1, T0).series
    assert (series.partition, series.unit, series.free, series.total) == ("cpu", "CPU", (100,), (128,))


@pytest.mark.parametrize("fields", [{"simulated": True}, {"read_at": None}])
def test_simulated_and_unread_sites_have_no_past(store, fields):
    store.put_reading(reading().model_copy(update=fields))
    assert rows(store, span=0) == 0


def follow(store, minutes, *, free=lambda minute: minute % 10, pending=lambda _: 3, start=T0, **fields):
    for minute in range(minutes):
        at = start + timedelta(minutes=minute)
        store.put_reading(reading(at, free=free(minute), pending=pending(minute), **fields))
    return start + timedelta(minutes=minutes)


def test_minutes_become_means_of_ten_and_of_an_hour(store):
    now = follow(store, 25 * 60)
    store.put_reading(reading(now, free=0))
    two_weeks = hours_of(store, 13 * 24, now)
    (series,) = two_weeks.series
    assert two_weeks.span_s == 600
    assert set(series.free[:-1]) == {4.5}
    assert set(series.readings[:-1]) == {10}
    assert (series.at[0], series.at[-1], series.free[-1]) == (T0, now, 0), "it reaches up to the newest reading"
    half_a_year = hours_of(store, 100 * 24, now)
    assert (half_a_year.span_s, set(half_a_year.series[0].free[:-1])) == (3600, {4.5})
    assert half_a_year.series[0].readings[:-1] == (60,) * 25


def test_a_mean_is_over_what_was_known_and_nothing_known_is_unknown(store):
    now = follow(
        store, 24, free=lambda minute: None if minute % 2 or minute >= 10 else minute, pending=lambda _: None
    )  # fmt: skip
    (series,) = hours_of(store, 48, now).series
    assert series.free == (4.0, None, None)
    assert series.pending == (None, None, None)
    assert series.running == (2, 2, 2)


def test_the_past_is_bounded(store):
    """Three levels, each with its end: half a year in a few readings a day keeps what each level may keep."""
    start = T0
    for hour in range(200 * 24):
        if hour % 6 == 0:
            store.put_reading(reading(start + timedelta(hours=hour)))
    now = start + timedelta(days=200)
    store.put_reading(reading(now))
    assert rows(store, span=0) <= 24 / 6 + 2
    assert rows(store, span=600) <= 14 * 24 / 6 + 2
    assert 179 * 24 / 6 <= rows(store, span=3600) <= 180 * 24 / 6 + 2
    series = hours_of(store, past.LONGEST_HOURS, now).series[0]
    assert series.at[0] >= now - timedelta(days=181)
    store.put_reading(reading(now + timedelta(days=400), site="other"))
    assert [rows(store, span=level.span_s) for level in past.LEVELS] == [1, 0, 0]
    with store._database.read() as connection:
        assert connection.execute(text("SELECT site FROM series")).scalars().all() == ["other"], "a site that is gone"


def test_readings_from_before_a_pause_are_rolled_up_when_it_ends(path):
    first = Store(path)
    now = follow(first, 15)
    first.close()
    later = Store(path)
    later.put_reading(reading(now + timedelta(days=3), free=1))
    (series,) = hours_of(later, 5 * 24, now + timedelta(days=3)).series
    assert (series.free[:2], series.readings[:2]) == ((4.5, 2.0), (10, 5))
    assert rows(later, span=0) == 1
    later.close()


def test_a_site_that_is_written_a_little_late_loses_nothing(store):
    """Ten o'clock comes, another site's reading rolls up, and only then is one of 9:59 written."""
    edge = T0 + timedelta(minutes=10)
    follow(store, 9, free=lambda _: 4)
    store.put_reading(reading(edge + timedelta(seconds=1), site="anvil"))
    store.put_reading(reading(edge - timedelta(seconds=1), free=4))
    follow(store, 15, start=edge, free=lambda _: 4)
    assert hours_of(store, 48, edge + timedelta(minutes=15)).series[0].readings[0] == 10


def test_a_partition_that_changes_what_gates_it_is_two_series(store):
    store.put_reading(reading())
    blind = Record(site="delta", partition="gpu", read_at=T0, cpus_total=128, cpus_free=7, gpus_total=0, pending=1)
    store.put_reading(reading(T0 + timedelta(minutes=1), records=(blind,)))
    assert [(each.unit, each.free) for each in hours_of(store, 1, T0 + timedelta(minutes=2)).series] == [
        ("CPU", (7,)), ("GPU", (5,)),
    ]  # fmt: skip


numbers = st.lists(st.one_of(st.none(), st.integers(0, 10_000)), min_size=1, max_size=10)


@settings(max_examples=25, deadline=None)
@given(numbers)
def test_means_are_the_means(tmp_path_factory, known):
    store = Store(tmp_path_factory.mktemp("s") / "diamond" / "store.sqlite")
    for minute, free in enumerate(known):
        store.put_reading(reading(T0 + timedelta(minutes=minute), free=free))
    store.put_reading(reading(T0 + timedelta(minutes=20)))
    (series,) = hours_of(store, 48, T0 + timedelta(minutes=20)).series
    told = [each for each in known if each is not None]
    assert series.readings[0] == len(known)
    assert series.free[0] == (pytest.approx(sum(told) / len(told)) if told else None)
    store.close()


def test_a_store_of_the_first_form_keeps_its_tasks_and_gets_a_past(path):
    path.parent.mkdir(mode=0o700)
    config = migrations()
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    raw = sqlite3.connect(path)
    raw.execute("INSERT INTO events (at, type, subject, data) VALUES (1, 'lease.taken', 'server:x', '{}')")
    raw.commit()
    raw.close()
    path.chmod(0o600)
    store = Store(path)
    assert store.newest_event() == 1
    put_task(store)
    store.put_reading(reading())
    assert hours_of(store, 1, T0).series[0].free == (5,)
    store.close()
