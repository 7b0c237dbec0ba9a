"""B23 Conda in batch: an environment's interpreter is called by its full path, and nothing is activated.

Also what every batch script does around it: claim, start, end, whatever happens to the cell.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.environment import Container
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.schedulers.batch_script import body, shebang

TOKEN = "dmd-0123456789ab"


def script(tmp_path, command, **settings) -> str:
    job = JobRequest(token=TOKEN, name="n", folder=str(tmp_path), size=Size(walltime_s=60), command=command, **settings)
    return f"{shebang(job)}\n{body(job, native_id='$DIAMOND_JOB_ID')}"


def start(tmp_path, command, *, job_id: str = "7", **settings):
    new = tmp_path / f"job.sh.{job_id}"  # another job may be reading the old one
    new.write_text(script(tmp_path, command, **settings))
    new.rename(tmp_path / "job.sh")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DIAMOND_JOB_ID": job_id}
    pipe = subprocess.PIPE
    return subprocess.Popen(["bash", "job.sh"], cwd=tmp_path, env=env, stdout=pipe, stderr=pipe, text=True)


def run(tmp_path, command, **settings):
    process = start(tmp_path, command, **settings)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def end(tmp_path):
    found = json.loads((tmp_path / "end.json").read_text())
    assert found["by"] == "shell"
    assert found["token"] == TOKEN
    assert abs(found["at"] - time.time()) < 60
    return found


def cell(tmp_path, text: str) -> tuple[str, str]:
    (tmp_path / "cell.sh").write_text(text)
    return ("bash", "cell.sh")


@pytest.mark.parametrize("marker", ["conda-meta/history", "pyvenv.cfg"])
def test_an_environment_is_used_by_the_path_of_its_interpreter(tmp_path, marker):
    env = tmp_path / "my envs" / "it's"
    (env / "bin").mkdir(parents=True)
    (env / marker).parent.mkdir(exist_ok=True)
    (env / marker).write_text("")
    (env / "bin/python").write_text('#!/bin/sh\necho "env python: $*"; tool-of-env')
    (env / "bin/tool-of-env").write_text("#!/bin/sh\necho tool")
    for program in (env / "bin").iterdir():
        program.chmod(0o755)
    (tmp_path / "conda").write_text("")
    command = (str(env / "bin/python"), "runner.py", "--token", "t 1")
    assert run(tmp_path, command)[:2] == (0, "env python: runner.py --token t 1\ntool\n")
    assert "conda activate" not in script(tmp_path, command)
    assert "source" not in script(tmp_path, command)


def test_what_a_conda_environment_sets_is_sourced_where_it_was_asked_for(tmp_path):
    env = tmp_path / "it's conda"
    (env / "etc/conda/activate.d").mkdir(parents=True)
    (env / "etc/conda/activate.d/10-gdal.sh").write_text('export GDAL_DATA="$CONDA_PREFIX/share/gdal"\n')
    (env / "etc/conda/activate.d/notes.txt").write_text("exit 9\n")
    command = cell(tmp_path, 'printf "%s" "$GDAL_DATA"')
    assert run(tmp_path, command)[1] == ""
    assert run(tmp_path, command, activate_d=str(env))[1] == f"{env}/share/gdal"
    assert "conda activate" not in script(tmp_path, command, activate_d=str(env))


@pytest.mark.parametrize("settings", [{}, {"container": Container(image="/i.sif")}, {"env": {"A": "b"}}])
def test_nothing_of_conda_is_written_for_what_is_none(tmp_path, settings):
    text = script(tmp_path, ("/venv/bin/python", "runner.py"), **settings)
    assert not re.search("conda (activate|init|shell)|CONDA|activate.d", text)


def test_a_plain_interpreter_does_not_push_its_folder_before_what_modules_gave(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text('#!/bin/sh\necho "$PATH"')
    (tmp_path / "bin/python").chmod(0o755)
    assert run(tmp_path, (str(tmp_path / "bin/python"),))[1] == os.environ["PATH"] + "\n"


def test_a_missing_interpreter_is_named(tmp_path):
    code, _, err = run(tmp_path, ("/no/such/python", "runner.py"))
    assert code == end(tmp_path)["exit_code"] == 82
    assert "/no/such/python, is not there: set python in the site catalogue" in end(tmp_path)["why"]
    assert "/no/such/python" in err


def test_an_interpreter_that_is_too_old_is_named(tmp_path):
    (tmp_path / "python2").write_text(
        '#!/bin/sh\n[ "$1" = -c ] && exit 99\necho "SyntaxError: invalid syntax" >&2\nexit 1'
    )
    (tmp_path / "python2").chmod(0o755)
    code, _, _ = run(tmp_path, (str(tmp_path / "python2"), "runner.py"))
    assert code == end(tmp_path)["exit_code"] == 82
    assert "older than Python 3.6" in end(tmp_path)["why"]


def test_values_of_the_environment_arrive_as_they_are(tmp_path):
    odd = "a b'c\"d$HOME`x`\\"
    code, out, _ = run(tmp_path, cell(tmp_path, 'printf %s "$ODD"'), env={"ODD": odd})
    assert (code, out) == (0, odd)
    with pytest.raises(InvalidRequest):
        script(tmp_path, ("python",), env={"ODD": "a\nb"})


def test_the_start_is_told_and_the_cells_own_files_have_the_users_mode(tmp_path):
    os.umask(0o022)
    code, _, _ = run(tmp_path, cell(tmp_path, "touch mine"))
    assert code == 0
    started = json.loads((tmp_path / "started.json").read_text())
    assert started["native"] == "7"
    assert started["host"] == os.uname().nodename
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "started.json").stat().st_mode & 0o777 == 0o600


def test_of_two_jobs_with_one_token_one_runs(tmp_path):
    command = cell(tmp_path, "echo ran >> ran")  # written once: one that is written anew is empty for a moment
    jobs = [start(tmp_path, command, job_id=str(n)) for n in range(6)]
    codes = []
    for job in jobs:
        job.communicate(timeout=30)
        codes.append(job.returncode)
    assert sorted(codes) == [0] + [83] * 5
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_a_requeued_job_runs_again_and_the_old_end_is_gone(tmp_path):
    run(tmp_path, cell(tmp_path, "exit 3"))
    assert end(tmp_path)["exit_code"] == 3
    code, out, _ = run(tmp_path, cell(tmp_path, "[ -e end.json ] || echo fresh"))
    assert (code, out) == (0, "fresh\n")


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("exit 5", 5, "ended without writing its result"),
        ("exit 0", 0, "ended without writing its result"),
        ("kill -9 $$", 137, "memory ran out"),
        ("kill -11 $$", 139, "segmentation fault"),
        ("kill -15 $$", 143, "terminated by the scheduler"),
    ],
)
def test_a_cell_that_left_no_end_gets_one(tmp_path, text, code, why):
    assert run(tmp_path, cell(tmp_path, text))[0] == code
    assert end(tmp_path)["exit_code"] == code
    assert why in end(tmp_path)["why"]
    assert end(tmp_path)["outcome"] == "FAILED"


def test_an_end_that_the_cell_wrote_is_kept(tmp_path):
    run(tmp_path, cell(tmp_path, "echo '{}' > end.json; exit 4"))
    assert (tmp_path / "end.json").read_text() == "{}\n"


def test_sigterm_to_the_whole_job_leaves_time_for_the_cell_to_write_its_end(tmp_path):
    (tmp_path / "cell.py").write_text(
        "import signal, sys, time\n"
        "def bye(*_):\n    time.sleep(0.5)\n    open('end.json', 'w').write('by the cell')\n    sys.exit(143)\n"
        "signal.signal(signal.SIGTERM, bye)\nopen('on', 'w').close()\ntime.sleep(600)\n"
    )
    (tmp_path / "job.sh").write_text(script(tmp_path, (sys.executable, "cell.py")))
    process = subprocess.Popen(
        ["bash", "job.sh"], cwd=tmp_path, env={**os.environ, "DIAMOND_JOB_ID": "7"}, start_new_session=True
    )
    deadline = time.monotonic() + 20
    while not (tmp_path / "on").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(20) == 143
    assert (tmp_path / "end.json").read_text() == "by the cell"
