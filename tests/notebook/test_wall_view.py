"""What the wall says about a snapshot: unknown is never zero, old is never free, simulated is never mixed in."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.model.snapshot import NO_LIMIT, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.notebook.tables import sites_table
from jupyter_diamond.notebook.wall_text import html, lit, plain, sum_text
from jupyter_diamond.notebook.wall_view import cap_text, patch, wall

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=timezone.utc)


def record(site="delta", name="gpu", **fields):
    known = {
        "state": "up", "shapes": (NodeShape(cpus=64, gpus=4, gpu_model="a100", gpu_memory_bytes=40 << 30, nodes=2),),
        "cpus_total": 128, "cpus_free": 100, "gpus_total": 8, "gpus_free": 5, "pending": 3, "running": 2,
        "mine_pending": 0, "mine_running": 1, "walltime_cap_s": 172_800,
    }  # fmt: skip
    return Record(site=site, partition=name, read_at=NOW, **(known | fields))


def reading(name="delta", *records, age_s=10, **fields):
    known = {
        "health": "online", "cpus_total": 128, "cpus_free": 100, "gpus_total": 8, "gpus_free": 5, "pending": 3,
        "running": 2, "read_at": NOW - timedelta(seconds=age_s),
    }  # fmt: skip
    return SiteReading(site=name, transport="ssh", scheduler="slurm", records=records, **(known | fields))


def seen(*sites):
    return wall(Snapshot(id=1, taken_at=NOW, sites=sites), NOW)


def sums(view):
    return {total["label"]: sum_text(total) for total in view["strip"]["sums"]}


def test_what_is_free_is_added_up():
    assert sums(seen(reading("a"), reading("b"))) == {
        "free GPUs": "10", "free cores": "200", "running": "4", "pending": "6",
    }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {"gpus_free": None},
        {"health": "offline"},
        {"health": "unknown", "read_at": None},
        {"age_s": 601},
    ],
)
def test_a_site_that_is_not_known_is_named_and_not_counted(other):
    view = seen(reading("a"), reading("b", **other))
    assert sums(view)["free GPUs"] == "≥ 5"
    assert view["strip"]["sums"][0]["without"] == ["b"]


def test_nothing_known_is_a_question_mark_and_no_zero():
    view = seen(reading("a", gpus_free=None))
    assert sums(view)["free GPUs"] == "?"
    assert sums(seen(reading("a", gpus_free=0)))["free GPUs"] == "0"


def test_simulated_sites_stand_behind_and_are_never_added_to_real_ones():
    view = seen(reading("demo", simulated=True), reading("real"))
    assert view["order"] == ["real", "demo"]
    assert sums(view)["free GPUs"] == "5"
    assert view["strip"]["simulated"] is False
    alone = seen(reading("demo", simulated=True))
    assert (sums(alone)["free GPUs"], alone["strip"]["simulated"]) == ("5", True)
    assert plain(alone, "12:00").splitlines()[0].endswith("simulated")


def test_gpus_gate_where_there_are_any_else_cores():
    rows = seen(reading("a", record(), record(name="cpu", gpus_total=0, gpus_free=0, shapes=())))["rows"]["a"]
    assert (rows["gpu"]["unit"], rows["gpu"]["free"], rows["gpu"]["busy"]) == ("GPU", 5, 3)
    assert (rows["cpu"]["unit"], rows["cpu"]["free"], rows["cpu"]["busy"]) == ("core", 100, 28)
    unseen = seen(reading("a", record(gpus_total=None, gpus_free=None)))["rows"]["a"]["gpu"]
    assert (unseen["unit"], unseen["free"], unseen["busy"]) == ("GPU", None, None)


@pytest.mark.parametrize(
    ("busy", "total", "segments"),
    [(0, 8, 0), (1, 1000, 1), (4, 8, 4), (999, 1000, 7), (8, 8, 8), (0, 0, 0), (None, 8, None)],
)
def test_a_bar_is_empty_only_when_nothing_is_busy_and_full_only_when_all_is(busy, total, segments):
    assert lit({"busy": busy, "total": total, "open": True}) == segments


def test_a_site_that_fails_says_since_when_and_when_it_is_tried_again():
    since, again = NOW - timedelta(minutes=8), NOW + timedelta(minutes=2)
    dead = reading("a", health="offline", problem="No answer.", failing_since=since, next_try_at=again)
    view = seen(dead)
    assert (view["sites"]["a"]["since"], view["sites"]["a"]["again"]) == (since.timestamp(), again.timestamp())
    local = [moment.astimezone().strftime("%H:%M") for moment in (since, again)]
    said = f"No answer. Since {local[0]}; tried again at {local[1]}."
    assert said in plain(view, "12:00")
    assert said in html(view, "12:00")
    assert sites_table(Snapshot(id=1, taken_at=NOW, sites=(dead,)), NOW).loc["a", "problem"] == said
    overdue = reading("a", health="offline", problem="No answer.", failing_since=since, next_try_at=since)
    assert f"No answer. Since {local[0]}.\n" in plain(seen(overdue), "12:00") + "\n"


def test_hidden_partitions_are_not_shown():
    view = seen(reading("a", record(), record(name="staff", hidden=True)))
    assert (list(view["rows"]["a"]), view["sites"]["a"]["partitions"]) == (["gpu"], ["gpu"])


@pytest.mark.parametrize(
    ("cap", "said"),
    [(172_800, "2 d"), (1800, "30 min"), (3600, "1 h"), (129_600, "1 d 12 h"), (NO_LIMIT, "none"), (None, "?")],
)
def test_limits_are_said_exactly(cap, said):
    assert cap_text(cap) == said


def applied(view, told):
    """As the page does it."""
    rows = {site: dict(kept) for site, kept in view["rows"].items()}
    for site, changed in told.get("rows", {}).items():
        rows[site] = {name: row for name, row in (rows.get(site, {}) | changed).items() if row is not None}
    return {
        "strip": told["strip"], "order": told.get("order", view["order"]),
        "sites": view["sites"] | told.get("sites", {}), "rows": rows,
    }  # fmt: skip


def test_only_what_changed_is_told():
    before = seen(reading("a", record("a"), record("a", "cpu")), reading("b", record("b")))
    after = seen(
        reading("a", record("a", gpus_free=4), record("a", "cpu"), gpus_free=4, age_s=3), reading("b", record("b"))
    )
    told = patch(before, after)
    assert (list(told["sites"]), {site: list(rows) for site, rows in told["rows"].items()}) == (["a"], {"a": ["gpu"]})
    assert "order" not in told
    assert applied(before, told) == after


def test_a_row_that_is_gone_and_a_site_that_is_new_are_told():
    before = seen(reading("a", record("a"), record("a", "old")))
    after = seen(reading("a", record("a")), reading("b", record("b")))
    told = patch(before, after)
    assert told["rows"]["a"] == {"old": None}
    assert applied(before, told) == after


def test_the_clock_alone_is_nothing_to_tell():
    view = seen(reading("a", record("a")))
    later = wall(Snapshot(id=2, taken_at=NOW, sites=(reading("a", record("a")),)), NOW + timedelta(seconds=30))
    assert patch(view, later) is None


def test_a_patch_of_one_row_of_a_large_site_is_small():
    many = [record("a", f"part{n}") for n in range(200)]
    after = [*many[:-1], record("a", "part199", gpus_free=1)]
    told = patch(seen(reading("a", *many)), seen(reading("a", *after)))
    assert "sites" not in told
    assert len(json.dumps(told)) < 2000


def test_what_a_site_says_stays_text():
    evil = '<img src=x onerror="alert(1)">'
    view = seen(reading("a", record("a", name=evil), problem=evil + "\x1b[2J\x07"))
    said = html(view, "12:00")
    assert "<img" not in said
    assert "&lt;img" in said
    assert "\x1b" not in said + plain(view, "12:00")


def test_the_plain_wall_is_one_line_a_partition():
    text = plain(seen(reading("delta", record()), reading("vista", health="offline", problem="No answer.")), "12:00")
    assert text.splitlines() == [
        "≥ 5 free GPUs · ≥ 100 free cores · ≥ 2 running · ≥ 3 pending · as of 12:00",
        "● delta  ssh · slurm  online  10 s",
        "    gpu  ▮▮▮▯▯▯▯▯  5 GPUs  3 pending  1●  limit 2 d",
        "✗ vista  ssh · slurm  does not answer  10 s",
        "    No answer.",
    ]
