"""Transfers by Globus as the whole service does them: stored, told, ended for good."""

import json
import logging
from uuid import uuid4

import pytest
import pytest_asyncio

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.data import Location, StageOut
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.transfer import TransferPlan, TransferRequest
from jupyter_diamond.notebook.data_words import plan_text
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import (
    DiamondData,
    DiamondEngine,
    DiamondGlobus,
    DiamondLimits,
    DiamondSites,
    DiamondStore,
)
from tests.engine import cells
from tests.engine.conftest import ended
from tests.engine.conftest import until as comes
from tests.live.globus import COMPUTE, TRANSFER

from .test_globus_faults import until

pytestmark = pytest.mark.asyncio


@pytest.fixture
def archive(globus_services, tmp_path, monkeypatch):
    """A collection that no shell reaches, with some files in it."""
    tokens = globus_services.auth.issue([COMPUTE, TRANSFER])
    monkeypatch.setenv("JUPYTER_DIAMOND_TOKENS", json.dumps(tokens))
    made = globus_services.transfer.add_collection("Archive", tmp_path / "archive")
    (made.root / "in").mkdir()
    for number in range(5):
        (made.root / "in" / f"f{number}").write_bytes(b"x" * 3000)
    return made


@pytest_asyncio.fixture
async def service(archive, globus_services, tmp_path, no_limit):
    """One whose own machine has a collection."""
    here = globus_services.transfer.add_collection("Here", tmp_path / "here")
    boxed = globus_services.transfer.add_collection("Box", tmp_path / "box")
    box = {"name": "box", "scheduler": "process", "workdir": str(boxed.root)}
    held = [{"id": boxed.id, "folder": str(boxed.root)}]
    (tmp_path / "sites.yaml").write_text(json.dumps({"sites": [box | {"data": {"collections": held}}]}))
    made = DiamondService(
        store=DiamondStore(path=str(tmp_path / "diamond" / "store.sqlite")),
        sites=DiamondSites(path=str(tmp_path / "sites.yaml")),
        engine=DiamondEngine(), limits=DiamondLimits(), log=logging.getLogger("diamond.test"),
        data=DiamondData(collections={here.id: str(here.root)}),
        globus=DiamondGlobus(tokens_folder=str(tmp_path / "globus"), client_id=""),
    )  # fmt: skip
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def asked(archive, tmp_path):
    def ask(path="/in", **how):
        return TransferRequest(
            client_token=uuid4().hex, source=Location(kind="globus", collection=archive.id, path=path),
            destination=Location(kind="home", path=str(tmp_path / "here" / "out")), **how,
        )  # fmt: skip

    return ask


async def test_a_folder_comes_once_and_the_second_time_nothing_moves(service, asked, globus_services, tmp_path):
    first = await service.transfers.start(asked())
    assert (first.mover, first.progress.bytes_total, first.progress.files_total) == ("globus", 15_000, 5)
    done = await service.transfers.wait(first.id)
    assert (done.state, done.progress.bytes_done, done.progress.bytes_sent) == ("succeeded", 15_000, 15_000), done.cause
    assert done.native_id == globus_services.transfer.transfers()[0].id
    second = await service.transfers.wait((await service.transfers.start(asked())).id)
    assert (second.state, second.progress.bytes_sent, second.progress.files_skipped) == ("succeeded", 0, 5)
    assert len(list((tmp_path / "here" / "out").iterdir())) == 5


async def test_what_is_missing_is_told_at_once(service, asked, globus_services):
    with pytest.raises(DataProblem) as told:
        await service.transfers.start(asked("/nowhere"))
    assert told.value.kind == "missing"
    assert globus_services.transfer.transfers() == []


@pytest.mark.parametrize("how", ["deadline", "cancelled"])
async def test_its_end_is_the_end_of_the_task_at_globus(service, asked, archive, globus_services, tmp_path, how):
    archive.rate = 2000
    begun = await service.transfers.start(asked(deadline_s=2.0 if how == "deadline" else 600.0))
    await until(lambda: list((tmp_path / "here").iterdir()))
    if how == "cancelled":
        await service.transfers.cancel(begun.id, "user")
    done = await service.transfers.wait(begun.id)
    assert done.state == ("failed" if how == "deadline" else "cancelled")
    assert [task.ended for task in globus_services.transfer.transfers()] == [True]
    assert list((tmp_path / "here").iterdir()) == []


async def test_a_consent_that_is_missing_does_not_keep_it_from_being_taken(service, asked, archive, globus_services):
    archive.data_access = True
    begun = await service.transfers.start(asked())
    waiting = await until_state(service, begun, "needs_you")
    assert "of Archive" in waiting.trouble
    assert globus_services.transfer.transfers() == []
    archive.data_access = False
    assert (await service.transfers.cancel(begun.id, "user")).cancel_requested_by == "user"
    assert (await service.transfers.wait(begun.id)).state == "cancelled"


async def test_what_will_be_asked_for_is_known_before_it_is_asked_for(service, asked, archive):
    archive.data_access, archive.ha_timeout = True, 3600
    request = asked()
    assert (await service.transfers.plan(request.source, request.destination))[0] == "globus"
    needs = await service.transfers.needs(request.source, request.destination)
    assert [(need.kind, need.blocks) for need in needs] == [("session", False), ("login", True)]
    text = plan_text(TransferPlan(mover="globus", why="Both are reached so.", needs=needs))
    assert "Archive wants a fresh login every 60 min" in text
    assert "wants your consent while looking at /in of Archive" in text


async def test_a_consent_for_bringing_files_away_is_asked_for_when_the_task_is_taken(service, archive, tmp_path):
    archive.data_access = True
    source = cells.held(tmp_path / "gate", "open('a.txt', 'w').close()")
    away = StageOut(pattern="*.txt", destination=Location(kind="globus", collection=archive.id, path="/results"))
    data = cells.bundle(source)
    request = cells.request(source, data, envelope=Envelope(site="box", stage_out=(away,)))
    task = (await service.submit(request, data)).task

    async def asks():
        login = await service.globus.login()
        return login.health == "needs_login" and login.problem

    assert "Archive" in await comes(asks)
    assert not (await service.task(task.id)).state.terminal, "its user hears of it while it waits or runs"
    await service.cancel(task.id, "the test's end")
    await ended(service, task)


async def until_state(service, transfer, state):
    """The transfer, once it is in this state."""
    while (found := await service.transfers.get(transfer.id)).state != state:
        assert not found.ended, found.cause
        await service._ledger.wait(service._ledger.newest, 0.5)
    return found
