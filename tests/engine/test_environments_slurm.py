"""A job of a real Slurm cluster behind a real login node, in an environment that was built for it there."""

import base64
import json
import os
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.environments import from_file
from tests.engine import wheels
from tests.engine.conftest import ended
from tests.engine.test_environments import MINOR
from tests.engine.test_ssh_site import node, pool  # noqa: F401 - fixtures

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm, pytest.mark.sshd]


async def test_a_job_finds_what_its_kernel_has_not_and_the_next_one_builds_nothing(pool, tmp_path):  # noqa: F811
    links, yaml = wheels.folder(tmp_path / "links"), YAML()
    told = yaml.load(pool.sites_path.read_text())
    (delta,) = told["sites"]
    delta["env"] = {
        **wheels.offline(links, tmp_path / "uv-cache"), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    }  # fmt: skip
    with pool.sites_path.open("w") as file:
        yaml.dump(told, file)
    service = await pool.start()
    env = from_file("pyproject.toml", f'[project]\nname = "mine"\ndependencies = ["{wheels.NAME} >= 1"]\n', MINOR)
    asked = Envelope(site="delta", env=env, walltime_s=Span.exactly(600))
    source = f"import shutil, {wheels.MODULE}\nx = [{wheels.MODULE}.weigh(), shutil.which('python')]"
    fields = {"outputs": ("x",), "imports": (wheels.MODULE,), "envelope": asked}
    tasks = [await pool.submit(service, source, **fields) for _ in range(2)]
    for task in tasks:
        done = await ended(service, task, seconds=90)
        assert done.state is State.COMPLETED, (done.cause, done.next)
        view = await service.result(done.id)
        weight, python = json.loads(base64.b64decode(view.inline[view.manifest.values[0].file]))
        (built,) = (await service.environments.list("delta")).built
        assert (weight, python) == (7, f"{built.prefix}/bin/python")
    assert built.prefix.endswith("/1/venv")
