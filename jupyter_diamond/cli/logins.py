"""The verbs of the Globus login: they ask the running server, and do it themselves where none runs."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from traitlets.config import LoggingConfigurable

from jupyter_diamond.errors import DiamondError, InvalidRequest, ServerUnavailable
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.login import Login, LoginStart, LoginWay
from jupyter_diamond.model.looks import Check
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.connect import URL
from jupyter_diamond.notebook.login_text import MODE, PAIRS, LoginLink, left_text, login_facts
from jupyter_diamond.settings import DiamondGlobus

from .configured import Settings, read_settings
from .grammar import DONE, FAILED
from .output import as_json, complain, pairs, say
from .servers import Found, choose, running

T = TypeVar("T")


class Door(Protocol):
    """Who can be asked about the login."""

    def login(self) -> Login:
        """The state."""

    def begin_login(self, way: LoginWay) -> LoginStart:
        """A link."""

    def finish_login(self, code: str) -> Login:
        """A code."""

    def logout(self) -> Login:
        """The end."""


class _Here:
    """This process does it, with the settings that a server would have."""

    def __init__(self, settings: LoggingConfigurable) -> None:
        self._loop = asyncio.new_event_loop()
        self._globus = Globus(DiamondGlobus(parent=settings), logging.getLogger("jupyter_diamond.login"))

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def login(self) -> Login:
        return self._do(self._globus.login())

    def begin_login(self, way: LoginWay) -> LoginStart:
        if way == "web":
            raise InvalidRequest(
                "The browser comes back to your Jupyter server, and none is running: start JupyterLab, or log in "
                "without --web."
            )
        return self._do(self._globus.begin())

    def finish_login(self, code: str) -> Login:
        return self._do(self._globus.finish(code))

    def logout(self) -> Login:
        return self._do(self._globus.logout())

    def close(self) -> None:
        self._do(self._globus.close())
        self._do(self._loop.shutdown_default_executor())
        self._loop.close()


@contextmanager
def _door(settings: Settings, found: list[Found] | None = None) -> Iterator[Door]:
    """The server that advances work, where one runs: it is the one that must be logged in."""
    try:
        server = choose(running() if found is None else found)
    except ServerUnavailable:
        if os.environ.get(URL, "").strip():  # a server that was named is not passed by
            raise
        server = None
    if server is not None:
        with DiamondClient(lambda: server.address) as client:
            yield client
        return
    here = _Here(settings)
    try:
        yield here
    finally:
        here.close()


def auth(said: Namespace) -> int:
    """Who we are to Globus."""
    with _door(read_settings()) as door:
        found = door.login()
    if said.json:
        as_json({"login": found, "applications": dict(PAIRS)})
    else:
        pairs(login_facts(found))
        say("\nTwo pairs of variables with names alike (neither is needed for a pasted code):")
        for names, meaning in PAIRS:
            say(f"  {names}\n      {meaning}")
    return DONE if found.health == "signed_in" else FAILED


def login(said: Namespace) -> int:
    """Log in by a code, or through the browser. With --json the link is on standard error."""
    with _door(read_settings()) as door:
        found = door.login()
        if found.health == "not_installed":
            raise DiamondError(found.problem)
        if found.health == "signed_in":
            return _already(found, said)
        start = door.begin_login("web" if said.web else "code")
        (complain if said.json else say)(repr(LoginLink(start)))
        if said.web:
            if said.json:
                as_json(start)
            else:
                say("The browser says when it is done; jupyter diamond auth tells who you are.")
            return DONE
        found = door.finish_login(_ask_code())
    if said.json:
        as_json(found)
    else:
        pairs(login_facts(found))
    return DONE if found.health == "signed_in" else FAILED


def _already(found: Login, said: Namespace) -> int:
    if said.json:
        as_json(found)
    else:
        who = f" as {found.identity}" if found.identity else ""
        say(f"You are logged in{who}, by {MODE[found.mode]}. To be somebody else: jupyter diamond logout first.")
    return DONE


def _ask_code() -> str:
    """From the terminal, or from a pipe; never from the command line, which every user of the machine can see."""
    sys.stderr.write("Code: ")
    sys.stderr.flush()
    code = sys.stdin.readline().strip()
    if not code:
        raise InvalidRequest("No code was given, so nothing changed. The link stays good for half an hour.")
    return code


def logout(said: Namespace) -> int:
    """Revoke and forget."""
    with _door(read_settings()) as door:
        before = door.login()
        after = door.logout()
    if said.json:
        as_json(after)
    elif before.mode == "none":
        say("Nobody was logged in to Globus here.")
    else:
        say(left_text(before, after))
    return DONE


def globus_check(settings: Settings, found: list[Found]) -> Check:
    """For doctor, where a site is reached over Globus Compute."""
    try:
        with _door(settings, found) as door:
            login = door.login()
    except DiamondError as problem:
        return Check(name="globus", answer="warn", sentence=problem.message)
    if login.health == "signed_in":
        said = f"Logged in as {login.identity or 'somebody whom Globus does not name'}, by {MODE[login.mode]}."
        return Check(name="globus", answer="warn" if login.problem else "ok", sentence=login.problem or said)
    return Check(name="globus", answer="warn" if login.health == "unreachable" else "fail", sentence=login.problem)
