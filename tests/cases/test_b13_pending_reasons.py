"""B13: pending for ever must not look like a normal wait."""

import pytest

from jupyter_diamond.model.states import ReasonClass
from jupyter_diamond.parsing import slurm_jobs, states

US = "\x1f"


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("Priority", ReasonClass.WILL_RUN),
        ("(Resources)", ReasonClass.WILL_RUN),
        ("BeginTime", ReasonClass.WILL_RUN),
        ("ReqNodeNotAvail, UnavailableNodes:n[001-004]", ReasonClass.WILL_RUN),
        ("ReqNodeNotAvail, Reserved for maintenance", ReasonClass.WILL_RUN),
        ("JobHeldUser", ReasonClass.WAITS_ON_YOU),
        ("JobHeldAdmin", ReasonClass.WAITS_ON_YOU),
        ("launch failed requeued held", ReasonClass.WAITS_ON_YOU),
        ("AssocGrpCpuLimit", ReasonClass.WAITS_ON_YOU),
        ("AssocGrpBillingMinutes", ReasonClass.WAITS_ON_YOU),
        ("QOSMaxJobsPerUserLimit", ReasonClass.WAITS_ON_YOU),
        ("QOSMaxGRESPerUser", ReasonClass.WAITS_ON_YOU),
        ("QOSGrpNodeLimit", ReasonClass.WAITS_ON_YOU),
        ("DependencyNeverSatisfied", ReasonClass.NEVER),
        ("BadConstraints", ReasonClass.NEVER),
        ("PartitionTimeLimit", ReasonClass.NEVER),
        ("AccountNotAllowed", ReasonClass.NEVER),
        ("QOSMaxWallDurationPerJobLimit", ReasonClass.NEVER),
        ("SomethingNew", ReasonClass.UNKNOWN),
    ],
)
def test_the_class_of_a_reason(reason, meaning):
    assert states.reason_class(reason) is meaning


@pytest.mark.parametrize("reason", ["", "None", "()"])
def test_no_reason_has_no_class(reason):
    assert states.reason_class(reason) is None


def test_a_row_carries_reason_and_class():
    line = US.join(
        [
            "1234",
            "1234",
            "1234",
            "PENDING",
            "cpu",
            "30:00",
            "1796002770",
            "N/A",
            "N/A",
            "",
            "DependencyNeverSatisfied",
            "x",
        ]
    )
    row = slurm_jobs.queue_row(line)
    assert (row.reason, row.reason_class) == ("DependencyNeverSatisfied", ReasonClass.NEVER)
