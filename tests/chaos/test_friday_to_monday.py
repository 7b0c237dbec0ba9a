"""Handed in on Friday, looked at on Monday: everything real broke in between, and each task ended or says why.

Three clusters, a sweep as a job array, and single cells. The server is killed again and again, a controller goes down
and comes back, a node goes down under a member that runs, two members run out of memory, one work reaches its time
limit, one cell has an error of its own. Every job appends to a file, so that what ran is not asked of what is judged.
"""

from __future__ import annotations

import random
import time
from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.notebook.timeline import story
from jupyter_diamond.store import Store
from tests.live.slurm.clusters import CLUSTERS

from .servers import servers

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(240)]

MIB = 1 << 20
NOTE = """import os, pathlib, time
def ran(name):
    with open({ran!r} + "/" + name, "a") as file: file.write(os.environ["SLURM_CLUSTER_NAME"] + "\\n")
"""
HUNGRY = """
if index in (1, 2) and not pathlib.Path({fed!r} + str(index)).exists():
    pathlib.Path({fed!r} + str(index)).touch()
    hold = bytearray(700 << 20)
    for i in range(0, len(hold), 4096): hold[i] = 1
    time.sleep(60)
if index == 3 and os.environ["SLURM_CLUSTER_NAME"] == "delta": time.sleep(600)
ran(f"sweep-{{index}}")
"""
LONG = """
from jupyter_diamond import checkpoint
if checkpoint.latest() is None:
    with checkpoint.saving("half") as folder: open(folder + "/x", "w").close()
    ran("long-first"); time.sleep(600)
ran("long-second")
"""


class Weekend:
    """The clusters, the servers that come and go, and what happened."""

    def __init__(self, testbed, them, folder):
        self.testbed, self.them, self.folder, self.rng, self.kills = testbed, them, folder, random.Random(5), 0
        (folder / "ran").mkdir()
        places = {"ran": str(folder / "ran"), "fed": str(folder / "fed")}
        self.note = NOTE.format(**places)
        self.hungry = HUNGRY.format(**places)

    def order(self, name, source, **more):
        size = {"walltime_s": {"min": 600, "max": 600}, "memory_bytes": {"min": 300 * MIB, "max": 300 * MIB}}
        envelope = size | more.pop("envelope", {})
        self.them.order(name=name, source=self.note + source, envelope=envelope, **more)

    def kill(self, moment, after):
        """Kill the server a little after such an event; another one starts."""
        self.them.happens(moment, after, 30.0)
        time.sleep(self.rng.choice((0.0, 0.01, 0.1, 0.5)))
        self.them.kill()
        self.kills += 1
        self.them.start()

    def look(self, read):
        store = Store(self.them.store)
        try:
            return read(store)
        finally:
            store.close()

    def until(self, read, seconds=90.0):
        deadline = time.monotonic() + seconds
        while not (found := self.look(read)):
            assert time.monotonic() < deadline, self.told()
            time.sleep(0.2)
        return found

    def told(self):
        """Every story, as a terminal shows it."""
        now = datetime.now(timezone.utc)

        def read(store):
            tasks = [store.task(row.id) for row in store.tasks(limit=100)]
            tasks += [
                task for group in store.groups.list(None, None, None, 10) for task in store.groups.members(group.id)
            ]
            return {task.name: (task, story(task, store.events(0, 10_000, f"task:{task.id}"), now)) for task in tasks}

        return self.look(read)

    def jobs(self, attempt):
        """The jobs that a site's accounting has of an attempt."""
        name = attempt.array.token if attempt.array else attempt.token
        argv = ("sacct", "-X", "-n", "-P", "-S", "now-1hour", f"--name={name}", "-o", "JobID")
        rows = set(self.testbed.run(attempt.site, *argv).stdout.split())
        return {row for row in rows if not attempt.array or row.endswith(f"_{attempt.array.at}")}


def member(store, index):
    (group,) = store.groups.list("sweep", None, None, 1) or (None,)
    return None if group is None else store.task(f"{group.id}-{index}")


def runs_at(name):
    def read(store):
        task = store.task(name) if isinstance(name, str) else member(store, name)
        return task.attempt if task is not None and task.state is State.RUNNING and task.attempt.native else None

    return read


def friday(weekend):
    """Hand it all in; meanwhile the server is killed."""
    them = weekend.them
    them.start()
    newest = them.newest()
    weekend.order(
        "sweep", weekend.hungry, members=5,
        envelope={
            "sites": ["delta", "anvil"], "objective": "prefer_site",
            "memory_bytes": {"min": 300 * MIB, "max": 2000 * MIB},
        },
    )  # fmt: skip
    weekend.kill("group.created", newest)
    weekend.order("long", LONG, healing={"segments": 3}, envelope={"site": "anvil", "memory_bytes": None})
    weekend.order("wrong", 'ran("wrong")\nraise ValueError("no such column: temperature")', envelope={"site": "delta"})
    weekend.kill("attempt.submitting", them.newest())
    weekend.testbed.kill_controller("vista")
    weekend.order("single", 'ran("single")', envelope={"site": "vista", "memory_bytes": None})


def weekend_happens(weekend):
    """What breaks while nobody looks."""
    testbed, them = weekend.testbed, weekend.them
    long = weekend.until(runs_at("long")).native.id
    weekend.until(lambda _: (weekend.folder / "ran" / "long-first").exists())  # it has saved something by then
    testbed.end_soon("anvil", long)
    on_node = weekend.until(runs_at(3))
    weekend.until(lambda store: all(member(store, index).state.terminal for index in (0, 1, 2, 4)))
    for node in CLUSTERS["delta"].node_names:
        if node != on_node.nodes:
            testbed.run("delta", "scontrol", "update", f"nodename={node}", "state=drain", "reason=weekend")
    newest = them.newest()
    testbed.down_node("delta", on_node.nodes)
    weekend.kill("task.migrate", newest)
    testbed.start_controller("vista")
    weekend.kill("attempt.submitted", them.newest())
    weekend.until(lambda store: store.task("long").attempts[0].state.terminal)
    weekend.kill("task.segment", newest)


def test_what_was_handed_in_on_friday_has_ended_or_is_explained_on_monday(testbed, tmp_path):
    with servers(tmp_path / "user", testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work")) as them:
        weekend = Weekend(testbed, them, tmp_path)
        friday(weekend)
        weekend_happens(weekend)
        them.kill()  # Monday: a fresh server
        them.start()
        weekend.until(
            lambda store: all(group.phase is Phase.ENDED for group in store.groups.list(None, None, None, 10))
        )
        weekend.until(lambda store: not store.tasks(phase="active"))
        told = weekend.told()
    for name, (_, text) in sorted(told.items()):
        print(f"---- {name}\n{text}\n")
    check_states(told)
    check_stories(told)
    check_jobs(weekend, told)


def check_states(told):
    states = {name: task.state for name, (task, _) in told.items()}
    assert states.pop("wrong") is State.FAILED
    assert set(states) == {*(f"sweep[{index}]" for index in range(5)), "long", "single"}
    assert set(states.values()) == {State.COMPLETED}, states
    steps = {name: [(each.step, each.failure) for each in task.attempts] for name, (task, _) in told.items()}
    again = [("first", "oom"), ("resize", None)]
    assert (steps["sweep[1]"], steps["sweep[2]"]) == (again, again)
    assert steps["sweep[3]"] == [("first", "node"), ("migrate", None)]
    assert steps["long"] == [("first", "timeout"), ("segment", None)]
    assert steps["wrong"] == [("first", "app_args")]
    assert [each.site for each in told["sweep[3]"][0].attempts] == ["delta", "anvil"]
    assert {len(steps[name]) for name in ("sweep[0]", "sweep[4]", "single")} == {1}


def check_stories(told):
    """Each names the cause and the step that followed, in words."""
    for name, words in {
        "sweep[1]": ("attempt 1 ran out of memory", "Run again with"),
        "sweep[3]": ("Moved to anvil", "failed under attempt 1"),
        "long": ("reached its time limit", "Segment 2 of 3, from checkpoint half"),
        "wrong": ("no such column: temperature", "another run would end the same way"),
        "single": ("succeeded",),
    }.items():
        for word in words:
            assert word in told[name][1], (word, told[name][1])


def check_jobs(weekend, told):
    """Nothing was handed in twice, and each cell had its effect once."""
    assert weekend.kills >= 4
    for name, (task, text) in told.items():
        for attempt in task.attempts:
            assert weekend.jobs(attempt) == {attempt.native.id}, (name, text)
    effects = {path.name: path.read_text().split() for path in (weekend.folder / "ran").iterdir()}
    assert effects.pop("sweep-3") == ["anvil"]
    assert effects.pop("single") == ["vista"]
    assert {name: len(lines) for name, lines in effects.items()} == {
        "sweep-0": 1, "sweep-1": 1, "sweep-2": 1, "sweep-4": 1, "long-first": 1, "long-second": 1, "wrong": 1,
    }  # fmt: skip
