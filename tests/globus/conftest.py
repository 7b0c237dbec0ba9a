"""A login of ours, the real SDK beneath it, and the stand-in of the services behind that."""

from __future__ import annotations

import asyncio
import logging
import stat
import time

import pytest
import pytest_asyncio

from jupyter_diamond.globus import bucket
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.settings import DiamondGlobus

CALLBACK = "https://hub.uni.edu/user/alice/jupyter_diamond/api/login/callback"
OURS = "cccccccc-0000-4000-8000-00000000000c"
"""The public application of a user who registered one."""


@pytest.fixture(autouse=True)
def no_limit(monkeypatch):
    """The limit has tests of its own; here it would cost ten seconds a test."""
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket(100_000))


@pytest.fixture
def home(tmp_path):
    """The home folder of a user whom Globus does not know yet."""
    found = tmp_path / "home"
    found.mkdir()
    return found


@pytest_asyncio.fixture
async def globus_of(globus_services, home):
    """Make a Globus: settings and environment as a server would have them. Two of one test share the files."""
    made = []

    def make(*, environ=None, **settings):
        settings = DiamondGlobus(
            **{"tokens_folder": str(home / "diamond" / "globus"), "client_id": "", "timeout_s": 5.0, **settings}
        )
        one = Globus(settings, logging.getLogger("jupyter_diamond"), {"HOME": str(home), **(environ or {})})
        made.append(one)
        return one

    yield make
    for one in made:
        await one.close()


@pytest.fixture
def web(globus_services):
    """The environment of a server with a confidential application."""
    client = globus_services.auth.add_client("portal", redirects=[CALLBACK])
    return {"GLOBUS_CLIENT_ID": client.id, "GLOBUS_CLIENT_SECRET": client.secret}


async def log_in(globus, services, **how):
    """As the user does: open the link, allow, paste the code."""
    start = await globus.begin()
    return await globus.finish(services.auth.approve(start.url, **how).code)


async def log_in_by_browser(globus, services, **how):
    """As the browser does: it comes back to the callback with code and state."""
    start = await globus.begin(callback=CALLBACK)
    back = services.auth.approve(start.url, **how)
    state = back.location.partition("state=")[2]
    return await globus.finish(back.code, state=state)


def endpoints(clients):
    """The simplest thing to ask."""
    return [one["name"] for one in clients.compute2.get_endpoints()]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


async def until(check, seconds=10.0):
    """Poll until ``check`` gives something true."""
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        await asyncio.sleep(0.02)
