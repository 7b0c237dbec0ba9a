"""B22 ``module: command not found``: the head of a job tests that modules start, and says so in its first second."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from jupyter_diamond.engine.environments.setting import named
from jupyter_diamond.engine.interpreters import Interpreters
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.environment import ModuleStart
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.site import Site
from jupyter_diamond.schedulers.batch_script import body, shebang
from jupyter_diamond.schedulers.registry import scheduler_for
from jupyter_diamond.transport.local import LocalTransport

TOKEN = "dmd-0123456789ab"

GOOD = """
module() {
  case "$2" in
    gcc|gcc/12|odd\\"name) export LOADEDMODULES="${LOADEDMODULES:+$LOADEDMODULES:}$2/12" GCC=12 ;;
    family) export LOADEDMODULES="other/1" ;;
    *) echo "ERROR: Unable to locate a modulefile for '$2'" >&2; return 1 ;;
  esac
}
"""
OLD = "module() { echo \"ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for '$2'\" >&2; }\n"


def run(tmp_path, modules: ModuleStart, command=("bash", "-c", 'echo "cell $GCC"')):
    folder = tmp_path / "it's an attempt"
    folder.mkdir(exist_ok=True)
    job = JobRequest(
        token=TOKEN,
        name="n",
        folder=str(folder),
        size=Size(walltime_s=60),
        command=("bash", "cell.sh"),
        modules=modules,
    )
    (folder / "cell.sh").write_text(command[-1])
    (folder / "job.sh").write_text(f"{shebang(job)}\n{body(job, native_id='$DIAMOND_JOB_ID')}")
    (folder / "job.sh").chmod(0o700)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DIAMOND_JOB_ID": "1"}
    ran = subprocess.run(["./job.sh"], cwd=folder, env=env, capture_output=True, text=True, timeout=30, check=False)
    return ran, json.loads((folder / "end.json").read_text())


def test_without_modules_a_login_shell_is_not_started(tmp_path):
    (tmp_path / ".bash_profile").write_text("echo noise\n")
    ran, _ = run(tmp_path, ModuleStart())
    assert ran.stdout == "cell \n"


def test_a_login_shell_starts_modules(tmp_path):
    (tmp_path / ".bash_profile").write_text(GOOD)
    ran, _ = run(tmp_path, ModuleStart(kind="login_shell", load=("gcc",)))
    assert ran.stdout == "cell 12\n"
    assert ran.returncode == 0


@pytest.mark.parametrize("name", ["gcc", "gcc/12", "family", 'odd"name'])
def test_a_sourced_file_starts_modules(tmp_path, name):
    (tmp_path / "mod init.sh").write_text(GOOD)
    ran, _ = run(tmp_path, ModuleStart(kind="source", path=str(tmp_path / "mod init.sh"), load=(name,)))
    assert ran.stdout.startswith("cell ")
    assert ran.returncode == 0


@pytest.mark.parametrize(
    ("start", "init", "sentence"),
    [
        ({"kind": "login_shell"}, "", "environment modules do not start in batch jobs here"),
        ({"load": ("gcc",)}, "", "environment modules do not start in batch jobs here"),
        ({"kind": "source", "path": "INIT"}, None, "which is not readable here"),
        (
            {"kind": "source", "path": "INIT", "load": ("nope",)},
            GOOD,
            "the module nope of the site profile does not load",
        ),
        ({"kind": "source", "path": "INIT", "load": ("no'p\"e\\",)}, GOOD, "the module no'p\"e\\ of the site profile"),
        ({"kind": "source", "path": "INIT", "load": ("gcc", "nope")}, OLD, "the module gcc of the site profile"),
    ],
)
def test_modules_that_do_not_start_end_the_job_before_the_cell(tmp_path, start, init, sentence):
    if init is not None:
        (tmp_path / "init").write_text(init)
    ran, end = run(tmp_path, ModuleStart(**{**start, **({"path": str(tmp_path / "init")} if "path" in start else {})}))
    assert ran.returncode == end["exit_code"] == 81
    assert "cell" not in ran.stdout
    assert sentence in end["why"]
    assert "diamond: " in ran.stderr
    assert (end["by"], end["outcome"], end["token"]) == ("shell", "FAILED", TOKEN)


# -- the same start is tried on the login side, before anything is queued ---------------------------------------------


def asked(tmp_path, environment: dict[str, object], modules=("json", "nowhere")):
    """What a site says of one of its environments, asked as before a submission."""
    fields = {"scheduler": "process", "env": {"HOME": str(tmp_path)}, "environments": {"mine": environment}}
    site = Site.model_validate({"name": "it", **fields})
    link = SiteLink(site, LocalTransport(site.env), scheduler_for(site))

    async def ask():
        try:
            return await Interpreters(30.0).ask(link, await named(link, "mine", None), modules, ("pip",))
        finally:
            await link.transport.close()

    return asyncio.run(ask())


def test_an_environments_modules_bring_its_interpreter(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/of-module").symlink_to(sys.executable)
    (tmp_path / ".bash_profile").write_text(
        f'echo Welcome\nmodule() {{ echo loading $2; export LOADEDMODULES=$2/1 PATH="$PATH:{tmp_path}/bin"; }}\n'
    )
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nexec of-module "$@"\n')
    program.chmod(0o755)
    start = {"kind": "login_shell", "load": ["gcc"]}
    found = asked(tmp_path, {"modules": start, "python": str(program)})
    assert (found.problem, found.version, found.missing) == ("", sys.version_info[:3], ("nowhere",))
    bare = asked(tmp_path, {"python": str(program)})
    assert bare.problem.startswith("The environment mine does not start at it: ")
    assert "environments.mine of it in the site catalogue" in bare.problem


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        ({"kind": "login_shell"}, "environment modules do not start in batch jobs here"),
        ({"kind": "source", "path": "/no/such/init"}, "which is not readable here"),
        ({"kind": "source", "path": "INIT", "load": ["nope"]}, "the module nope of the site profile does not load"),
    ],
)
def test_modules_that_do_not_start_are_told_before_anything_is_queued(tmp_path, start, sentence):
    (tmp_path / "init").write_text(GOOD)
    given = {**start, "path": str(tmp_path / "init")} if start.get("path") == "INIT" else start
    assert sentence in asked(tmp_path, {"modules": given, "python": sys.executable}).problem
