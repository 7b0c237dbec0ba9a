"""A stub of a model over real HTTP, and whoever speaks."""

from __future__ import annotations

import logging

import pytest
import pytest_asyncio

from jupyter_diamond.agent.models import watched
from jupyter_diamond.agent.models.access import Models
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.settings import DiamondAgent
from tests.live.model_stub import ModelStub


@pytest.fixture
def stub():
    with ModelStub() as stub:
        yield stub
        assert stub.surplus == 0, "the model was asked more often than the test says"


@pytest.fixture(autouse=True)
def short_rests(monkeypatch):
    monkeypatch.setattr(watched, "FIRST_REST_S", 0.01)


@pytest.fixture
def speaker():
    return Speaker(user="ada", channel="chat:c1")


@pytest.fixture
def settings(stub):
    return DiamondAgent(model="local:stub", base_url=stub.url, timeout_s=5.0, turn_requests=5)


@pytest.fixture
def log():
    return logging.getLogger("tests.models")


@pytest_asyncio.fixture
async def make(settings, log):
    """Makes an access to models, without a key of this machine's; it is closed at the end."""
    made = []

    def make(own=None, ledger=None, **how):
        made.append(Models(own or settings, log, ledger, **{"environ": {}, "keyring": lambda *_: None, **how}))
        return made[-1]

    yield make
    for models in made:
        await models.close()
