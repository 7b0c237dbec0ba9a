"""Job arrays in Slurm's words: what is asked for, what each member does, and what is said of many at once."""

import json
import re
import subprocess
from datetime import datetime, timezone

import pytest

from jupyter_diamond.engine.reconcile import Rows, row_of
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobArray, JobRequest, NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import ArrayPlace
from jupyter_diamond.parsing.jobids import parse, ranges
from jupyter_diamond.parsing.slurm_jobs import accounting_rows, queue_row, shown_job
from jupyter_diamond.schedulers.base import Arrays
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from tests.store.store_samples import an_attempt

SLURM = SlurmScheduler()
TOKEN = "dmd-7f3a91c2"
SINCE = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
US = "\x1f"


def request(folder="/home/ada/diamond/attempts/dmd-7f3a91c2", **array):
    return JobRequest(
        token=TOKEN, name="fit", folder=str(folder), size=Size(walltime_s=60), command=("/bin/sh", "runner.py", "--x", "y"),
        array=JobArray(**{"ats": (0, 1, 2, 7), "own": (("--token", TOKEN), ("--checkpoints", "/c/" + TOKEN))} | array),
    )  # fmt: skip


def member(at):
    return an_attempt(f"{TOKEN}-{at}").model_copy(
        update={"array": ArrayPlace(token=TOKEN, at=at), "native": NativeJob(id=f"812_{at}")}
    )


def test_an_array_is_asked_for_in_one_line():
    script = SLURM.job_script(request(at_once=2))
    assert "#SBATCH --array=0-2,7%2\n" in script
    assert "#SBATCH --output=%a.out\n" in script
    assert f"#SBATCH --job-name={TOKEN}\n" in script
    assert "#SBATCH --array=0-999\n" in SLURM.job_script(request(ats=tuple(range(1000))))


@pytest.mark.parametrize("numbers", [(0,), (3, 1, 2), (0, 2, 4), (1, 2, 3, 9, 10, 500), tuple(range(1000))])
def test_ranges_are_read_as_they_are_written(numbers):
    assert parse(f"812_[{ranges(numbers)}]").indices == tuple(sorted(numbers))


def test_a_member_runs_in_its_own_folder_with_what_is_its_own_and_what_all_share(tmp_path):
    for name in ("bundle.tar", "key"):
        (tmp_path / name).write_text("shared")
    (tmp_path / "members").write_text("0 100\n7 170\n")
    (tmp_path / "runner.py").write_text('printf "%s\\n" "$@" >said; cat bundle.tar key >>said\n')
    (tmp_path / "7.out").write_text("live")
    env = {"PATH": "/usr/bin:/bin", "SLURM_ARRAY_JOB_ID": "812", "SLURM_ARRAY_TASK_ID": "7", "SLURM_JOB_ID": "819"}
    done = subprocess.run(
        ["bash", "-c", SLURM.job_script(request(tmp_path))], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "7" / "said").read_text().split("\n")
    assert said[:-1] == [
        "--x", "y", "--token", f"{TOKEN}-7", "--checkpoints", f"/c/{TOKEN}-7", "--member", "170",
    ]  # fmt: skip
    assert said[-1] == "sharedshared"
    assert (tmp_path / "7").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "7" / files.LOG).read_text() == "live"
    assert str((tmp_path / "7" / files.CLAIM).readlink()) == "812_7"
    assert json.loads((tmp_path / "7" / files.END).read_text())["token"] == f"{TOKEN}-7"
    assert json.loads((tmp_path / "7" / files.STARTED).read_text())["native"] == "812_7"


def test_one_that_is_not_in_the_list_of_members_runs_nothing(tmp_path):
    (tmp_path / "members").write_text("0 100\n17 1\n")
    (tmp_path / "7").mkdir()
    env = {"PATH": "/usr/bin:/bin", "SLURM_ARRAY_JOB_ID": "812", "SLURM_ARRAY_TASK_ID": "7"}
    script = SLURM.job_script(request(tmp_path))
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "does not name this one" in done.stderr) == (files.EXIT_BAD_BUNDLE, True)


def test_a_thousand_members_are_few_words_of_a_script():
    members = [SLURM.member(NativeJob(id="812"), at) for at in range(1000) if at != 500]
    jobs = [*members, NativeJob(id="900"), NativeJob(id="901_3")]
    assert isinstance(SLURM, Arrays)
    cancel = SLURM.cancel_script(jobs)
    assert "'812_[0-499,501-999]'" in cancel
    assert re.search(r"900 '?812_\[.*901_3\n", cancel)
    scripts = [cancel, SLURM.queue_script(jobs), SLURM.accounting_script(jobs, since=SINCE)]
    assert max(map(len, scripts)) < 3000
    assert {SLURM.array_of(job).id for job in jobs} == {"812", "900", "901"}


def test_a_folded_row_of_the_queue_is_of_each_member_that_it_names():
    line = US.join(
        ["812", "812", "812_[1,3-5%2]", "PENDING", "cpu", "1:00", "1770000000", "N/A", "N/A", "", "Priority", TOKEN]
    )
    one = line.replace("812_[1,3-5%2]", "812_2").replace("PENDING", "RUNNING")
    rows = Rows([queue_row(line), queue_row(one)])
    found = {at: row_of(member(at), rows) for at in range(7)}
    assert {at: row and row.state for at, row in found.items()} == {
        0: None, 1: State.PENDING, 2: State.RUNNING, 3: State.PENDING, 4: State.PENDING, 5: State.PENDING, 6: None,
    }  # fmt: skip
    others = Rows([queue_row(line.replace(TOKEN, "dmd-ffffffff"))])
    assert row_of(member(3), others) is None, "ids begin anew, names do not lie"


def test_members_that_were_cancelled_while_they_waited_are_told_of_together():
    rest = ["0:0", "1770000000", "Unknown", "1770000009", "1", "", "cpu", "None assigned", "", "None", TOKEN]
    rows, bad = accounting_rows([US.join(["812", "812_[2-3,9]", "CANCELLED by 1000", *rest])], uid="1000")
    assert bad == []
    assert row_of(member(9), rows).state is State.CANCELLED
    assert row_of(member(4), rows) is None


def test_a_folded_job_of_the_controller_is_not_taken_for_its_first_member():
    row = shown_job(
        "JobId=812 ArrayJobId=812 ArrayTaskId=4-6%2 JobName=dmd-7f3a91c2 UserId=ada(1000) GroupId=ada(1000) "
        "JobState=PENDING Reason=Priority Dependency=(null) ExitCode=0:0"
    )
    assert (row.job.id, row.places) == ("812", frozenset({4, 5, 6}))


def test_the_site_passes_on_the_rows_of_the_members_that_were_asked_for(tmp_path):
    sacct = tmp_path / "sacct"
    rows = ["1|812_[5-7]", "2|812_1", "2.batch|812_1.batch", "3|812_3", "4|9", "4.batch|9.batch", "sacct: odd"]
    sacct.write_text("#!/bin/sh\nprintf '%s\\n' " + " ".join(f"'{row}'" for row in rows) + " | tr '|' '\\037'\n")
    sacct.chmod(0o755)
    jobs = [NativeJob(id=name) for name in ("812_1", "812_2", "812_5", "9")]
    script = SLURM.accounting_script(jobs, since=SINCE)
    done = subprocess.run(
        ["bash", "-c", script], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    told = done.stdout.partition("@@accounting")[2].partition("@@end")[0].split("\n")[1:-1]
    assert [line.replace(US, "|") for line in told] == [row for row in rows if row != "3|812_3"]


def test_what_is_told_of_several_members_is_not_told_of_one_that_has_started():
    """Accounting may know the array's own row, with all its members, before it has heard of one that began."""
    line = US.join(
        ["812", "812", "812_[0-5%2]", "PENDING", "cpu", "1:00", "1770000000", "N/A", "N/A", "", "Priority", TOKEN]
    )
    rows = Rows([queue_row(line)])
    assert row_of(member(0), rows) is not None
    assert row_of(member(0).model_copy(update={"started_at": SINCE}), rows) is None
