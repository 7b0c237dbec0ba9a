"""A task's story in plain words."""

from datetime import datetime, timedelta, timezone

from jupyter_diamond.model.attempt_files import EXIT_CONTINUED
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import State
from jupyter_diamond.notebook.timeline import story
from tests.engine.heal.samples import GIB, T0, attempt, size, task

NOW = T0 + timedelta(hours=2)


def told(*said):
    return [
        Event(seq=at, at=T0 + timedelta(minutes=at), type=kind, subject="task:t1", data=data)
        for at, (kind, data) in enumerate(said, start=1)
    ]


def told_of(*said, attempts=()):
    """The sentences without their times."""
    text = story(task(*attempts), told(*said), NOW)
    return [line.partition("  ")[2] for line in text.partition("\n\n")[2].splitlines()]


def test_attempts_come_first_each_with_its_reason():
    first = attempt(
        1, State.OUT_OF_MEMORY, cause="The job ran out of memory.", ended_at=T0 + timedelta(minutes=5), failure="oom"
    )
    second = attempt(
        2, State.RUNNING, step="resize", size=size(memory_bytes=8 * GIB), started_at=T0 + timedelta(hours=1),
        why="Run again with 8G: attempt 1 ran out of memory at 4G.",
    )  # fmt: skip
    assert story(task(first, second), [], NOW).splitlines() == [
        "attempt 1  delta:cpu  job 812  1 core, 4 GB  out of memory  05:00 of 1:00:00",
        "    The job ran out of memory.",
        "attempt 2  delta:cpu  job 812  1 core, 8 GB  running  1:00:00 of 1:00:00",
        "    Run again with 8G: attempt 1 ran out of memory at 4G.",
    ]


def test_segments_are_counted_and_leaving_off_is_no_failure():
    left = attempt(1, exit_code=EXIT_CONTINUED, cause="It left off, to be continued from its checkpoint.")
    here = attempt(2, State.RUNNING, step="segment", segment=2, why="Segment 2 of 5, from checkpoint step-1: …")
    work = task(left, here, healing=Healing(segments=5))
    ended = ("attempt.terminal", {"state": "failed", "attempt": 1, "followed_by": 2})
    text = story(work, told(ended, ("task.segment", {"why": here.why})), NOW)
    assert text.splitlines()[0].startswith("attempt 1  delta:cpu  job 812  segment 1 of 5  1 core, 4 GB  left off  ")
    assert "job 812  segment 2 of 5" in text.splitlines()[2]
    assert "attempt 1 ended: left off: It left off, to be continued from its checkpoint." in text
    assert "failed" not in text


def test_a_life_with_a_move_reads_as_one():
    gone = attempt(1, State.NODE_FAIL, cause="The node cn01 failed under the job.")
    here = attempt(2, State.COMPLETED, site="anvil", partition="shared")
    assert told_of(
        ("task.created", {"name": "fit"}),
        ("decision.made", {"attempt": 1, "site": "delta", "partition": "cpu"}),
        ("attempt.submitting", {"site": "delta"}),
        ("attempt.submitted", {"job": "812"}),
        ("attempt.state_changed", {"state": "running"}),
        ("attempt.state_changed", {"state": "running"}),
        ("attempt.terminal", {"state": "node_fail", "attempt": 1, "followed_by": 2}),
        ("task.migrate", {"attempt": 2, "why": "Moved to anvil:shared: the node cn01 failed under attempt 1."}),
        ("decision.made", {"attempt": 2, "site": "anvil", "partition": "shared"}),
        ("attempt.submitted", {"job": "99"}),
        ("attempt.result_ready", {}),
        ("attempt.terminal", {"state": "completed", "attempt": 2}),
        attempts=(gone, here),
    ) == [
        "`fit` was asked for",
        "attempt 1 goes to delta:cpu",
        "attempt 1 is job 812 at delta",
        "attempt 1 runs",
        "attempt 1 ended: node failed: The node cn01 failed under the job.",
        "Moved to anvil:shared: the node cn01 failed under attempt 1.",
        "attempt 2 goes to anvil:shared",
        "attempt 2 is job 99 at anvil",
        "the result of attempt 2 is there",
        "attempt 2 ended: succeeded",
    ]


def test_what_a_user_asks_for_is_told():
    assert told_of(
        ("task.held", {"by": "you"}),
        ("task.withdrawal", {"by": "you", "then": "hold", "why": ""}),
        ("task.released", {"by": "you"}),
        ("task.withdrawal", {"by": "diamond", "then": "migrate", "why": "it had waited 2 h at delta:cpu"}),
        ("task.stays", {"why": "It had started at delta before it could be taken back, so it stays there."}),
        ("task.cancel_requested", {"by": "you"}),
        ("task.not_again", {"why": "Your --memory allows no more.", "next": "Give it a range: --memory 4G-16G."}),
    ) == [
        "you held it: nothing of it is submitted",
        "it is taken back from delta: you asked to hold it",
        "you released it",
        "it is taken back from delta: it had waited 2 h at delta:cpu",
        "It had started at delta before it could be taken back, so it stays there.",
        "you asked for its end",
        "Nothing follows. Your --memory allows no more. Give it a range: --memory 4G-16G.",
    ]


def test_events_of_other_rooms_and_of_a_newer_version_are_passed_over():
    assert told_of(("charge.reserved", {"amount": 3}), ("attempt.state_changed", {"state": "pending"})) == []


def test_times_are_on_the_readers_clock_with_their_day_where_it_is_another():
    moment = datetime(2026, 3, 1, 10, 1, tzinfo=timezone.utc).astimezone()
    same = story(task(), told(("task.created", {})), moment)
    later = story(task(), told(("task.created", {})), moment + timedelta(days=2))
    assert same.splitlines()[-1] == f"{moment:%H:%M:%S}  `fit` was asked for"
    assert later.splitlines()[-1] == f"{moment:%-d %b %H:%M:%S}  `fit` was asked for"
