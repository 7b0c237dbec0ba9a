"""Environments at sites: built once, whoever asks and whoever is killed; tried before anything is queued."""

import asyncio
import base64
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.environments import from_file
from tests.engine import wheels
from tests.engine.conftest import ended, until

pytestmark = pytest.mark.asyncio
MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
PEBBLE = from_file("requirements.txt", wheels.NAME, MINOR)


@pytest.fixture
def pool(bench):
    """A bench whose one site is this machine, with the package to be had."""
    links = wheels.folder(bench.folder / "links")
    site = {
        "name": "near", "scheduler": "process", "workdir": str(bench.folder / "work"),
        "env": wheels.offline(links, bench.folder / "uv-cache"),
    }  # fmt: skip
    bench.sites = [site]
    bench.sites_path.parent.mkdir(exist_ok=True)
    write(bench)
    return bench


def write(bench):
    with bench.sites_path.open("w") as file:
        YAML().dump({"sites": bench.sites}, file)


def with_env(env, **fields):
    return Envelope(site="near", walltime_s=Span.exactly(600), env=env, **fields)


def said(decision, site="near"):
    """What the rule says of a site."""
    place = next(each for each in decision.candidates if each.site == site)
    return next(each for each in place.verdicts if each.rule == "environment")


def tries(bench):
    """The tries of all environments that were begun."""
    return sorted(path.name for path in (bench.folder / "work" / "envs").glob("*/[0-9]*"))


async def weighed(bench, service, **fields):
    task = await bench.submit(
        service, f"import {wheels.MODULE}\nx = {wheels.MODULE}.weigh()", outputs=("x",), envelope=with_env(PEBBLE),
        imports=(wheels.MODULE,), **fields,
    )  # fmt: skip
    return await ended(service, task, seconds=60)


async def test_what_the_kernel_lacks_is_built_once_and_used_again(pool):
    with pytest.raises(ImportError):
        __import__(wheels.MODULE)
    service = await pool.start()
    done = await weighed(pool, service)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    view = await service.result(done.id)
    assert json.loads(base64.b64decode(view.inline[view.manifest.values[0].file])) == 7
    (built,) = (await service.environments.list("near")).built
    assert built.state == "ready"
    assert built.packages[wheels.NAME] == "1.0"
    assert built.python_version.startswith(MINOR)
    story = [event.type for event in (await service.task_events(done.id)).events]
    assert story.index("attempt.staging") < story.index("attempt.submitting")
    assert (await weighed(pool, service)).state is State.COMPLETED
    assert tries(pool) == ["1"]
    assert said(await service.plan(with_env(PEBBLE))).sentence == "The environment requirements was built here before."


def gated(bench):
    """Let ``uv`` wait for a file; the file."""
    gate, programs = bench.folder / "gate", bench.folder / "bin"
    programs.mkdir()
    uv = Path(sys.executable).with_name("uv")
    wait = f"while [ ! -e {gate} ]; do sleep 0.02; done"
    (programs / "uv").write_text(f'#!/bin/sh\n{wait}\nexec {uv} "$@"\n')
    (programs / "uv").chmod(0o755)
    bench.sites[0]["env"]["PATH"] = f"{programs}:{os.environ['PATH']}"
    write(bench)
    return gate


async def stop(bench, service):
    bench.services.remove(service)
    await service.stop()


async def begun(bench, n=1):
    """The process that builds, once it does."""

    async def check():
        found = [path for path in (bench.folder / "work" / "envs").glob(f"*/{n}/pid") if path.read_text().strip()]
        return int(found[0].read_text()) if found else None

    return await until(check)


async def test_two_servers_of_a_user_build_it_once(pool, tmp_path):
    gate = gated(pool)
    one = await pool.start()
    task = asyncio.create_task(weighed(pool, one))
    await begun(pool)
    home, pool.folder = pool.folder, tmp_path / "another laptop"
    pool.folder.mkdir()
    other = await pool.start()
    pool.folder = home
    second = asyncio.create_task(weighed(pool, other))
    await until(lambda: _is_building(other))
    gate.touch()
    assert [(await each).state for each in (task, second)] == [State.COMPLETED] * 2
    assert tries(pool) == ["1"]


async def _is_building(service):
    built = (await service.environments.list("near")).built
    return built and built[0].state == "building"


async def test_a_build_that_was_killed_is_begun_again_and_one_that_lost_its_server_goes_on(pool):
    gate = gated(pool)
    first = await pool.start()
    task = await pool.submit(first, f"import {wheels.MODULE}", envelope=with_env(PEBBLE), imports=(wheels.MODULE,))
    os.killpg(await begun(pool), signal.SIGKILL)
    await begun(pool, 2)
    assert (await first.task(task.id)).state is State.STAGING_IN
    await stop(pool, first)
    service = await pool.start()
    gate.touch()
    done = await ended(service, task, seconds=60)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    assert tries(pool) == ["1", "2"]


async def test_a_build_that_fails_is_told_with_its_last_lines_and_tried_again_when_asked_again(pool):
    service = await pool.start()
    wrong = from_file("requirements.txt", f"{wheels.NAME}==9", MINOR)
    task = await pool.submit(service, "x = 1", envelope=with_env(wrong))
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempt.submissions) == (State.REJECTED, 0)
    assert done.cause.startswith("The environment requirements cannot be built at near: ")
    assert any("unsatisfiable" in line for line in done.attempt.evidence)
    assert not list((pool.folder / "work" / "envs").glob("*/1/venv"))
    plan = await service.plan(with_env(wrong))
    verdict = said(plan)
    assert (verdict.answer, verdict.observed) == ("unknown", "failed")
    links = Path(pool.sites[0]["env"]["UV_FIND_LINKS"])
    wheels.folder(links, version="9")
    task = await pool.submit(service, "x = 1", envelope=with_env(wrong), again=True)
    assert (await ended(service, task, seconds=60)).state is State.COMPLETED


async def test_what_a_file_system_forgot_of_it_is_built_anew(pool):
    service = await pool.start()
    assert (await weighed(pool, service)).state is State.COMPLETED
    (module,) = (pool.folder / "work" / "envs").glob(f"*/1/venv/lib/*/site-packages/{wheels.MODULE}.py")
    module.unlink()
    await stop(pool, service)
    assert (await weighed(pool, await pool.start())).state is State.COMPLETED
    assert tries(pool) == ["1", "2"]


async def test_what_lacks_an_import_is_refused_before_it_is_queued(pool):
    service = await pool.start()
    task = await pool.submit(service, "import nowhere", envelope=with_env(PEBBLE), imports=(wheels.MODULE, "nowhere"))
    done = await ended(service, task, seconds=60)
    assert (done.state, done.attempt.submissions) == (State.REJECTED, 0)
    assert "imports `nowhere`, which the environment requirements at near does not have" in done.cause


async def test_a_named_environment_is_tried_and_only_its_own_sites_are_chosen(pool):
    pool.sites.append({**pool.sites[0], "name": "far", "environments": {"torch": {"python": sys.executable}}})
    pool.sites[0]["environments"] = {"torch": {"prefix": str(pool.folder / "gone")}}
    pool.sites[1]["environments"]["odd"] = {"python": "/bin/false"}
    write(pool)
    service = await pool.start()
    named = Environment(name="odd")
    decision = await service.plan(Envelope(env=named))
    assert decision.choice.site == "far"
    verdict = said(decision)
    assert verdict.sentence == "It has no environment odd: choose far."
    assert verdict.change == "--site far"
    task = await pool.submit(service, "x = 1", envelope=with_env(Environment(name="torch")))
    done = await ended(service, task)
    assert (done.state, done.attempt.submissions) == (State.REJECTED, 0)
    assert "The environment torch does not start at near" in done.cause
    task = await pool.submit(service, "x = 1", envelope=Envelope(site="far", env=Environment(name="torch")))
    assert (await ended(service, task)).state is State.COMPLETED


async def test_without_uv_it_is_said_and_nothing_is_tried(pool, monkeypatch):
    pool.sites[0]["env"] |= {"PATH": "/usr/bin:/bin", "HOME": str(pool.folder)}
    write(pool)
    monkeypatch.setattr(sys, "executable", str(pool.folder / "python"))
    service = await pool.start()
    plan = await service.plan(with_env(PEBBLE))
    verdict = said(plan)
    assert (verdict.answer, verdict.observed) == ("fail", "no uv")
    assert tries(pool) == []


async def test_a_container_is_started_with_the_folders_that_the_cell_works_with(pool):
    """The runtime here writes down what it was told, and runs the command outside of any container."""
    image, programs, told = pool.folder / "torch.sif", pool.folder / "bin", pool.folder / "told"
    image.touch()
    programs.mkdir()
    (programs / "apptainer").write_text(
        f'#!/bin/sh\necho "$*" >>{told}\nwhile [ "$1" != {image} ]; do shift; done\nshift\nexec "$@"\n'
    )
    (programs / "apptainer").chmod(0o755)
    pool.sites[0]["env"]["PATH"] = f"{programs}:{os.environ['PATH']}"
    box = {"container": {"image": str(image), "binds": ["/scratch"]}, "python": sys.executable, "env": {"A": "b"}}
    pool.sites[0]["environments"] = {"box": box, "gone": {"container": {"image": "/no/such.sif"}}}
    write(pool)
    service = await pool.start()
    task = await pool.submit(service, "print(1)", envelope=with_env(Environment(name="gone")))
    done = await ended(service, task)
    assert (done.state, done.attempt.submissions) == (State.REJECTED, 0)
    assert "the image /no/such.sif is not there" in done.cause
    assert not told.exists()
    source = "import os\nx = os.environ['A']"
    task = await pool.submit(
        service, source, outputs=("x",), envelope=with_env(Environment(name="box")), cwd=str(pool.folder)
    )
    done = await ended(service, task)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    asked, ran = told.read_text().splitlines()[0], told.read_text().splitlines()[-1]
    assert asked.startswith(f"exec --bind /scratch --pwd / {image} {sys.executable} -c ")
    binds = f"--bind {done.attempt.folder} --bind {pool.folder}/work --bind {pool.folder} --bind /scratch"
    assert ran.startswith(f"exec {binds} --pwd {done.attempt.folder} {image} {sys.executable} runner.py ")
