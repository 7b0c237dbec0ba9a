"""A way between two collections of the stand-in, for each test its own."""

from __future__ import annotations

import json

import pytest
import pytest_asyncio

from jupyter_diamond.globus import bucket
from tests.live.globus import COMPUTE, TRANSFER

from .between import Between, globus_at


@pytest.fixture
def no_limit(monkeypatch):
    """The limit of requests has tests of its own; here it would cost ten seconds a test."""
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket(100_000))


@pytest_asyncio.fixture
async def between_of(globus_services, tmp_path, no_limit):
    """Make a way between two collections; the login is one of tokens, unless ``environ`` says otherwise."""
    made = []
    tokens = json.dumps(globus_services.auth.issue([COMPUTE, TRANSFER]))

    def make(*, environ=None, **how):
        globus = globus_at(tmp_path, {"JUPYTER_DIAMOND_TOKENS": tokens} if environ is None else environ)
        made.append(Between(globus_services, tmp_path, globus, **how))
        return made[-1]

    yield make
    for one in made:
        await one.close()


@pytest.fixture
def between(between_of):
    return between_of()
