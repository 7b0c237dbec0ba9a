"""What a consumer is told: bounded whatever a job wrote, with what may be done now."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.engine.news.conditions import Match, due, match
from jupyter_diamond.engine.news.waking import as_data, cut, waking
from jupyter_diamond.model.continuation import (
    AttemptFailed,
    Continuation,
    InState,
    Milestone,
    Overrun,
    Terminal,
    Trouble,
    Waking,
)
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.model.task import Attempt, NotebookCell, Task

T0 = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)


def at(seconds):
    return T0 + timedelta(seconds=seconds)


def attempt(n=1, state=State.PENDING, **fields):
    size = fields.pop("size", Size(memory_bytes=32 << 30, walltime_s=3600))
    return Attempt(
        n=n, token=f"dmd-{n}", site="delta", partition="cpu", size=size, state=state, created_at=T0, state_since=at(50),
        submitted_at=at(1), native=NativeJob(id=f"81{n}"), **fields,
    )  # fmt: skip


def task(*attempts, **fields):
    newest = attempts[-1]
    return Task(
        id="t1", name="fit", language="python", state=newest.state, phase=newest.state.phase,
        outcome=newest.state.outcome, created_at=T0, source="", digest="", envelope=Envelope(), attempts=attempts,
        why_here="It starts soonest.", **fields,
    )  # fmt: skip


def wish(condition, **fields):
    return Continuation(
        id="wish-00000001", subject="task:t1", condition=condition, consumer="monday", created_at=T0,
        expires_at=at(1e6), **fields,
    )  # fmt: skip


def hears(condition, told, *, events=(), now=100.0, **fields):
    return match(wish(condition, **fields), told, events, at(now))


ENDED = attempt(state=State.OUT_OF_MEMORY, started_at=at(10), ended_at=at(40))


def test_an_end_is_the_tasks_not_an_attempts():
    assert hears(Terminal(), task(ENDED)) == Match(1, "out_of_memory", at(40))
    assert hears(Terminal(), task(ENDED, attempt(2))) is None
    assert hears(Terminal(outcomes=(Outcome.OOM,)), task(ENDED)).at == at(40)
    assert hears(Terminal(outcomes=(Outcome.OK,)), task(ENDED)) is None


def test_a_failed_attempt_is_news_though_another_follows():
    assert hears(AttemptFailed(), task(ENDED, attempt(2))) == Match(1, "out_of_memory", at(40))
    assert hears(AttemptFailed(), task(ENDED, attempt(2)), since_attempt=2) is None
    assert hears(AttemptFailed(), task(attempt(state=State.CANCELLED))) is None
    assert hears(AttemptFailed(), task(attempt(state=State.COMPLETED))) is None


def test_a_state_that_was_passed_was_reached():
    running = InState(states=(State.RUNNING,))
    assert hears(running, task(attempt())) is None
    assert hears(running, task(attempt(state=State.RUNNING, started_at=at(10)))) == Match(1, "running", at(10))
    assert hears(running, task(ENDED)) == Match(1, "running", at(10)), "it ran while nobody listened"
    suspended = InState(states=(State.SUSPENDED,))
    event = Event(seq=9, at=at(20), type="attempt.state_changed", subject="task:t1", data={"state": "suspended"})
    assert hears(suspended, task(ENDED)) is None
    assert hears(suspended, task(ENDED), events=[event]) == Match(1, "suspended", at(20))


def test_an_overrun_is_a_matter_of_the_clock():
    long_run, long_wait = Overrun(running_s=60), Overrun(waiting_s=60)
    running, waiting = task(attempt(state=State.RUNNING, started_at=at(10))), task(attempt())
    assert hears(long_run, running, now=69) is None
    assert hears(long_run, running, now=70) == Match(1, "runs_long", at(70))
    assert due(wish(long_run), running) == at(70)
    assert hears(long_wait, waiting, now=60) is None
    assert hears(long_wait, waiting, now=61) == Match(1, "waits_long", at(61))
    assert due(wish(long_wait), waiting) == at(61)
    assert hears(long_wait, running, now=1000) is None, "it had started by then"
    assert due(wish(long_wait), running) is None
    assert hears(long_run, task(ENDED), now=1000) is None, "it had ended by then"
    late = task(attempt(state=State.COMPLETED, started_at=at(10), ended_at=at(99)))
    assert hears(long_run, late, now=1000) == Match(1, "runs_long", at(70)), "nobody was there to hear it"


def test_trouble_is_heard_though_it_has_passed():
    assert hears(Trouble(), task(attempt())) is None
    assert hears(Trouble(), task(attempt(trouble="delta does not answer."))).what == "trouble"
    event = Event(seq=9, at=at(20), type="attempt.trouble", subject="task:t1", data={})
    assert hears(Trouble(), task(attempt()), events=[event]) == Match(1, "trouble", at(20))


NASTY = "\U0001f525" * 250_000  # 1 MB of text, 3 MB as JSON


def test_a_hostile_task_is_told_in_8_kib():
    words = {"cause": NASTY, "next": NASTY, "trouble": NASTY, "why": NASTY, "reason": NASTY}
    hostile = attempt(state=State.FAILED, result_ready=True, ended_at=at(40), **words)
    hostile = hostile.model_copy(update={"site": NASTY, "partition": NASTY, "account": NASTY})
    told = task(hostile, notebook=NotebookCell(path=NASTY))
    wanted = wish(Milestone(pattern="\U0001f525" * 200)).model_copy(update={"consumer": "c" * 100, "id": "i" * 64})
    data = as_data(waking(wanted, told, "fired", Match(1, "milestone", at(40), NASTY)))
    assert len(json.dumps(data)) <= 8192
    news = Waking.model_validate(data)
    assert news.cause.startswith("\U0001f525")
    assert news.cause.endswith("…")
    assert news.line.endswith("…")
    assert {"cause", "line"} <= set(news.untrusted)


@given(st.text(), st.integers(min_value=6, max_value=100))
def test_a_cut_text_fits_and_is_a_beginning(text, most):
    short = cut(text, most)
    assert len(json.dumps(short)) - 2 <= most
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


@pytest.mark.parametrize(("state", "verb", "options"), [
    (State.OUT_OF_MEMORY, "resubmit", {"--memory": "64G"}), (State.TIMEOUT, "resubmit", {"--time": "2h"}),
    (State.FAILED, "resubmit", {}), (State.COMPLETED, "result", {}),
])  # fmt: skip
def test_the_next_actions_fit_the_end(state, verb, options):
    ended = attempt(state=state, result_ready=state is State.COMPLETED, started_at=at(10), ended_at=at(40))
    news = waking(wish(Terminal()), task(ended), "fired", Match(1, state.value, at(40)))
    assert {action.verb: action.options for action in news.actions}[verb] == options
    assert "logs" in {action.verb for action in news.actions}
    assert (news.manifest is not None) == (state is State.COMPLETED)
    assert (news.provenance.site, news.provenance.job, news.provenance.why_here) == (
        "delta",
        "811",
        "It starts soonest.",
    )


def test_the_same_fact_has_the_same_id():
    first, again = (waking(wish(Terminal()), task(ENDED), "fired", Match(1, "oom", at(40))) for _ in range(2))
    other = waking(wish(Terminal()), task(ENDED), "fired", Match(1, "oom", at(41)))
    assert first.id == again.id != other.id
