"""B04: a submit limit is not an error of the job; what can pass later is told from what never can."""

import pytest

from jupyter_diamond.errors import SubmitRefused
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

POLICY = (
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy "
    "(job submit limit, user's size and/or time limits)"
)
FAILED = "sbatch: error: Batch job submission failed: "


def refusal(*lines: str, rc: int = 1) -> SubmitRefused:
    stderr = "\n".join(lines) + "\n"
    with pytest.raises(SubmitRefused) as problem:
        SlurmScheduler().parse_submit(Completed(exit=rc, stdout=b"", stderr=stderr.encode()))
    return problem.value


@pytest.mark.parametrize(
    ("lines", "permanent", "code"),
    [
        (("sbatch: error: AssocMaxSubmitJobLimit", POLICY), False, "AssocMaxSubmitJobLimit"),
        (("sbatch: error: QOSMaxSubmitJobPerUserLimit", POLICY), False, "QOSMaxSubmitJobPerUserLimit"),
        (("sbatch: error: AssocGrpSubmitJobsLimit", POLICY), False, "AssocGrpSubmitJobsLimit"),
        (("sbatch: error: AssocGrpCPUMinutesLimit", POLICY), False, "AssocGrpCPUMinutesLimit"),
        ((POLICY,), False, "Policy"),
        (("sbatch: error: QOSMaxWallDurationPerJobLimit", POLICY), True, "QOSMaxWallDurationPerJobLimit"),
        (("sbatch: error: QOSMaxCpuPerJobLimit", POLICY), True, "QOSMaxCpuPerJobLimit"),
        (("sbatch: error: QOSMinGRES", POLICY), True, "QOSMinGRES"),
        ((FAILED + "Invalid account or account/partition combination specified",), True, "InvalidAccount"),
        ((FAILED + "Requested time limit is invalid (missing or exceeds some limit)",), True, "TimeLimit"),
        ((FAILED + "Requested node configuration is not available",), True, "NodeConfiguration"),
        (
            ("sbatch: error: invalid partition specified: x", FAILED + "Invalid partition name specified"),
            True,
            "InvalidPartition",
        ),
        ((FAILED + "Invalid qos specification",), True, "InvalidQOS"),
        ((FAILED + "Required partition not available (inactive or drain)",), False, "PartitionClosed"),
        ((FAILED + "Slurm temporarily unable to accept job, sleeping and retrying",), False, "SchedulerFull"),
        ((FAILED + "Node count specification invalid",), True, "NodeConfiguration"),
        ((FAILED + "User's group not permitted to use this partition",), True, "NotAllowed"),
        (("sbatch: fatal: Could not establish a configuration source",), True, "NoConfiguration"),
        ((FAILED + "Something nobody has seen yet",), True, "Refused"),
        (("sbatch: error: Invalid --mem specification",), True, "BadRequest"),
        (("sbatch: unrecognized option '--foo'",), True, "BadRequest"),
    ],
)
def test_refusals_are_classed(lines, permanent, code):
    problem = refusal(*lines)
    assert (problem.permanent, problem.reason_code) == (permanent, code)
    assert problem.transient is not permanent
    assert problem.evidence == lines


def test_a_missing_command_is_said_so():
    assert refusal("sh: 1: sbatch: not found", rc=127).reason_code == "NoSbatch"


def test_the_user_reads_which_limit_and_how_many_of_theirs_are_queued():
    problem = refusal("sbatch: error: QOSMaxSubmitJobPerUserLimit", POLICY, "diamond: queued=12")
    assert problem.message == (
        "You have as many jobs queued there as the site allows (12 of yours are in the queue); it can be sent when one "
        'of them has ended (Slurm says: "QOSMaxSubmitJobPerUserLimit").'
    )


def test_a_sites_own_rule_is_told_in_its_own_words():
    problem = refusal(
        "sbatch: error: --mem is not available on vista: nodes are allocated {whole}", FAILED + "Unspecified error"
    )
    assert problem.permanent
    assert problem.message == (
        "The site's own rules refuse it: --mem is not available on vista: nodes are allocated {whole}."
    )
