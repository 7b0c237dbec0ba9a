"""Two real processes share one store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jupyter_diamond
from jupyter_diamond.store import Store
from tests.store.store_samples import at, put_task

SERVER = Path(__file__).with_name("store_server.py")
TTL_S = 2.0  # long enough for a holder on a busy machine to renew in time


@pytest.fixture
def start(path):
    running = []

    def start_one(name, what, number):
        command = [sys.executable, str(SERVER), str(path), name, what, str(number)]
        env = {**os.environ, "PYTHONPATH": str(Path(jupyter_diamond.__file__).parents[1])}
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        running.append(server)
        assert server.stdout.readline() == b"ready\n"
        return server

    yield start_one
    for server in running:
        server.kill()
        server.communicate()


def until(true, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not (answer := true()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return answer


def steps(store):
    return [event.data for event in store.events(0, 10_000, "site:alpha")]


def test_only_one_server_advances_and_the_other_takes_over_when_it_is_killed(store, start):
    alice = start("alice", "advance", TTL_S)
    until(lambda: steps(store))
    start("bob", "advance", TTL_S)
    known = len(steps(store))
    until(lambda: len(steps(store)) > known + 15)  # longer than one lease
    assert {step["by"] for step in steps(store)} == {"alice"}

    alice.kill()
    killed_at = time.time()
    until(lambda: steps(store)[-1]["by"] == "bob")
    told = [step["by"] for step in steps(store)]
    takeover = told.index("bob")
    assert set(told[takeover:]) == {"bob"}
    last_of_alice, first_of_bob = (step["now"] for step in steps(store)[takeover - 1 : takeover + 1])
    assert first_of_bob - last_of_alice > TTL_S / 2  # not before the lease was over ...
    assert first_of_bob - killed_at < TTL_S + 6.0  # ... and soon after (with room for a busy machine)

    taken = [event for event in store.events(0, 10_000) if event.type == "lease.taken"]
    assert [event.data for event in taken] == [
        {"holder": "alice", "before": None},
        {"holder": "bob", "before": "alice"},
    ]


def test_two_servers_create_tasks_at_once_and_nothing_is_lost(store, start):
    servers = [start(name, "create", 30) for name in ("alice", "bob")]
    for server in servers:
        server.stdin.write(b"x")
        server.stdin.flush()
    for server in servers:
        assert server.wait(60) == 0

    events = store.events(0, 10_000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    lines = store.tasks(limit=1000)
    assert {name: sum(line.name == name for line in lines) for name in ("alice", "bob", "shared")} == {
        "alice": 30,
        "bob": 30,
        "shared": 30,  # asked for by both: one client token, one task
    }
    assert len(events) == 90 * 2 + 60  # created and decided, and a move for each of their own
    for line in lines:
        theirs = [event.seq for event in events if event.subject == f"task:{line.id}"]
        assert line.version == theirs[-1]
        assert len(theirs) == (2 if line.name == "shared" else 3)


def test_what_another_process_wrote_changes_the_data_version(path, store):
    put_task(store, 1)
    mine = store.data_version()
    put_task(store, 2)
    assert store.data_version() == mine
    other = Store(path)
    assert store.data_version() == mine
    put_task(other, 3)
    assert store.data_version() != mine
    assert store.newest_event() == 6
    other.close()


def test_the_lease_is_one_server_s_at_a_time(store):
    assert store.lease() is None
    assert store.take_lease("a", at=1000.0, ttl_s=15.0)
    assert store.lease() == ("a", 1015.0)
    assert not store.take_lease("b", at=1014.9, ttl_s=15.0)
    assert store.take_lease("a", at=1010.0, ttl_s=15.0)
    assert not store.take_lease("b", at=1024.9, ttl_s=15.0)
    assert store.take_lease("b", at=1025.0, ttl_s=15.0)
    assert not store.take_lease("a", at=1026.0, ttl_s=15.0)
    store.release_lease("a")
    assert store.lease() == ("b", 1040.0)
    store.release_lease("b")
    assert store.take_lease("a", at=1027.0, ttl_s=15.0)


def test_a_renewed_lease_is_no_news(store):
    for second in range(5):
        store.take_lease("a", at=1000.0 + second, ttl_s=15.0)
    assert [event.type for event in store.events(0, 10)] == ["lease.taken"]


def test_a_clock_that_was_set_back_does_not_keep_the_lease_for_ever(store):
    assert store.take_lease("gone", at=9000.0, ttl_s=15.0)
    assert not store.take_lease("b", at=8990.0, ttl_s=15.0)  # two hosts' clocks may differ a little
    assert store.take_lease("b", at=5000.0, ttl_s=15.0)


def test_a_second_view_sees_what_the_first_wrote(path, store):
    other = Store(path)
    task = put_task(store)
    other.update_attempt(task.id, 1, at=at(2), type="attempt.submitted", data={}, changes={"state": "pending"})
    assert store.task(task.id) == other.task(task.id)
    other.close()
