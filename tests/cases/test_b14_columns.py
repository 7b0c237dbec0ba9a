"""B14: reasons, names and columns with spaces, pipes and cut text."""

import os
import stat
import subprocess

import pytest

from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.schedulers.slurm import SlurmScheduler
from jupyter_diamond.transport.base import Completed

SLURM = SlurmScheduler()
US = "\x1f"

# says what a site's squeue would: a banner, our rows, a foreign row, a row with too few columns
SQUEUE = """#!/bin/sh
env | grep -E '^(SQUEUE|SACCT|SINFO|SLURM)' | sort > "$SEEN"
printf '%s\\n' "$@" >> "$SEEN"
cat "$ROWS"
"""


def row(job: str, reason: str, name: str) -> str:
    return US.join([job, job, job, "PENDING", "cpu", "30:00", "1796002770", "N/A", "N/A", "", reason, name])


@pytest.fixture
def ask(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "squeue").write_text(SQUEUE)
    (folder / "squeue").chmod(stat.S_IRWXU)

    def run(rows: str, **env: str) -> tuple[Completed, str]:
        (tmp_path / "rows").write_text(rows)
        seen = tmp_path / "seen"
        script = SLURM.queue_script([NativeJob(id="1234"), NativeJob(id="1235")])
        environment = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "ROWS": str(tmp_path / "rows"),
            "SEEN": str(seen),
            **env,
        }
        done = subprocess.run(["/bin/sh", "-c", script], env=environment, capture_output=True, timeout=30, check=False)
        return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr), seen.read_text()

    return run


def test_odd_names_and_reasons_stay_whole_and_odd_rows_are_shown(ask):
    banner = "** Scratch purge on 1 May **"
    rows = [
        banner,
        row("1234", "ReqNodeNotAvail, UnavailableNodes:n[01-04]", "my|odd name"),
        row("77", "Priority", "not ours"),
        row("1235", "None", f"a{US}b @@end 0 0"),
    ]
    answer, _ = ask("\n".join(rows) + "\n")
    reading = SLURM.parse_queue(answer)
    assert {found.job.id: found.name for found in reading.rows} == {"1234": "my|odd name", "1235": f"a{US}b @@end 0 0"}
    assert reading.rows[0].reason == "ReqNodeNotAvail, UnavailableNodes:n[01-04]"
    assert reading.unreadable == (banner,)
    assert not reading.complete


def test_the_users_environment_does_not_change_the_table(ask):
    answer, seen = ask(
        row("1234", "None", "x") + "\n",
        SQUEUE_FORMAT="%j",
        SACCT_FORMAT="JobName",
        SINFO_FORMAT="x",
        SLURM_TIME_FORMAT="relative",
        SLURM_CLUSTERS="elsewhere",
        SLURM_CONF="/etc/slurm/slurm.conf",
    )
    assert SLURM.parse_queue(answer).rows[0].state is State.PENDING
    for name in ("SQUEUE_FORMAT", "SACCT_FORMAT", "SINFO_FORMAT", "SLURM_CLUSTERS", "relative"):
        assert name not in seen
    assert "SLURM_TIME_FORMAT=%s\n" in seen
    assert "SLURM_CONF=/etc/slurm/slurm.conf\n" in seen


def test_a_cut_list_of_array_tasks_is_asked_for_again_with_tasks_expanded(ask):
    cut = row("1234", "None", "x").replace(f"{US}1234{US}PENDING", f"{US}1234_[1,3-5,9...]{US}PENDING")
    _, seen = ask(cut + "\n")
    assert "-r\n" in seen


@pytest.mark.parametrize("name", ["a\nb", "@@end 0 0", "@@queue 0 3\nx", "\u2028", "é" * 40])
def test_names_cannot_pass_for_the_frame_of_an_answer(name):
    line = row("1234", "None", name)
    body = f"@@queue 0 {len(line.encode())}\n{line}\n@@end 0 0\n"
    reading = SLURM.parse_queue(Completed(exit=0, stdout=body.encode(), stderr=b""))
    assert reading.rows[0].job.id == "1234"
    assert len(reading.rows) + len(reading.unreadable) == len([part for part in line.split("\n") if part.strip()])


def test_undecodable_bytes_are_escaped_not_dropped():
    line = row("1234", "None", "x").encode() + b"\xff"
    body = b"@@queue 0 %d\n" % len(line) + line + b"\n@@end 0 0\n"
    reading = SLURM.parse_queue(Completed(exit=0, stdout=body, stderr=b""))
    assert reading.rows[0].name == "x\\xff"
