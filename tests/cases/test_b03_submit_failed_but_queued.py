"""B03: the submission "failed", but the job is in the queue: it is looked for by its token, never called failed."""

import os
import stat
import subprocess
from datetime import datetime, timezone

import pytest

from jupyter_diamond.errors import SchedulerError, SubmitRefused
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.states import State
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM = SlurmScheduler()
TOKEN = "dmd-7f3a91c2"
REQUEST = JobRequest(token=TOKEN, name="fit", folder="/x", size=Size(walltime_s=60), command=("true",))
SINCE = datetime(2026, 3, 1, tzinfo=timezone.utc)

# a scheduler that takes the job and then loses its voice
SBATCH = """#!/bin/sh
grep -h -o 'job-name=.*' job.sh | cut -d= -f2 >> "$QUEUE"
echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2
exit 1
"""
SQUEUE = """#!/bin/sh
for a in "$@"; do case $prev in -n) names=",$a,";; esac; prev=$a; done
while read -r name; do
  case $names in *,$name,*) printf '3310343\\0373310343\\0373310343\\037PENDING\\037cpu\\03730:00\\0371796002770' ;
    printf '\\037N/A\\037N/A\\037\\037Priority\\037%s\\n' "$name" ;; esac
done < "$QUEUE"
"""
SACCT = "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2; exit 1\n"


@pytest.fixture
def site(tmp_path):
    """A folder with the commands of a site, and a way to run our scripts there."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("sacct", SACCT)):
        (bin_folder / name).write_text(text)
        (bin_folder / name).chmod(stat.S_IRWXU)
    queue = tmp_path / "queue"
    queue.touch()
    (tmp_path / "job.sh").write_text(f"#!/bin/bash\n#SBATCH --job-name={TOKEN}\n")

    def run(script: str) -> Completed:
        env = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "QUEUE": str(queue)}
        done = subprocess.run(
            ["/bin/sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, timeout=30, check=False
        )
        return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)

    run.queue = queue
    return run


def test_a_lost_answer_is_not_a_refusal_and_the_job_is_found_by_its_token(site):
    answer = site(SLURM.submit_command(REQUEST))
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_submit(answer)
    assert not isinstance(problem.value, SubmitRefused)
    assert problem.value.transient
    assert "may be queued" in problem.value.message
    found = SLURM.parse_lookup(site(SLURM.lookup_script([TOKEN], since=SINCE)))
    assert [(row.name, row.job.id, row.state) for row in found.rows] == [(TOKEN, "3310343", State.PENDING)]
    assert site.queue.read_text().split() == [TOKEN]


def test_a_token_that_is_not_there_is_surely_not_there_when_every_source_answered(site):
    found = SLURM.parse_lookup(site(SLURM.lookup_script(["dmd-00000000"], since=SINCE)))
    assert found.rows == ()
    assert found.complete
    assert "Accounting is off" in found.notes[0]


@pytest.mark.parametrize(
    ("queue_rc", "accounting_rc", "error", "complete"),
    [
        (0, 0, "", True),
        (1, 0, "Unable to contact slurm controller (connect failure)", False),
        (0, 1, "Connection refused", False),
        (0, 1, "Slurm accounting storage is disabled", True),
    ],
)
def test_complete_only_when_nothing_that_could_know_was_silent(queue_rc, accounting_rc, error, complete):
    out = f"@@me 0 0\n\n@@queue {queue_rc} 0\n\n@@accounting {accounting_rc} 0\n\n@@end 0 0\n"
    which = "queue" if queue_rc else "accounting"
    answer = Completed(exit=0, stdout=out.encode(), stderr=f"@@{which}\n{error}\n".encode())
    assert SLURM.parse_lookup(answer).complete is complete


def test_no_source_at_all_is_an_error_that_may_pass():
    out = b"@@me 0 0\n\n@@queue 1 0\n\n@@accounting 1 0\n\n@@end 0 0\n"
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_lookup(Completed(exit=0, stdout=out, stderr=b""))
    assert problem.value.transient


@pytest.mark.parametrize(
    "error",
    [
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
        "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
        "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
        "sbatch: error: Batch job submission failed: Protocol authentication error",
        "Connection to login1 closed by remote host.",
        "",
    ],
)
def test_answers_that_settle_nothing_are_never_refusals(error):
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_submit(Completed(exit=1, stdout=b"", stderr=f"{error}\n".encode()))
    assert not isinstance(problem.value, SubmitRefused)
    assert problem.value.transient


def test_a_command_that_was_stopped_by_its_time_limit_may_have_queued_the_job():
    with pytest.raises(SchedulerError) as problem:
        SLURM.parse_submit(Completed(exit=124, stdout=b"", stderr=b"sbatch: error: slow\n"))
    assert not isinstance(problem.value, SubmitRefused)
