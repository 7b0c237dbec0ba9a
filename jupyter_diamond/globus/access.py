"""Globus as the whole server uses it: one login, one thread, one limit, and never a prompt from the background."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_diamond.errors import DiamondError, GlobusProblem, InvalidRequest
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.login import Login, LoginHealth, LoginMode, LoginStart, LoginWay
from jupyter_diamond.settings import DiamondGlobus

from .problems import (
    LOGIN,
    NOT_INSTALLED,
    LoginNeeded,
    again,
    is_over,
    merged,
    not_installed,
    problem_of,
    stopping,
    wants_of,
)
from .sources import SERVICE, TOKENS, Sources, installed, sources
from .worker import Worker

if TYPE_CHECKING:
    from .clients import Clients
    from .logins import Logins
    from .sessions import Session

T = TypeVar("T")
Listener = Callable[[Login], None]

CALLBACK = "jupyter_diamond/api/login/callback"
"""Where a browser comes back to, below the Jupyter server's address."""
CHECKED_S = 600.0
"""How long it is believed that Globus accepts the login, unless something says otherwise."""
OVER_S = 60.0
"""A login that is over is not tried again for so long, unless it was renewed."""
NEAR_S = 86_400.0
"""How long before its end a login is said to end."""


class Globus:
    """One per server process. ``call`` is for the loop; what it is given runs in the one thread of the login."""

    def __init__(self, settings: DiamondGlobus, log: logging.Logger, environ: Mapping[str, str] = os.environ) -> None:
        self._settings, self._log, self._environ = settings, log, environ
        self._worker = Worker("diamond-globus")
        self._session: Session | None = None
        self._mark: object = None
        """What the session was opened from. This and the session are the worker's own."""
        self._over: tuple[object, float, GlobusProblem] | None = None
        self._state: Login | None = None
        self._seen: object = None
        """What the state was learned from."""
        self._checked_at = float("-inf")
        self._wants: dict[str, Any] = {}
        self._untold = False
        self._logins: Logins | None = None
        self._turn = asyncio.Lock()
        self._listeners: list[Listener] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def public_url(self) -> str:
        """Where a browser reaches this server, if that was said."""
        return self._settings.public_url

    def on_change(self, listener: Listener) -> None:
        """Call ``listener`` on the loop when it changes who is logged in, or whether."""
        self._listeners.append(listener)

    async def call(self, act: Callable[[Clients], T], *, doing: str = "asking Globus", sent: bool = True) -> T:
        """Run ``act`` in the thread of the login, signed in.

        Raises GlobusProblem; ``doing`` and ``sent`` are for errors that ``act`` did not turn into one itself.
        """
        if self._closed:
            raise stopping()
        if not installed():
            raise not_installed()
        try:
            result = await self._worker.run(lambda: self._act(act, doing, sent))
        except GlobusProblem as problem:
            self._heard(problem)
            raise
        if self._state is not None and self._state.health != "signed_in" and not (self._wants or self._tasks):
            self._soon(self._check())
        return result

    async def login(self) -> Login:
        """Who is logged in, and how. Globus is asked at most once in ten minutes, unless something happened."""
        if not installed():
            return self._set(Login(health="not_installed", problem=NOT_INSTALLED))
        found, mark = await asyncio.to_thread(self._found)
        if found.nothing or found.problem:
            return self._set(self._login(found, "needs_login", problem=found.problem or _nobody()))
        if mark != self._seen:
            self._wants = {}
        if mark != self._seen or self._state is None or time.monotonic() - self._checked_at > CHECKED_S:
            await self._check()
        assert self._state is not None, "it was just checked"
        return self._state

    async def begin(self, *, callback: str | None = None) -> LoginStart:
        """Begin a login: through the browser and back to ``callback``, or else by a code to paste.

        Raises InvalidRequest where that way is not open.
        """
        if not installed():
            raise InvalidRequest(NOT_INSTALLED)
        async with self._turn:
            return await asyncio.to_thread(self._begin, callback)

    async def door(self, service: str) -> str:
        """A link that begins the login that is wanted now, for a service too; empty where the environment has it.

        Through the browser only where it is known how a browser reaches this server: the Diamond sidebar knows better.
        """
        self._wants = merged(self._wants, {"resource_server": service})
        found, _ = await asyncio.to_thread(self._found)
        web = "web" in found.ways and self.public_url
        try:
            start = await self.begin(callback=f"{self.public_url.rstrip('/')}/{CALLBACK}" if web else None)
        except InvalidRequest:
            return ""
        return start.url

    async def finish(self, code: str, *, state: str = "") -> Login:
        """Take in a code. Raises InvalidRequest for a wrong one, another identity's, or a stale ``state``."""
        async with self._turn:
            if self._logins is None:
                raise InvalidRequest("No login was begun here: begin one, open its link, then paste its code.")
            name = await asyncio.to_thread(self._logins.finish, code, state)
        self._over, self._wants = None, {}
        self._checked_at = float("-inf")
        if name is not None and self._state is not None:
            self._state = self._state.model_copy(update={"identity": name})
        self._untold = True  # also where the state is as before: somebody may wait for this
        return await self._renewed()

    async def logout(self) -> Login:
        """Revoke the login at Globus and forget it. Raises InvalidRequest where it stands in the environment."""
        if not installed():
            raise InvalidRequest(NOT_INSTALLED)
        async with self._turn:
            left = await self._worker.run(self._give_up)
        self._over, self._wants = None, {}
        self._checked_at = float("-inf")
        login = await self.login()
        return login.model_copy(update={"problem": " ".join((*left, login.problem)).strip()}) if left else login

    async def close(self) -> None:
        """End the thread and let go of connections. A login stays as it is."""
        self._closed = True
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._worker.close()
        if self._logins is not None:
            self._logins.close()

    # ---- in the worker's thread

    def _act(self, act: Callable[[Clients], T], doing: str, sent: bool) -> T:
        """Do it as whoever is logged in now; every error is told in our words."""
        problem: GlobusProblem
        try:
            return act(self._open().clients)
        except GlobusProblem as told:
            problem = told
        except DiamondError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises
            problem = problem_of(error, doing, sent)
            if problem.outcome == "unreachable" and not problem.transient:
                self._log.warning("The Globus SDK failed while %s", doing, exc_info=error)
        if is_over(problem):
            self._over = (self._mark, time.monotonic() + OVER_S, problem)
        raise problem

    def _open(self) -> Session:
        """The session of now: another one where a file or the environment changed, whoever changed it."""
        found, mark = self._found()
        if self._session is None or mark != self._mark:
            self._drop_session()
            if found.problem:
                raise LoginNeeded(found.problem)
            from .sessions import open_session

            self._session = open_session(found, self._settings.timeout_s)
            self._mark = mark
        if self._session is None:
            raise LoginNeeded(_nobody())
        if self._over is not None and self._over[0] == mark and time.monotonic() < self._over[1]:
            raise again(self._over[2])
        return self._session

    def _ask(self) -> tuple[str | None, float | None]:
        try:
            session = self._open()
            return session.who(), session.expires_at()
        except GlobusProblem:
            raise
        except Exception as error:  # whatever an SDK raises
            problem = problem_of(error, "asking who is logged in", sent=False)
            if is_over(problem):
                self._over = (self._mark, time.monotonic() + OVER_S, problem)
            raise problem from error

    def _give_up(self) -> tuple[str, ...]:
        try:
            session = self._open()
        except (LoginNeeded, GlobusProblem):
            session = self._session  # type: ignore[assignment]  # None where nobody is logged in
        if session is None:
            return ()
        if session.mode == "tokens":
            raise InvalidRequest(f"The tokens stand in {TOKENS}: unset it and restart JupyterLab to log out.")
        if session.mode == "service":
            raise InvalidRequest(f"The login stands in {' and '.join(SERVICE)}: unset both and restart JupyterLab.")
        left = session.give_up()
        self._drop_session()
        return left

    def _drop_session(self) -> None:
        session, self._session, self._mark = self._session, None, None
        if session is not None:
            session.close()

    # ---- in a thread of asyncio, under the lock

    def _found(self) -> tuple[Sources, object]:
        found = sources(self._settings, self._environ)
        return found, (found, found.fingerprint())

    def _begin(self, callback: str | None) -> LoginStart:
        found, _ = self._found()
        way: LoginWay = "web" if callback else "code"
        if found.problem:
            raise InvalidRequest(found.problem)
        if way not in found.ways:
            raise InvalidRequest(_closed(found, way))
        if self._logins is None:
            from .logins import Logins

            self._logins = Logins(self._settings.timeout_s)
        mode: LoginMode = "web" if callback else "pasted" if found.own_client else "cached"
        return self._logins.begin(found, mode, callback, self._wants)

    # ---- on the loop: what is known of the login

    async def _renewed(self) -> Login:
        """The state after a login: Globus has just said yes, whatever is to be asked of it now."""
        login = await self.login()
        if login.health == "unreachable":
            login = self._set(login.model_copy(update={"health": "signed_in", "problem": ""}))
        return login

    async def _check(self) -> Login:
        found, mark = await asyncio.to_thread(self._found)
        try:
            asked = self._worker.run(self._ask)
            name, expires = await asyncio.wait_for(asked, self._settings.timeout_s + 5.0)
        except asyncio.TimeoutError:
            said = "Globus has not said in time who is logged in; it is asked again."
            return self._set(self._login(found, "unreachable", problem=said))
        except GlobusProblem as problem:
            health: LoginHealth = "needs_login" if problem.outcome == "needs_login" else "unreachable"
            self._learned(mark, again=health == "unreachable")
            return self._set(self._login(found, health, problem=problem.message))
        self._learned(mark)
        if self._wants and self._state is not None and self._state.health == "needs_login":
            return self._state  # the login is good, and yet something wants another one
        ends = None if expires is None else from_epoch(expires)
        return self._set(self._login(found, "signed_in", identity=name, expires_at=ends, problem=_near(ends)))

    def _learned(self, mark: object, *, again: bool = False) -> None:
        self._seen = mark
        self._checked_at = float("-inf") if again else time.monotonic()

    def _heard(self, problem: GlobusProblem) -> None:
        """What a call met says something of the login, too."""
        if problem.outcome == "unreachable":
            self._checked_at = float("-inf")
        if problem.outcome != "needs_login":
            return
        self._wants = merged(self._wants, wants_of(problem))
        found, mark = self._found()
        self._learned(mark)
        self._set(self._login(found, "needs_login", problem=problem.message))

    def _login(
        self, found: Sources, health: LoginHealth, *, identity: str | None = None, expires_at: datetime | None = None,
        problem: str = "",
    ) -> Login:  # fmt: skip
        session = self._session
        mode: LoginMode = "tokens" if found.tokens is not None else "none"
        if session is not None and not found.nothing:
            mode = session.mode
        old = self._state
        if identity is None and old is not None and old.mode == mode and mode != "none":
            identity = old.identity
        path = found.tokens_file if session is None else session.path if mode != "none" else None
        return Login(
            health=health, mode=mode, identity=identity, problem=problem, expires_at=expires_at, ways=found.ways,
            service_identity=mode == "service" or str(identity).endswith("@clients.auth.globus.org"),
            tokens_path=None if path is None else str(path),
        )  # fmt: skip

    def _set(self, login: Login) -> Login:
        old, self._state = self._state, login
        changed = old is None or (old.health, old.mode, old.identity) != (login.health, login.mode, login.identity)
        if old is None and login.health == "signed_in":
            changed = False  # it was so before we knew
        if changed or (self._untold and login.health == "signed_in"):
            self._untold = False
            for listener in self._listeners:
                listener(login)
        return login

    def _soon(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work, name="diamond: who is logged in to Globus")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _nobody() -> str:
    return f"Nobody is logged in to Globus; {LOGIN}."


def _near(ends: datetime | None) -> str:
    if ends is None or ends.timestamp() - time.time() > NEAR_S:
        return ""
    return f"The tokens in {TOKENS} end at {ends.astimezone():%H:%M on %-d %b}: renew them before that."


def _closed(found: Sources, way: LoginWay) -> str:
    if way == "web":
        return (
            "A sign-in through the browser needs an application of yours: register one with Globus, set "
            "GLOBUS_CLIENT_ID and GLOBUS_CLIENT_SECRET, restart JupyterLab. A pasted code needs nothing."
        )
    if found.tokens is not None:
        return f"{TOKENS} is set and goes before a pasted code: unset it and restart JupyterLab, or renew the tokens."
    if found.service is not None:
        return f"{' and '.join(SERVICE)} are set and go before a pasted code: unset both and restart JupyterLab."
    return "A sign-in through the browser goes before a pasted code: use it again, or log out first."
