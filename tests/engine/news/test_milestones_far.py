"""A milestone at a cluster behind ssh: heard by the look that waits there anyhow, with no command of its own."""

from __future__ import annotations

import uuid

import pytest
import pytest_asyncio

from jupyter_diamond.engine import far_look
from jupyter_diamond.model.continuation import Milestone, Registration, Terminal, Waking
from jupyter_diamond.model.states import State
from jupyter_diamond.transport.ssh import SshTransport
from tests.engine.cells import held
from tests.engine.conftest import ended, readings, until
from tests.engine.looks import at_delta
from tests.live.sshd import Sshd

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm, pytest.mark.sshd]


@pytest.fixture
def node(testbed, tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    node = Sshd(tmp_path / "ssh", "delta", env=testbed.env("delta"))
    yield node
    node.close()


@pytest_asyncio.fixture
async def pool(node, bench, testbed, tmp_path):
    bench.sites_path = testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work", names=["delta"], nodes=[node])
    return bench


async def test_a_line_of_a_far_log_wakes_while_the_job_runs_and_the_last_one_after_it(pool, monkeypatch, tmp_path):
    """The look is as long as ever, but for the test's patience; how often one is begun must not change."""
    monkeypatch.setattr(SshTransport, "longest_wait_s", 3.0)
    looks = []
    wait_for_news = far_look.wait_for_news

    async def counted(*args, **options):
        looks.append(options["logs"])
        return await wait_for_news(*args, **options)

    monkeypatch.setattr(far_look, "wait_for_news", counted)
    service = await pool.start()
    await readings(service)
    source = "print('epoch 10 of 20', flush=True)\n" + held(tmp_path / "go", "print('epoch 20 of 20')")
    task = await pool.submit(service, source, envelope=at_delta())

    async def running():
        return (await service.task(task.id)).state is State.RUNNING

    await until(running)
    for condition in (Milestone(pattern=r"epoch 10\b"), Milestone(pattern=r"epoch 20 of"), Terminal()):
        await service.consumers.register(
            Registration(id=uuid.uuid4().hex, subject=task.id, condition=condition, consumer="monday")
        )
    gets = []
    transport = service.links["delta"].transport
    get = transport.get

    async def watched_get(path, **options):
        gets.append(path)
        return await get(path, **options)

    monkeypatch.setattr(transport, "get", watched_get)
    page = await service.consumers.wait("monday", wait=25)
    first = Waking.model_validate(page.events[0].data)
    assert (first.kind, first.line, first.state) == ("milestone", "epoch 10 of 20", State.RUNNING)
    assert gets == [], "the look that waited there brought it"
    assert any(looks), looks
    (tmp_path / "go").touch()
    await ended(service, task)

    async def all_told():
        events = (await service.consumers.wait("monday")).events
        return events if len(events) == 3 else None

    told = [Waking.model_validate(event.data) for event in await until(all_told)]
    assert {(each.kind, each.over, each.line) for each in told[1:]} == {
        ("milestone", "fired", "epoch 20 of 20"), ("terminal", "fired", ""),
    }  # fmt: skip
