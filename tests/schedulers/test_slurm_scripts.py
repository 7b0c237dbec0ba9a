"""The batch script and the other scripts of ours, as text and in a real shell."""

import os
import re
import stat
import subprocess
from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import Dialect, JobRequest, NativeJob
from jupyter_diamond.schedulers.base import Scheduler
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM: Scheduler = SlurmScheduler()
SINCE = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
TOKEN = "dmd-7f3a91c2"


def request(**changes) -> JobRequest:
    given = {
        "token": TOKEN,
        "name": "fit",
        "folder": "/home/ada/diamond/attempts/dmd-7f3a91c2",
        "size": Size(walltime_s=600),
        "command": ("python3", "runner.py", "--token", TOKEN),
    }
    return JobRequest(**(given | changes))


def directives(job: JobRequest) -> list[str]:
    return re.findall(r"^#SBATCH (.*)$", SLURM.job_script(job), re.MULTILINE)


def test_the_directives_of_a_small_job():
    assert directives(request()) == [
        "--job-name=dmd-7f3a91c2",
        "--comment=dmd-7f3a91c2:fit",
        "--output=job.out",
        "--open-mode=append",
        "--no-requeue",
        "--time=0-00:10:00",
        "--nodes=1",
        "--ntasks-per-node=1",
        "--cpus-per-task=1",
    ]


DIALECTS = [
    (Dialect(), {"--mem=1024M", "--gpus-per-node=2"}, set()),
    (Dialect(names_gpus=False), {"--mem=1024M"}, {"--gpus-per-node"}),
    (Dialect(forbidden_options=("--mem", "--gres")), {"--gpus-per-node=2"}, {"--mem"}),
    (Dialect(constraint="gpu&hbm80g"), {"--constraint=gpu&hbm80g"}, set()),
    (Dialect(options={"licenses": "scratch"}), {"--licenses=scratch"}, set()),
    (Dialect(options={"export": "NONE"}, forbidden_options=("--export",)), set(), {"--export"}),
]


@pytest.mark.parametrize(("dialect", "there", "absent"), DIALECTS)
def test_a_site_is_asked_in_its_own_dialect(dialect, there, absent):
    lines = directives(request(size=Size(gpus=2, memory_bytes=1 << 30, walltime_s=60), dialect=dialect))
    assert there <= set(lines)
    assert {line.partition("=")[0] for line in lines} & absent == set()


def test_a_mixed_partition_is_asked_for_a_kind_of_gpu():
    assert "--gpus-per-node=h100:2" in directives(request(size=Size(gpus=2, gpu_type="h100", walltime_s=60)))


@pytest.mark.parametrize("constraint", ["a b", "a;b", "a\nb", "$(x)", "`x`", "'a'", ""])
def test_a_constraint_is_one_plain_word(constraint):
    with pytest.raises(ValueError):
        Dialect(constraint=constraint)


def test_an_option_of_the_site_cannot_carry_a_second_directive():
    with pytest.raises(InvalidRequest):
        directives(request(dialect=Dialect(options={"licenses": "a\n#SBATCH --uid=0"})))


def test_the_directives_of_a_large_job():
    size = Size(nodes=2, cpus=16, gpus=4, memory_bytes=(40 << 30) + 1, walltime_s=90061)
    job = request(size=size, partition="gpu", account="cis220051-gpu", qos="high", warn_before_end_s=120)
    assert directives(job)[5:] == [
        "--time=1-01:02:00",
        "--nodes=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=16",
        "--mem=40961M",
        "--gpus-per-node=4",
        "--partition=gpu",
        "--account=cis220051-gpu",
        "--qos=high",
        "--signal=B:USR2@120",
    ]


@pytest.mark.parametrize(("walltime_s", "asked"), [(599, []), (600, ["--signal=B:HUP@60"])])
def test_a_short_job_is_not_warned_by_slurm_which_may_be_a_minute_early(walltime_s, asked):
    job = request(size=Size(walltime_s=walltime_s), warn_before_end_s=60, warn_signal="HUP")
    assert [line for line in directives(job) if line.startswith("--signal")] == asked
    assert "HUP" in SLURM.job_script(job)


def test_memory_is_not_asked_for_where_none_was_given():
    # some sites refuse --mem as such
    assert not any(line.startswith("--mem") for line in directives(request()))


def test_the_script_names_its_job_and_is_a_script():
    script = SLURM.job_script(request())
    assert script.startswith("#!/bin/bash\n#SBATCH ")
    assert 'diamond_job="$SLURM_JOB_ID"' in script
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False).returncode == 0


@pytest.mark.parametrize("field", ["partition", "account", "qos"])
@pytest.mark.parametrize("text", ["a b", "gpu\n#SBATCH --uid=0", "$(id)", "x;y", "-p", "", "a'b", "gpu#x"])
def test_text_that_could_become_another_directive_is_refused(field, text):
    with pytest.raises(InvalidRequest):
        SLURM.job_script(request(**{field: text}))


@given(st.text(max_size=40))
def test_no_name_of_a_task_can_add_a_line(name):
    lines = directives(request(name=name))
    assert len(lines) == 9
    assert re.fullmatch(r"--comment=dmd-7f3a91c2:[A-Za-z0-9_.-]*", lines[1])


@pytest.mark.parametrize(
    "script",
    [
        SLURM.probe_script(),
        SLURM.submit_command(request()),
        SLURM.lookup_script([TOKEN, "dmd-00000000"], since=SINCE),
        SLURM.queue_script([NativeJob(id="1"), NativeJob(id="2", cluster="alpha")]),
        SLURM.accounting_script([NativeJob(id="1"), NativeJob(id="3_7")], since=SINCE),
        SLURM.cancel_script([NativeJob(id="1"), NativeJob(id="2", cluster="alpha")]),
    ],
)
def test_every_script_is_posix_shell(script):
    assert subprocess.run(["/bin/sh", "-n"], input=script.encode(), check=False).returncode == 0
    assert "\x1f" not in script


def test_accounting_looks_back_an_hour_further_for_clocks_that_differ():
    assert " -S 2026-03-01T11:00:00 " in SLURM.accounting_script([NativeJob(id="1")], since=SINCE)
    with pytest.raises(InvalidRequest):
        SLURM.accounting_script([NativeJob(id="1")], since=datetime(2026, 3, 1))  # noqa: DTZ001 - the fault under test


@pytest.fixture
def site(tmp_path):
    """A folder of commands that write down how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def run(script: str, commands: dict[str, str], **env: str) -> Completed:
        for name, text in commands.items():
            (folder / name).write_text("#!/bin/sh\n" + text)
            (folder / name).chmod(stat.S_IRWXU)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", **env}
        done = subprocess.run(
            ["/bin/sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, timeout=30, check=False
        )
        return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)

    return run


def test_no_jobs_means_no_question(site):
    loud = dict.fromkeys(("squeue", "sacct", "scancel", "scontrol"), "echo called >&2; exit 9\n")
    queue = site(SLURM.queue_script([]), loud)
    assert SLURM.parse_queue(queue).rows == ()
    accounting = site(SLURM.accounting_script([], since=SINCE), loud)
    assert SLURM.parse_accounting(accounting).rows == ()
    cancel = site(SLURM.cancel_script([]), loud)
    assert SLURM.parse_cancel(cancel) == ()
    assert b"called" not in queue.stderr + accounting.stderr + cancel.stderr


def test_the_status_of_a_submission_is_sbatchs_own_and_its_streams_stay_apart(site):
    done = site(SLURM.submit_command(request()) + "\necho after $?", {"sbatch": "echo 12; echo note >&2\n"})
    assert (done.stdout, done.stderr) == (b"12\nafter 0\n", b"note\n")
    failed = site(SLURM.submit_command(request()) + "\necho after $?", {"sbatch": "echo no >&2; exit 3\n"})
    assert (failed.stdout, failed.stderr) == (b"after 3\n", b"no\n")


def test_the_users_sbatch_variables_do_not_overrule_the_script(site):
    show = {"sbatch": "env | grep -E '^(SBATCH|SLURM|SQUEUE)' | sort >&2; echo 1\n"}
    env = {
        "SBATCH_PARTITION": "debug", "SBATCH_ACCOUNT": "theirs", "SBATCH_QOS": "low", "SLURM_CONF": "/etc/x.conf",
        "SLURM_JOB_ID": "7", "SLURM_MEM_PER_NODE": "100",
    }  # fmt: skip
    assert site(SLURM.submit_command(request()), show, **env).err.split() == [
        "SBATCH_ACCOUNT=theirs", "SBATCH_QOS=low", "SLURM_CONF=/etc/x.conf",
    ]  # fmt: skip
    named = request(account="ours", qos="high")
    assert site(SLURM.submit_command(named), show, **env).err.split() == ["SLURM_CONF=/etc/x.conf"]


def test_a_refusal_by_a_limit_tells_how_many_are_queued(site):
    commands = {
        "sbatch": "echo 'sbatch: error: QOSMaxSubmitJobPerUserLimit' >&2; exit 1\n",
        "squeue": "printf '1\\n2\\n3\\n'\n",
    }
    assert "diamond: queued=3\n" in site(SLURM.submit_command(request()), commands).err


def test_another_cluster_that_is_silent_leaves_the_reading_incomplete(site):
    squeue = 'case "$*" in *alpha*) echo "squeue: error: No cluster alpha known" >&2; exit 1;; esac\n'
    script = SLURM.queue_script([NativeJob(id="1"), NativeJob(id="2", cluster="alpha")])
    reading = SLURM.parse_queue(site(script, {"squeue": squeue}))
    assert not reading.complete
    assert reading.notes == ("Cluster alpha did not answer: squeue: error: No cluster alpha known",)


def test_a_job_that_cannot_be_cancelled_is_told(site):
    commands = {"scancel": 'echo "scancel: error: Kill job error on job id 5: Access/permission denied" >&2; exit 1\n'}
    told = SLURM.parse_cancel(site(SLURM.cancel_script([NativeJob(id="5")]), commands))
    assert told == ("Slurm did not cancel: Kill job error on job id 5: Access/permission denied",)


job_ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+\[\]-]{0,20}", fullmatch=True)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(job_ids, min_size=1, max_size=4, unique_by=lambda job_id: job_id.partition("_")[0]))
def test_ids_reach_the_command_as_they_are(site, ids):
    commands = {"scancel": "printf '%s\\n' \"$@\"\n"}
    done = site(SLURM.cancel_script([NativeJob(id=job_id) for job_id in ids]), commands)
    assert sorted(done.out.split("\n")[1:-2]) == sorted(ids)
