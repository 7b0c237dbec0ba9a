"""The simulator that judges placement is right where the answer can be worked out by hand, and a short run prints."""

from __future__ import annotations

import gzip
import subprocess
import sys

import numpy as np
import pytest

from tests.benchmarks.placement import simulator as sim
from tests.benchmarks.placement.logs import generate, read
from tests.benchmarks.placement.sites import build

NOTHING = np.empty((0, 2))


def site(jobs, *, nodes=1, per_node=8, fairshare=0.0, interval=1.0):
    """A site with this log of (submit, run, limit, nodes, units, user)."""
    columns = np.array(jobs, float).reshape(-1, 6).T
    par = np.array([interval, 500, 1 << 30, 1.0, fairshare, 0.0, 6e5, 6e5, nodes * per_node, 4])
    log = sim.Log(*columns[:3].copy(), *columns[3:].astype(np.int64).copy(), par)
    return log, sim.empty(np.full(nodes, per_node), 4)


def starts(jobs, until=1e6, **more):
    log, state = site(jobs, **more)
    record = np.full((len(jobs), 2), np.inf)
    sim.run_until(state, log, until, 0, record)
    return record[:, 0].tolist()


def test_jobs_wait_for_room_and_a_short_one_fills_the_gap():
    jobs = [(0, 100, 100, 1, 6, 0), (1, 50, 50, 1, 8, 1), (2, 80, 90, 1, 2, 2), (3, 80, 200, 1, 2, 3)]
    first, blocked, short, long = starts(jobs)
    assert (first, short) == (0, 2)
    assert blocked == 100
    assert long >= 150  # it would have delayed the reservation


def test_nodes_are_packed_not_added_up():
    jobs = [(0, 100, 100, 1, 5, 0), (0, 300, 300, 1, 5, 0), (1, 10, 10, 1, 6, 1)]
    assert starts(jobs, nodes=2)[2] == 100


def test_fair_share_serves_who_has_used_less():
    jobs = [(0, 100, 100, 1, 8, 0), (1, 50, 50, 1, 8, 0), (2, 50, 50, 1, 8, 1)]
    assert starts(jobs) == [0, 100, 150]
    busy = [(0, 300, 300, 1, 8, 0), (400, 900, 900, 1, 8, 2), (401, 50, 50, 1, 8, 0), (402, 50, 50, 1, 8, 1)]
    assert starts(busy, fairshare=5.0)[2:] == [1350, 1300]


def test_a_copy_goes_its_own_way_and_ours_can_be_withdrawn():
    log, state = site([(0, 100, 100, 1, 8, 0), (50, 100, 100, 1, 8, 0)])
    sim.run_until(state, log, 10, 0, NOTHING)
    other = sim.copy(state)
    sim.submit(other, log, 20.0, 30.0, 1, 8, 0.5)
    sim.run_until(other, log, 1e6, 1, NOTHING)
    assert other.f[sim.STARTED] == 100
    assert state.f[sim.NOW] == 10
    sim.submit(state, log, 20.0, 30.0, 1, 8, 0.5)
    assert sim.withdraw(state)
    assert not sim.withdraw(state)


def test_logs_are_read_by_their_names(tmp_path):
    swf = tmp_path / "site.swf.gz"
    line = " ".join(map(str, [1, 10, 5, 60, 4, -1, -1, 4, 120, -1, 1, 7, -1, -1, -1, -1, -1, -1]))
    swf.write_bytes(gzip.compress(f"; a comment\n{line}\n".encode()))
    (row,) = read(swf).to_dict("records")
    assert row == {"submit": 10.0, "run": 60.0, "limit": 120.0, "nodes": 4, "units": 1, "user": 7}
    table = tmp_path / "t.csv"
    table.write_text("submit,run,limit,m,c,user\n5,60,120,2,8,1\n")
    assert read(table).to_dict("records")[0]["units"] == 8


@pytest.mark.parametrize("gpus", [False, True])
def test_generated_logs_fit_their_machine_and_differ_by_seed(gpus):
    tables = [generate(seed, days=4, capacity=64, load=0.7, per_node=8, gpus=gpus) for seed in (1, 2, 1)]
    assert tables[0].equals(tables[2])
    assert not tables[0].equals(tables[1])
    there = build(
        "s", tables[0], kind="gpus" if gpus else "cores", per_node=8, load=0.7, days=4, fairshare=0, size=0,
        interval=30, depth=500, speed=1.0, prepare_s=10,
    )  # fmt: skip
    assert there.log.units.max() <= 8
    assert 0.4 < there.load <= 0.75


def test_a_short_run_prints_every_policy_and_gate():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks.placement", "--rounds", "12", "--seed", "3"],
        capture_output=True, text=True, timeout=170, check=True,
    )  # fmt: skip
    assert "moving" in done.stdout
    assert "one live submission, m24" in done.stdout
    assert "joint sizing" in done.stdout
