"""How an attempt ended, for every word of the scheduler and every end-file."""

from datetime import timedelta

import pytest

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.jobs import JobRow, NativeJob
from jupyter_diamond.model.manifest import EndFile
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.outcomes import outcome_of

START = from_epoch(1796000000)


def row(state: State, **changes) -> JobRow:
    base = JobRow(
        job=NativeJob(id="7"),
        name="dmd-7f3a91c2",
        state=state,
        raw_state=state.value.upper(),
        exit_code=0,
        nodes="n1",
        started_at=START,
        ended_at=START + timedelta(seconds=60),
        walltime_s=1800,
    )
    return base.model_copy(update=changes)


def end(outcome="OK", by="runner", exit_code=0, why="") -> EndFile:
    return EndFile(format=1, token="dmd-7f3a91c2", by=by, outcome=outcome, exit_code=exit_code, at=0.0, why=why)


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (State.TIMEOUT, "The job was stopped at its time limit of 30 min."),
        (State.OUT_OF_MEMORY, "The job ran out of memory: it had asked for 2G."),
        (State.NODE_FAIL, "The node n1 failed under the job; your code is not to blame."),
        (State.PREEMPTED, "The job was stopped to make room for a more important one."),
        (State.DEADLINE, "The job could not finish before its deadline."),
    ],
)
def test_the_schedulers_word_comes_first(state, cause):
    ending = outcome_of(row(state, exit_code=0, signal=15), None, memory_bytes=2 << 30)
    assert (ending.state, ending.cause) == (state, cause)
    assert ending.next


@pytest.mark.parametrize("state", [State.TIMEOUT, State.CANCELLED, State.NODE_FAIL, State.FAILED])
def test_a_finished_cell_in_a_job_that_ended_badly_is_told(state):
    ending = outcome_of(row(state, exit_code=1), end())
    assert ending.state is state
    assert ending.cause.endswith("The cell itself had finished and its result is there.")


@pytest.mark.parametrize(
    "state", [State.PENDING, State.RUNNING, State.COMPLETING, State.SUSPENDED, State.CONFIGURING, State.UNKNOWN]
)
@pytest.mark.parametrize("end_file", [None, end()])
def test_what_has_not_ended_stays_as_it_is(state, end_file):
    ending = outcome_of(row(state), end_file)
    assert ending.state is state
    assert not ending.state.terminal


def test_a_requeued_job_goes_on():
    assert outcome_of(row(State.PREEMPTED, requeued=True), None).state is State.PENDING


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (files.EXIT_NO_MODULES, "Environment modules"),
        (files.EXIT_NO_PYTHON, "interpreter"),
        (files.EXIT_CLAIMED, "Another job"),
        (files.EXIT_BAD_BUNDLE, "inputs"),
        (files.EXIT_MISSING_IMPORT, "module that the cell imports"),
    ],
)
def test_our_own_exit_codes_have_sentences(code, words):
    assert words in outcome_of(row(State.FAILED, exit_code=code), None).cause
    assert words in outcome_of(row(State.FAILED, exit_code=code), end("FAILED", "runner", code)).cause


def test_the_shells_reason_is_shown_and_the_advice_kept():
    why = "a module of the site profile does not load"
    ending = outcome_of(row(State.FAILED, exit_code=81), end("FAILED", "shell", 81, why))
    assert ending.cause == "A module of the site profile does not load."
    assert "modules.kind" in ending.next


def test_a_log_that_cannot_be_opened_is_explained():
    ending = outcome_of(row(State.FAILED, exit_code=181, signal=53), None)
    assert "could not open its log file" in ending.cause


def test_a_kill_at_full_memory_is_most_likely_memory():
    killed = row(State.FAILED, exit_code=137, signal=9, max_rss_bytes=2000 << 20)
    assert "most likely for want of memory" in outcome_of(killed, None, memory_bytes=2 << 30).cause
    small = killed.model_copy(update={"max_rss_bytes": 100 << 20})
    assert outcome_of(small, None, memory_bytes=2 << 30).cause == "The job failed: it was killed by SIGKILL."


def test_a_cancelled_job_that_never_started_says_so():
    ending = outcome_of(row(State.CANCELLED, started_at=None), None, cancel_requested=True)
    assert ending.cause == "You cancelled it before it started."


def test_every_ending_keeps_its_evidence():
    for state in State:
        evidence = outcome_of(row(state), end("FAILED", "shell", 2, "gone")).evidence
        assert evidence[0].startswith("scheduler: job 7, ")
        assert evidence[-1] == "end-file: FAILED by shell, exit 2, gone"


def test_no_combination_is_a_success_but_the_one():
    for state in State:
        for end_file in (None, end(), end("FAILED", "shell", 1), end("FAILED")):
            for code, signal in ((0, None), (1, None), (143, 15)):
                ending = outcome_of(row(state, exit_code=code, signal=signal), end_file)
                good = state is State.COMPLETED and end_file == end() and (code, signal) == (0, None)
                assert (ending.state is State.COMPLETED) is good
