"""B11: exit code 0:15 and its family. Success needs the scheduler's word and our own end-file."""

import pytest

from jupyter_diamond.model.manifest import EndFile
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.parsing import slurm_jobs
from jupyter_diamond.parsing.outcomes import outcome_of

START = 1796000000
OK = EndFile(format=1, token="dmd-7f3a91c2", by="runner", outcome="OK", exit_code=0, at=START + 5.0)


def rows(*lines: str, elapsed: int = 60, limit_minutes: int = 30):
    """``JobID|State|ExitCode`` as accounting rows."""
    full = []
    for line in lines:
        job, state, code = line.split("|")
        values = {
            "JobIDRaw": job, "JobID": job, "State": state, "ExitCode": code, "Submit": str(START), "Start": str(START),
            "End": str(START + elapsed), "TimelimitRaw": "" if "." in job else str(limit_minutes), "MaxRSS": "",
            "Partition": "cpu", "NodeList": "n1", "Reason": "None", "AllocTRES": "",
            "JobName": "dmd-7f3a91c2",
        }  # fmt: skip
        full.append("\x1f".join(values[field] for field in slurm_jobs.ACCOUNTING_FIELDS))
    found, unreadable = slurm_jobs.accounting_rows(full, uid="1000")
    assert unreadable == []
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("lines", "end", "outcome"),
    [
        (("10|COMPLETED|0:0",), OK, Outcome.OK),
        (("10|COMPLETED|0:0",), None, Outcome.FAILED),
        (("11|FAILED|0:15",), None, Outcome.FAILED),
        (("12|CANCELLED by 5001|0:9",), None, Outcome.CANCELLED),
        (("13|OUT_OF_MEMORY|0:125",), None, Outcome.OOM),
        (("14|COMPLETED|0:0", "14.0|CANCELLED|0:10"), OK, Outcome.FAILED),
        (("15|FAILED|1:0",), None, Outcome.FAILED),
    ],
)
def test_the_table_of_outcomes(lines, end, outcome):
    assert outcome_of(rows(*lines), end).state.outcome is outcome


def test_completed_without_an_end_file_is_told_as_a_disagreement():
    ending = outcome_of(rows("10|COMPLETED|0:0"), None)
    assert "calls the job completed, but the job left no end-file" in ending.cause
    assert ending.evidence == ("scheduler: job 10, COMPLETED, exit 0, signal None", "end-file: none")


def test_completed_with_a_failed_end_file_is_failed():
    end = OK.model_copy(update={"outcome": "FAILED", "exit_code": 1, "why": "ValueError: no such thing"})
    ending = outcome_of(rows("10|COMPLETED|0:0"), end)
    assert ending.state is State.FAILED
    assert ending.cause == "ValueError: no such thing."


def test_a_sigterm_is_a_timeout_only_near_the_limit():
    near = outcome_of(rows("11|FAILED|0:15", elapsed=30 * 60 - 29), None)
    assert near.state is State.TIMEOUT
    assert near.cause == "The job was stopped at its time limit of 30 min."
    far = outcome_of(rows("11|FAILED|0:15", elapsed=30 * 60 - 31), None)
    assert far.state is State.FAILED
    assert "SIGTERM" in far.cause


def test_a_signal_is_part_of_the_exit_code():
    row = rows("11|FAILED|0:15")
    assert (row.exit_code, row.signal) == (143, 15)
    assert (rows("15|FAILED|1:0").exit_code, rows("15|FAILED|1:0").signal) == (1, None)


def test_who_cancelled_is_told():
    by_other = outcome_of(rows("12|CANCELLED by 5001|0:9"), None)
    assert by_other.cause == "It was cancelled by user 5001, not by you."
    by_me = outcome_of(rows("12|CANCELLED by 1000|0:9"), None, cancel_requested=True)
    assert by_me.cause == "You cancelled it."
    by_root = outcome_of(rows("12|CANCELLED by 0|0:0"), None, cancel_requested=True)
    assert by_root.cause == "It was cancelled by an administrator (root), not by you."


def test_a_step_that_its_job_hides_is_named():
    row = rows("14|COMPLETED|0:0", "14.batch|COMPLETED|0:0", "14.0|CANCELLED|0:10")
    assert row.step_trouble == "step 14.0 ended CANCELLED 0:10"
    assert "step 14.0 ended CANCELLED 0:10" in outcome_of(row, OK).cause


def test_a_step_killed_for_memory_makes_the_job_so():
    row = rows("14|COMPLETED|0:0", "14.0|OUT_OF_MEMORY|0:125")
    assert outcome_of(row, OK).state is State.OUT_OF_MEMORY


@pytest.mark.parametrize("code", ["0:oops", "zero:0", "0", "0:0:0", ":", "-1:0"])
def test_a_malformed_exit_code_is_unreadable_not_zero(code):
    row = rows(f"16|COMPLETED|{code}")
    assert row.exit_unreadable
    assert row.exit_code is None
    ending = outcome_of(row, OK)
    assert ending.state is State.UNKNOWN
    assert not ending.state.terminal
    assert "cannot be read" in ending.cause


def test_completed_with_a_code_is_failed():
    ending = outcome_of(rows("17|COMPLETED|3:0"), OK)
    assert ending.state is State.FAILED
    assert "it ended with exit code 3" in ending.cause
