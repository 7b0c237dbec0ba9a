"""B01: the job id stands among a site's chatter."""

import pytest

from jupyter_diamond.errors import SubmitOutputUnreadable
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

CHATTER = """\
sbatch: charging project abc123: 500 of 12000 hours left (96% used)
sbatch: no partition given, using default "shared"
"""


def submit(stdout: str, stderr: str = "", rc: int = 0):
    return SlurmScheduler().parse_submit(Completed(exit=rc, stdout=stdout.encode(), stderr=stderr.encode()))


@pytest.mark.parametrize("answer", ["Submitted batch job 7787202\n", "7787202\n", "7787202"])
def test_the_id_is_found_with_chatter_on_either_stream(answer):
    assert submit(CHATTER + answer).id == "7787202"
    assert submit(answer, CHATTER).id == "7787202"


def test_a_bare_id_beats_the_sentence():
    assert submit("Submitted batch job 1\n7787202\n").id == "7787202"


@pytest.mark.parametrize(
    "stdout",
    [
        CHATTER,
        "",
        "7787202\n7787203\n",
        "Submitted batch job 1\nSubmitted batch job 2\n",
        "Submitted batch job\n",
        "job 7787202 queued\n",
        "7787202 \x00\n",
        "-7787202\n",
        "7787202;alpha;beta\n",
    ],
)
def test_none_or_two_candidates_are_unreadable_and_looked_for(stdout):
    with pytest.raises(SubmitOutputUnreadable) as problem:
        submit(stdout, "note to all users\n")
    assert problem.value.transient
    assert "note to all users" in problem.value.evidence
    for line in stdout.splitlines():
        assert line in problem.value.evidence


def test_an_id_on_standard_error_is_no_answer():
    with pytest.raises(SubmitOutputUnreadable):
        submit("", "7787202\n")


def test_an_id_from_a_command_that_failed_is_looked_for():
    with pytest.raises(SubmitOutputUnreadable):
        submit("7787202\n", "", rc=1)
