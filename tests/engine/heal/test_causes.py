"""Each way in which an attempt ends, and the class that it is given: by words that schedulers and programs really said."""

from pathlib import Path

import pytest

from jupyter_diamond.engine.heal.causes import Cause, Ended, cause_of, of_error, refusal, says_nothing
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.jobs import YOU
from jupyter_diamond.model.manifest import CellError, EndFile, Manifest, MissingValue
from jupyter_diamond.model.states import State
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed
from tests.engine.heal.samples import GIB, attempt, size

CAPTURES = Path(__file__).parents[2] / "captures" / "slurm"


def end(outcome="FAILED", exit_code=1, by="runner", why=""):
    return EndFile(format=1, token="dmd-0000000000000001", by=by, outcome=outcome, exit_code=exit_code, at=1.0, why=why)


def manifest(error=None, **fields):
    return Manifest(
        format=1, token="dmd-0000000000000001", outcome="FAILED", error=error, started_at=0.0, ended_at=1.0, **fields
    )


def raised(ename, evalue="", traceback=("line 1",)):
    return CellError(ename=ename, evalue=evalue, traceback=traceback)


def failure(ended, before=None):
    cause = cause_of(before or attempt(), ended)
    return cause.failure if cause is not None else None


@pytest.mark.parametrize(("state", "said"), [
    (State.COMPLETED, None), (State.RUNNING, None), (State.UNKNOWN, None), (State.OUT_OF_MEMORY, "oom"),
    (State.TIMEOUT, "timeout"), (State.NODE_FAIL, "node"), (State.PREEMPTED, "preempt"), (State.DEADLINE, "policy"),
    (State.LOST, "lost"), (State.CANCELLED, "user_cancel"),
])  # fmt: skip
def test_the_schedulers_word_comes_first(state, said):
    assert failure(Ended(state)) == said


def test_every_end_has_a_class():
    for state in State:
        assert (failure(Ended(state)) is None) is (not state.terminal or state is State.COMPLETED)


@pytest.mark.parametrize(("version", "states"), [
    ("22.05", {"TIMEOUT": "timeout", "OUT_OF_MEMORY": "oom"}), ("24.11", {"TIMEOUT": "timeout"}),
])  # fmt: skip
def test_ends_that_real_clusters_told_have_their_class(version, states):
    answer = (CAPTURES / version / "accounting_ends.out").read_bytes()
    rows = SlurmScheduler().parse_accounting(Completed(exit=0, stdout=answer, stderr=b"")).rows
    found = {
        row.raw_state: failure(Ended(row.state, row.exit_code, row.signal, row.max_rss_bytes, row.cancelled_by))
        for row in rows
        if row.state.terminal
    }
    assert found == states


@pytest.mark.parametrize(("error", "said"), [
    (raised("ValueError", "bad"), "app_args"),
    (raised("SystemExit", "3"), "app_args"),
    (raised("RuntimeError", "the oom-kill of my own test"), "app_args"),
    (raised("MemoryError"), "oom"),
    (raised("ArrayMemoryError", "Unable to allocate 74.5 GiB for an array with shape (100000, 100000)"), "oom"),
    (raised("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 39.39 GiB total"), "oom"),
    (raised("RuntimeError", "CUDA error: uncorrectable ECC error encountered"), "node"),
    (raised("RuntimeError", "No CUDA-capable device is detected"), "node"),
    (raised("DistBackendError", "NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system error"), "network_fabric"),
    (raised("OSError", "[Errno 28] No space left on device: '/scratch/x'"), "data"),
    (raised("FileNotFoundError", "[Errno 2] No such file or directory: 'train.csv'"), "data"),
    (raised("PermissionError", "[Errno 13] Permission denied: '/proj/x'"), "data"),
    (raised("OSError", "[Errno 116] Stale file handle"), "node"),
])  # fmt: skip
def test_an_exception_is_the_programs_own_end_unless_its_words_say_otherwise(error, said):
    ended = Ended(State.FAILED, 1, 0, end=end(), manifest=manifest(error))
    assert failure(ended) == of_error(error).failure == said
    assert not says_nothing(ended), "nobody has to read the log"


def test_the_gpus_memory_is_told_from_the_nodes():
    assert of_error(raised("OutOfMemoryError", "CUDA out of memory. Tried to allocate 2 GiB")).of_gpu
    assert not of_error(raised("MemoryError")).of_gpu


@pytest.mark.parametrize(("code", "said"), [
    (files.EXIT_NO_MODULES, "launch"), (files.EXIT_NO_PYTHON, "launch"), (files.EXIT_CLAIMED, "lost"),
    (files.EXIT_BAD_BUNDLE, "launch"), (files.EXIT_MISSING_IMPORT, "launch"), (7, "app_args"),
])  # fmt: skip
def test_our_own_exit_codes_say_that_the_cell_did_not_begin(code, said):
    assert failure(Ended(State.FAILED, code, 0, end=end(exit_code=code, by="shell"))) == said
    assert failure(Ended(State.FAILED, code, 0)) == said, "without an end-file, too"


def test_a_program_that_ends_with_one_of_our_codes_by_itself_is_the_programs_own_end():
    error = raised("SystemExit", "82")
    assert failure(Ended(State.FAILED, 82, 0, end=end(exit_code=82), manifest=manifest(error))) == "app_args"


LOGS = [
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=9.batch. Some of your processes may have been", "oom"),
    ("slurmstepd: error: Exceeded job memory limit at some point.", "oom"),
    ("slurmstepd: error: *** JOB 608 ON n12 CANCELLED AT 2026-08-12T02:06:12 DUE TO TIME LIMIT ***", "timeout"),
    ("slurmstepd: error: *** JOB 609 ON n12 CANCELLED AT 2026-08-12T02:06:12 DUE TO PREEMPTION ***", "preempt"),
    ("srun: error: Node failure on n12", "node"),
    ("torch.cuda.OutOfMemoryError: CUDA out of memory.", "oom"),
    ("[rank3]: ncclRemoteError: A call failed possibly due to a network error", "network_fabric"),
    ("FATAL:   could not open image /proj/x.sif: no such file", "image"),
    ("OSError: [Errno 28] No space left on device", "data"),
    ("bash: /proj/data: Permission denied", "data"),
    ("slurmstepd: error: couldn't chdir to `/home/u': No such file or directory: going to /tmp instead", "data"),
    ("*** this is my program's own text ***", "app_args"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "said"), LOGS, ids=[line[:40] for line, _ in LOGS])
def test_the_log_is_asked_where_a_job_died_without_a_word(line, said):
    ended = Ended(State.FAILED, 137, 0, end=end(exit_code=137, by="shell"), log=f"epoch 1\n{line}\n")
    assert says_nothing(ended)
    cause = cause_of(attempt(), ended)
    assert cause.failure == said
    assert said == "app_args" or line[:60] in cause.evidence[0]


def test_only_the_end_of_a_log_counts():
    old = "slurmstepd: error: Exceeded job memory limit\n" + "x" * 20_000
    assert failure(Ended(State.FAILED, 1, 0, end=end(by="shell"), log=old)) == "app_args"


@pytest.mark.parametrize(("peak", "said"), [(4 * GIB, "oom"), (GIB, "app_args"), (None, "app_args")])
def test_a_kill_is_for_memory_where_nearly_all_of_it_was_in_use(peak, said):
    ended = Ended(State.FAILED, 0, 9, max_rss_bytes=peak)
    assert failure(ended, attempt(size=size(memory_bytes=4 * GIB))) == said


def test_what_ended_from_outside_for_no_reason_that_is_known_counts_as_meant():
    stopped = manifest(raised("Terminated", "terminated by the scheduler", traceback=()))
    assert failure(Ended(State.FAILED, 0, 15, end=end(exit_code=143), manifest=stopped)) == "user_cancel"


def test_a_job_that_left_no_word_at_all_is_lost():
    assert failure(Ended(State.FAILED, 0, 0)) == "lost"


def test_a_job_that_could_not_open_its_log_did_not_begin():
    assert failure(Ended(State.FAILED, 0, 53)) == "launch"


def test_a_value_that_did_not_come_back_is_the_programs_own_end():
    missing = manifest(missing=(MissingValue(name="model", why="the cell ended without a variable 'model'"),))
    cause = cause_of(attempt(), Ended(State.FAILED, 1, 0, end=end(), manifest=missing))
    assert cause == Cause(failure="app_args", evidence=("the cell ended without a variable 'model'",))


@pytest.mark.parametrize(("reason", "said"), [
    ("QOSGrpBillingMinutes", "credit"), ("InvalidAccount", "auth"), ("QOSMaxWallDurationPerJobLimit", "policy"),
    ("BadConstraints", "spec_invalid"), ("launch failed requeued held", "launch"), ("ReqNodeNotAvail", "capacity"),
    ("None", "user_cancel"),
])  # fmt: skip
def test_a_job_that_its_scheduler_ended_while_it_waited_has_the_cause_for_which_it_waited(reason, said):
    waited = attempt(state=State.CANCELLED, reason=reason, started_at=None)
    assert failure(Ended(State.CANCELLED, cancelled_by="0"), waited) == said
    assert failure(Ended(State.CANCELLED, cancelled_by=YOU), waited) == "user_cancel", "unless the user did it"


@pytest.mark.parametrize(("words", "said"), [
    ("Invalid account or account/partition combination specified", "auth"),
    ("Invalid qos specification", "auth"),
    ("Requested node configuration is not available", "capacity"),
    ("QOSMaxSubmitJobPerUserLimit: Job violates accounting/QOS policy (job submit limit, user's size and/or time)",
     "policy"),
    ("The cell's inputs do not fit into /w/attempts/dmd-1 at delta: No space left on device.", "data"),
    ("--mem is not available on vista: nodes are allocated whole", "spec_invalid"),
])  # fmt: skip
def test_a_refusal_has_a_class(words, said):
    assert refusal((words,)).failure == said
    assert failure(Ended(State.REJECTED), attempt(state=State.REJECTED, cause=words)) == said
