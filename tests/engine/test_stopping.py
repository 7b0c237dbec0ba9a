"""Stopping a service waits for nobody, whatever it is at and whoever does not answer; nothing is lost."""

import asyncio
import contextlib
import json
import logging
import socket
import time
import uuid

import pytest

from jupyter_diamond.engine.news.webhooks import SECRET
from jupyter_diamond.globus import bucket
from jupyter_diamond.model.continuation import Registration, Terminal
from jupyter_diamond.model.states import State
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondNews, DiamondSites, DiamondStore
from tests.engine.cells import held
from tests.engine.conftest import ended, until
from tests.engine.looks import at_delta, in_state
from tests.live.sshd import Sshd

pytestmark = pytest.mark.asyncio
MOST_S = 8.0
"""Less than anything that does not answer is waited for; `bench_stop` tells how long it takes on a quiet machine."""


@pytest.fixture
def node(request, tmp_path, tmp_path_factory, monkeypatch):
    """A login node; that of delta where the clusters are up."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    env = request.getfixturevalue("testbed").env("delta") if "testbed" in request.fixturenames else None
    node = Sshd(tmp_path / "ssh", "delta", env=env)
    yield node
    node.line.release()
    node.close()


@contextlib.contextmanager
def deaf():
    """The address of a server that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook", server


async def stopped(service):
    """How long it took."""
    begun = time.monotonic()
    await service.stop()
    return time.monotonic() - begun


async def nothing_left_over():
    """No task of ours still runs."""
    return not [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("diamond-")]


@pytest.mark.slurm
@pytest.mark.sshd
async def test_acts_that_are_under_way_are_left_at_once_and_found_again(bench, testbed, node, tmp_path, monkeypatch):
    """The line is silent in the middle of a submission, a cancel, a wait for news, a probe and a post of news."""
    monkeypatch.setenv(SECRET, "a secret of 16 or more characters")
    bench.sites_path = testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work", names=["delta"], nodes=[node])
    with deaf() as (url, hook):
        service = DiamondService(
            store=DiamondStore(path=str(bench.folder / "diamond" / "store.sqlite")),
            sites=DiamondSites(path=str(bench.sites_path)), engine=DiamondEngine(), limits=DiamondLimits(),
            log=logging.getLogger("diamond.test"), news=DiamondNews(webhook_url=url),
        )  # fmt: skip
        await service.start()
        quick = await bench.submit(service, "pass", name="quick", envelope=at_delta())
        await service.consumers.register(
            Registration(id=uuid.uuid4().hex, subject=quick.id, condition=Terminal(), consumer="webhook")
        )
        unwanted = await bench.submit(service, held(tmp_path / "never", "pass"), name="unwanted", envelope=at_delta())
        await in_state(service, unwanted, State.RUNNING)
        await ended(service, quick)
        post, _ = await asyncio.to_thread(hook.accept)
        node.line.hold()
        source = f"open({str(tmp_path / 'runs')!r}, 'a').write('run '); answer = 1"
        wanted = await bench.submit(service, source, name="wanted", outputs=("answer",), envelope=at_delta())
        await service.cancel(unwanted.id, "you")
        probing = asyncio.create_task(service.refresh("delta"))
        (watcher,) = (each for name, each in service.engine._watchers.items() if name == "delta")
        await until(lambda: _sent(service, wanted, watcher, unwanted))
        took = await stopped(service)
        await until(nothing_left_over)
        probing.cancel()
        post.close()
    assert took < MOST_S
    node.line.release()
    again = await bench.start(lookup_for_s=1.0)
    done = await ended(again, wanted, seconds=120)
    assert done.state is State.COMPLETED, done.cause
    assert (tmp_path / "runs").read_text() == "run "
    gone = await ended(again, unwanted, seconds=60)
    assert (gone.state, gone.cause) == (State.CANCELLED, "Cancelled by you.")


async def _sent(service, wanted, watcher, unwanted):
    """A submission and a cancel are on their way."""
    known = watcher.watched.get(unwanted.id)
    sending = (await service.task(wanted.id)).state is State.SUBMITTING
    return sending and known is not None and known.cancel_at > 0


@pytest.mark.sshd
async def test_a_host_that_lets_nobody_in_and_a_globus_that_never_answers_hold_nothing_up(
    bench, node, globus_services, tmp_path, monkeypatch
):
    monkeypatch.setenv("JUPYTER_DIAMOND_TOKENS", json.dumps(globus_services.auth.issue()))
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket())
    endpoint = globus_services.compute.add_endpoint("vista")
    ssh = {"name": "delta", "transport": "ssh", "host": "delta", "ssh_config": str(node.config), "scheduler": "slurm"}
    globus = {"name": "vista", "transport": "globus-compute", "endpoint": endpoint.id, "scheduler": "slurm"}
    more = {"workdir": str(tmp_path / "work"), "account": "a"}
    bench.sites_path.write_text(json.dumps({"sites": [{**ssh, **more}, {**globus, **more}]}))
    silent = globus_services.fault(".*", delay=30.0, times=-1)
    node.line.hold()
    service = await bench.start()

    async def knocked():
        return node.line.connections and silent.hits

    await until(knocked)
    bench.services.clear()
    assert await stopped(service) < MOST_S
    await until(nothing_left_over)
    globus_services.heal()
