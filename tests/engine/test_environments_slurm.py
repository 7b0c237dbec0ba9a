"""A job of a real Slurm cluster behind a real login node, in an environment that was built for it there."""

import pytest
from ruamel.yaml import YAML

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.environments import from_file
from tests.engine import arrays, wheels
from tests.engine.arrays import all_ended
from tests.engine.conftest import ended
from tests.engine.looks import value
from tests.engine.test_environments import MINOR
from tests.engine.test_ssh_site import node, pool  # noqa: F401 - fixtures

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm, pytest.mark.sshd]


async def test_a_job_finds_what_its_kernel_has_not_and_an_array_builds_nothing(pool, tmp_path):  # noqa: F811
    links, yaml = wheels.folder(tmp_path / "links"), YAML()
    told = yaml.load(pool.sites_path.read_text())
    (delta,) = told["sites"]
    delta["env"] = wheels.offline(links, tmp_path / "uv-cache")
    with pool.sites_path.open("w") as file:
        yaml.dump(told, file)
    service = await pool.start()
    env = from_file("pyproject.toml", f'[project]\nname = "mine"\ndependencies = ["{wheels.NAME} >= 1"]\n', MINOR)
    asked = Envelope(site="delta", env=env, walltime_s=Span.exactly(600))
    source = f"import shutil, {wheels.MODULE}\nx = [{wheels.MODULE}.weigh(), shutil.which('python')]"
    task = await pool.submit(service, source, outputs=("x",), imports=(wheels.MODULE,), envelope=asked)
    done = await ended(service, task, seconds=90)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    (built,) = (await service.environments.list("delta")).built
    assert await value(service, task) == [7, f"{built.prefix}/bin/python"]
    members = await all_ended(service, await arrays.submit(service, range(3), source=source, outputs=("x",), env=env))
    assert [each.state for each in members] == [State.COMPLETED] * 3, members[0].cause
    assert built.prefix.endswith("/1/venv")
    assert len((await service.environments.list("delta")).built) == 1
