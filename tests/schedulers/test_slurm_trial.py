"""B06: what a site's commands can do is tried there, in a real shell, and used only where it works."""

import os
import re
import stat
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import SchedulerError
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.parsing.slurm_jobs import ACCOUNTING_FIELDS
from jupyter_diamond.schedulers.base import Adapting
from jupyter_diamond.schedulers.process.scheduler import ProcessScheduler
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
READING = SiteReading(
    site="x", transport="ssh", scheduler="slurm", scheduler_version="20.11.8", accounting=True, read_at=NOW
)
# As Slurm's own commands answer: an option that is not known is said before --help is looked at.
KNOWS = """#!/bin/sh
echo "$0 $*" >> "$LOG"
for word; do
  case " $KNOWN " in *" $word "*) ;; *)
    case $word in --*) echo "squeue: unrecognized option '$word'" >&2; echo 'Try "squeue --help"' >&2; exit 1 ;; esac
  esac
done
"""
SACCT = (
    KNOWS
    + """case "$*" in
  *now-*) [ -n "$RELATIVE" ] || { echo "Invalid time specification (pos=0): now-90minutes" >&2; exit 1; } ;;
esac
case "$*" in *-e) echo "$FIELDS" ;; esac
"""
)


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    texts = {
        "squeue": KNOWS, "scontrol": KNOWS, "sacct": SACCT, "sinfo": "#!/bin/sh\n",
        "sacctmgr": "#!/bin/sh\nprintf 'vista\\ndelta\\n'\n",
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)

    def run(script, **env):
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "LOG": str(tmp_path / "log"), "KNOWN": "--help"} | env
        done = subprocess.run(
            ["/bin/sh", "-c", script], env=environment, capture_output=True, timeout=30, check=False
        )  # fmt: skip
        return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)

    run.log = tmp_path / "log"
    return run


def since():
    return datetime.now(timezone.utc) - timedelta(hours=2)


def tried(answer, slurm=None):
    return (slurm or SlurmScheduler()).parse_trial(answer, READING, tried_at=NOW)


def test_what_an_old_slurm_does_not_know_is_noted_and_not_asked_for(site):
    slurm = SlurmScheduler()
    fields = " ".join(name for name in ACCOUNTING_FIELDS if name != "Reason")
    found = tried(site(slurm.trial_script(), FIELDS=fields), slurm)
    assert set(found.flags.values()) == {False}
    assert (found.relative_times, found.version, found.accounting) == (False, "20.11.8", True)
    assert found.clusters == ("delta", "vista")
    assert any("sacct here does not know Reason" in note for note in found.notes)
    slurm.capabilities = found
    script = slurm.accounting_script([NativeJob(id="7")], since=since())
    (asked,) = re.findall(r" -o (\S+) -j", script)
    assert asked.split(",") == fields.split()
    assert " -S 20" in script


def test_what_a_new_slurm_knows_is_used(site):
    slurm = SlurmScheduler()
    answer = site(
        slurm.trial_script(), KNOWN="--help --json --only-job-state", RELATIVE="yes",
        FIELDS=" ".join((*ACCOUNTING_FIELDS, "Restarts", "FailedNode")),
    )  # fmt: skip
    found = tried(answer, slurm)
    assert set(found.flags.values()) == {True}
    assert (found.relative_times, found.notes) == (True, ())
    slurm.capabilities = found
    for script in (
        slurm.accounting_script([NativeJob(id="7")], since=since()),
        slurm.lookup_script(["dmd-1"], since=since()),
    ):
        (minutes,) = re.findall(r" -S now-([0-9]+)minutes ", script)
        assert 180 <= int(minutes) <= 182, "two hours ago, and an hour in case our clock was set"
        assert subprocess.run(["/bin/sh", "-n"], input=script.encode(), check=False).returncode == 0


def test_commands_that_fail_for_another_reason_leave_it_unknown(site):
    broken = """sacct() { echo 'sacct: fatal: Could not establish a configuration source' >&2; return 1; }
squeue() { sacct; }; scontrol() { sacct; }; sacctmgr() { sacct; }; timeout() { shift; "$@"; }
"""
    found = tried(site(broken + SlurmScheduler().trial_script()))
    assert set(found.flags.values()) == {None}
    assert (found.relative_times, found.accounting_fields, found.clusters, found.notes) == (None, (), (), ())


def test_the_trial_asks_no_controller(site):
    site(SlurmScheduler().trial_script(), FIELDS="", RELATIVE="yes")
    commands = [line.split("/")[-1] for line in site.log.read_text().splitlines()]
    assert sorted(commands) == sorted([
        "squeue --only-job-state --help", "squeue --json --help", "sacct --json --help", "scontrol --json --help",
        "sacct -e", "sacct -S now-90minutes -e",
    ])  # fmt: skip


@pytest.mark.parametrize("listed", ["", "JobID State", "usage: sacct [OPTIONS]"])
def test_a_list_that_is_no_list_of_fields_changes_nothing(site, listed):
    slurm = SlurmScheduler()
    slurm.capabilities = tried(site(slurm.trial_script(), FIELDS=listed), slurm)
    (asked,) = re.findall(r" -o (\S+) -j", slurm.accounting_script([NativeJob(id="7")], since=since()))
    assert asked == ",".join(ACCOUNTING_FIELDS)


def answer_of(fields, row, rc=0, err=b""):
    text, line = " ".join(fields).encode(), "\x1f".join(row).encode()
    stdout = b"@@me 0 1\n0\n@@fields 0 %d\n%s\n@@accounting %d %d\n%s\n@@end 0 0\n" % (
        len(text), text, rc, len(line), line,
    )  # fmt: skip
    return Completed(exit=0, stdout=stdout, stderr=b"@@accounting\n" + err)


def test_rows_without_some_fields_are_read_as_what_they_are():
    fields = ("JobIDRaw", "JobID", "State", "ExitCode", "JobName")
    reading = SlurmScheduler().parse_accounting(answer_of(fields, ("7", "7", "FAILED", "3:0", "dmd-7")))
    (row,) = reading.rows
    assert (row.job.id, row.state.value, row.exit_code, row.reason, row.nodes) == ("7", "failed", 3, "", "")
    assert reading.complete


def test_an_answer_is_read_by_its_own_fields_whatever_was_learnt_since_it_was_asked(site):
    slurm = SlurmScheduler()
    slurm.capabilities = tried(site(slurm.trial_script(), FIELDS=" ".join((*ACCOUNTING_FIELDS[:9], "JobName"))))
    row = ["7", "7", "COMPLETED", "0:0", *[""] * 9, "dmd-7"]
    assert slurm.parse_accounting(answer_of(ACCOUNTING_FIELDS, row)).rows[0].state.value == "completed"


COMPLAINTS = [
    b'sacct: error: Invalid field requested: "Reason"\n',
    b"Invalid time specification (pos=0): now-90minutes\n",
    b"sacct: unrecognized option '--delimiter'\n",
]


@pytest.mark.parametrize("said", COMPLAINTS)
def test_a_form_that_is_not_known_any_more_judges_no_job_and_is_asked_for_no_more(site, said):
    slurm = SlurmScheduler()
    slurm.capabilities = tried(site(slurm.trial_script(), RELATIVE="yes", FIELDS=" ".join(ACCOUNTING_FIELDS)))
    with pytest.raises(SchedulerError) as problem:
        slurm.parse_accounting(answer_of(ACCOUNTING_FIELDS, (), rc=1, err=said))
    assert problem.value.transient
    assert slurm.capabilities is None
    assert " -S 20" in slurm.accounting_script([NativeJob(id="7")], since=since())


def test_an_outage_of_accounting_is_no_contradiction(site):
    slurm = SlurmScheduler()
    slurm.capabilities = known = tried(site(slurm.trial_script(), RELATIVE="yes", FIELDS=" ".join(ACCOUNTING_FIELDS)))
    with pytest.raises(SchedulerError):
        slurm.parse_accounting(
            answer_of(ACCOUNTING_FIELDS, (), rc=1, err=b"sacct: error: Connection refused\n")
        )  # fmt: skip
    assert slurm.capabilities is known


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_no_garbage_makes_it_fail_otherwise_than_as_an_unreadable_answer(stdout, stderr):
    slurm = SlurmScheduler()
    for text in (stdout, b"@@flags 0 %d\n%s\n@@end 0 0\n" % (len(stdout), stdout)):
        try:
            found = tried(Completed(exit=0, stdout=text, stderr=stderr), slurm)
        except SchedulerError:
            continue
        assert True not in found.flags.values() or b"\x1f0" in stdout


def test_only_slurm_is_tried():
    assert isinstance(SlurmScheduler(), Adapting)
    assert not isinstance(ProcessScheduler(), Adapting)
