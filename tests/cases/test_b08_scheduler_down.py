"""B08: the scheduler is down, the job is fine."""

import pytest

from jupyter_diamond.errors import SchedulerError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM = SlurmScheduler()

ERRORS = [
    'squeue: error: Munge encode failed: Failed to access "/var/run/munge/munge.socket.2": No such file or directory',
    "slurm_load_jobs error: Socket timed out on send/recv operation",
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
]


@pytest.mark.parametrize("error", ERRORS)
def test_a_failed_command_raises_and_gives_no_row(error):
    for parse, name in (
        (SLURM.parse_queue, "queue"),
        (SLURM.parse_accounting, "accounting"),
        (lambda answer: SLURM.parse_probe("x", answer, read_at=from_epoch(0)), "config"),
    ):
        out = f"@@{name} 1 0\n\n@@end 0 0\n".encode()
        with pytest.raises(SchedulerError) as problem:
            parse(Completed(exit=0, stdout=out, stderr=f"@@{name}\n{error}\n".encode()))
        assert problem.value.transient
        assert error in problem.value.evidence
        assert "Your jobs are not affected" in problem.value.message


@pytest.mark.parametrize("error", ERRORS[1:])
def test_an_order_to_cancel_that_nobody_heard_is_an_error(error):
    answer = Completed(
        exit=0,
        stdout=b"@@cancel 1 0\n\n@@end 0 0\n",
        stderr=f"@@cancel\nscancel: error: Kill job error on job id 8: {error}\n".encode(),
    )
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_cancel(answer)
    assert problem.value.transient


@pytest.mark.parametrize(
    "out", [b"", b"@@queue 0 500\nshort", b"garbage", b"@@queue 0 0\n\n", b"@@queue 0 2\nabcd\n@@end 0 0\n"]
)
def test_half_an_answer_is_no_answer(out):
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_queue(Completed(exit=0, stdout=out, stderr=b""))
    assert problem.value.transient


def test_an_answer_that_was_cut_by_the_transport_is_no_answer():
    with pytest.raises(SchedulerError):
        SLURM.parse_queue(Completed(exit=0, stdout=b"@@queue 0 0\n\n@@end 0 0\n", stderr=b"", truncated=True))
