"""B02: the job id comes with a cluster name, or bare; the cluster is kept for every later command."""

from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM = SlurmScheduler()


@pytest.mark.parametrize(
    ("answer", "cluster"),
    [
        ("Submitted batch job 60071234 on cluster alpha", "alpha"),
        ("60071234;alpha", "alpha"),
        ("60071234", None),
    ],
)
def test_id_and_cluster_are_told_apart(answer, cluster):
    job = SLURM.parse_submit(Completed(exit=0, stdout=f"{answer}\n".encode(), stderr=b""))
    assert (job.id, job.cluster) == ("60071234", cluster)


def test_every_later_command_names_the_cluster():
    jobs = [NativeJob(id="60071234", cluster="alpha"), NativeJob(id="7")]
    since = datetime(2026, 3, 1, tzinfo=timezone.utc)
    assert "squeue -M alpha " in SLURM.queue_script(jobs)
    assert "sacct -M alpha " in SLURM.accounting_script(jobs, since=since)
    assert "scontrol -M alpha " in SLURM.accounting_script(jobs, since=since)
    assert "scancel -M alpha 60071234\n" in SLURM.cancel_script(jobs)
    assert "scancel 7\n" in SLURM.cancel_script(jobs)


def test_rows_keep_the_cluster_that_was_asked():
    row = "5\x1f5\x1f5\x1fRUNNING\x1fcpu\x1f30:00\x1f1796002770\x1f1796002771\x1fN/A\x1fn1\x1fNone\x1fx"
    body = f"@@queue:alpha 0 {len(row)}\n{row}\n@@end 0 0\n"
    reading = SLURM.parse_queue(Completed(exit=0, stdout=body.encode(), stderr=b""))
    assert reading.rows[0].job == NativeJob(id="5", cluster="alpha")
