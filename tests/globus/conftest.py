"""A login of ours, the real SDK beneath it, and the stand-in of the services behind that."""

from __future__ import annotations

import asyncio
import logging
import stat
import time
import traceback
from typing import ClassVar

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


class Watched(Globus):
    """Keeps everything that it ever answered, raised or told, as text."""

    said: ClassVar[list[str]] = []

    async def _keep(self, work):
        try:
            found = await work
        except Exception as error:
            evidence = getattr(error, "evidence", ())
            self.said.append("".join(traceback.format_exception(error)) + repr(error) + repr(evidence))
            raise
        self.said.append(repr(found))
        return found

    async def call(self, act, **how):
        return await self._keep(super().call(act, **how))

    async def login(self):
        return await self._keep(super().login())

    async def begin(self, **how):
        return await self._keep(super().begin(**how))

    async def finish(self, code, **how):
        return await self._keep(super().finish(code, **how))

    async def logout(self):
        return await self._keep(super().logout())


def secrets_of(services):
    """Everything secret that the services ever gave or were shown."""
    found = {client.secret for client in services.auth.identities.clients.values()}
    found |= {*services.auth.tokens, *services.auth.refresh_tokens}
    for exchange in services.requests("oauth2"):
        asked, answered = (one if isinstance(one, dict) else {} for one in (exchange.asked, exchange.answered))
        found |= {asked[name] for name in ("code", "refresh_token", "token") if name in asked}
        for part in (answered, *answered.get("other_tokens", ())):
            found |= {part[name] for name in ("access_token", "refresh_token", "id_token") if name in part}
    return found - {"wrong", "nonsense", ""}


@pytest_asyncio.fixture
async def globus_of(globus_services, home, caplog, capfd):
    """Make a Globus: settings and environment as a server would have them. Two of one test share the files.

    After the test, no log line of any level, no output, answer, error or traceback may have had a token, a refresh
    token, a client's secret or a code in it.
    """
    caplog.set_level("DEBUG")
    Watched.said.clear()
    made = []

    def make(*, environ=None, **settings):
        settings = DiamondGlobus(
            **{"tokens_folder": str(home / "diamond" / "globus"), "client_id": "", "timeout_s": 5.0, **settings}
        )
        one = Watched(settings, logging.getLogger("jupyter_diamond"), {"HOME": str(home), **(environ or {})})
        made.append(one)
        return one

    yield make
    for one in made:
        await one.close()
    logged = [logging.Formatter().format(record) for phase in ("setup", "call") for record in caplog.get_records(phase)]
    assert any(line.startswith("Starting new HTTP connection") for line in logged) or not globus_services.requests(
        "POST"
    )
    told = "".join((*logged, *capfd.readouterr(), *Watched.said))
    assert [secret for secret in secrets_of(globus_services) if secret in told] == []


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
