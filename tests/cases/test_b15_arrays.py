"""B15: job arrays. A folded row is many jobs, and an ellipsis is more than is shown."""

import pytest

from jupyter_diamond.errors import ParseError
from jupyter_diamond.parsing import jobids


@pytest.mark.parametrize(
    ("text", "job", "indices", "throttle", "more"),
    [
        ("1234", "1234", (), None, False),
        ("1234_3", "1234", (3,), None, False),
        ("1234_[4-10%2]", "1234", (4, 5, 6, 7, 8, 9, 10), 2, False),
        ("1234_[1-9:2%3]", "1234", (1, 3, 5, 7, 9), 3, False),
        ("1234_[1,3-5,9...]", "1234", (1, 3, 4, 5, 9), None, True),
        ("1234_[1,3-5,...%2]", "1234", (1, 3, 4, 5), 2, True),
        ("1234_[1%1]", "1234", (1,), 1, False),
        ("56502501_[1%1]", "56502501", (1,), 1, False),
    ],
)
def test_ids_of_slurm_arrays(text, job, indices, throttle, more):
    found = jobids.parse(text)
    assert (found.job, found.indices, found.throttle, found.more) == (job, indices, throttle, more)


def test_a_task_is_tied_to_its_array_by_its_fields():
    found = jobids.parse_fields("JobId=1240 ArrayJobId=1234 ArrayTaskId=6")
    assert (found.job, found.indices) == ("1234", (6,))


def test_parts_of_heterogeneous_jobs():
    assert jobids.parse("12+1").component == 1


def test_ids_of_pbs_arrays():
    assert jobids.parse("1234[].pbs01").whole_array
    assert jobids.parse("1234[7].pbs01").indices == (7,)


@pytest.mark.parametrize("text", ["", "JOBID", "12_", "12_[a]", "12_[5-1]", "12_[1-2%x]", "1234 5", "12_[]"])
def test_other_text_is_an_error(text):
    with pytest.raises(ParseError):
        jobids.parse(text)


def test_an_array_is_over_only_when_all_asked_for_tasks_are():
    assert not jobids.array_ended(3, {1, 2})
    assert jobids.array_ended(3, {1, 2, 3})
