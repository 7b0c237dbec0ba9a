"""B06: options that this Slurm does not know. We use old ones only, and a status error judges no job."""

import re
from datetime import datetime, timezone

import pytest

from jupyter_diamond.errors import SchedulerError
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM = SlurmScheduler()
SINCE = datetime(2026, 3, 1, tzinfo=timezone.utc)
JOBS = [NativeJob(id="1"), NativeJob(id="2")]


@pytest.mark.parametrize(
    "script",
    [
        SLURM.probe_script(),
        SLURM.queue_script(JOBS),
        SLURM.accounting_script(JOBS, since=SINCE),
        SLURM.lookup_script(["dmd-7f3a91c2"], since=SINCE),
        SLURM.cancel_script(JOBS),
    ],
)
def test_scripts_use_only_options_of_long_ago(script):
    assert set(re.findall(r"(?<= )--[a-z-]+", script)) <= {"--delimiter", "--name"}
    assert "json" not in script


def test_accounting_asks_only_for_fields_of_every_version():
    from jupyter_diamond.parsing.slurm_jobs import ACCOUNTING_FIELDS

    assert not {"Restarts", "FailedNode", "Planned", "Reserved", "StdOut"} & set(ACCOUNTING_FIELDS)


def test_an_unknown_option_is_a_failed_command_not_a_failed_job():
    answer = Completed(
        exit=0,
        stdout=b"@@queue 1 0\n\n@@end 0 0\n",
        stderr=b"@@queue\nsqueue: unrecognized option '--only-job-state'\nTry \"squeue --help\" for more information\n",
    )
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_queue(answer)
    assert problem.value.transient
    assert "squeue: unrecognized option '--only-job-state'" in problem.value.evidence
