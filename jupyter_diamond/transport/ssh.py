"""A site behind ssh: scripts run over one shared connection of the system's OpenSSH client.

A connection is opened first, then used. So a site that cannot be reached has surely not got the script, and what is
lost later is surely *unknown*: a command never opens a connection of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from jupyter_diamond.errors import TransportError

from .base import Completed
from .channel import Channel
from .marks import NOISE_BYTES, Reader, wrap
from .pipes import Bounded, begin, let_go, talk
from .shell_files import ShellFiles
from .ssh_client import REMOTE, Client, client_environment, crowded, never_opened, part_noise
from .ssh_master import Master

_SESSIONS = 8
"""Sessions of ours on one connection at once; OpenSSH's own limit is 10."""
_CHANNELS = 2
"""Streams of ours on one connection at once, beside the sessions."""
_OPEN_S = 60.0
_AFTER_MARK_S = 2.0
"""How long the client's end is awaited after the script's: one round trip, unless somebody keeps the channel open."""


@dataclass(frozen=True)
class _Order:
    """One script to run, with all that ``run`` was told about it."""

    script: str
    stdin: bytes
    timeout_s: float
    ends_at: float
    max_bytes: int
    hold_stdin: bool


class _NeverOpened(Exception):
    """The command surely did not begin; the client's words are the message."""


class SshTransport(ShellFiles):
    """Runs scripts with ``bash --noprofile --norc`` at the other end of ssh, whatever the login shell is."""

    shares_files = False
    longest_wait_s = 50.0  # shorter than the silence after which firewalls forget a connection

    def __init__(self, client: Client, env: Mapping[str, str]) -> None:
        super().__init__(client.where)
        self._client = client
        self._exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
        self._master = Master(client)
        self._sessions, self._channels = asyncio.Semaphore(_SESSIONS), asyncio.Semaphore(_CHANNELS)

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float, max_bytes: int = 8 << 20, hold_stdin: bool = False
    ) -> Completed:
        """Run a script; raises TransportError, whose ``outcome`` is not_sent only where that is proved."""
        ends_at = time.monotonic() + timeout_s
        order = _Order(script, stdin, timeout_s, ends_at, max_bytes, hold_stdin)
        lost, wait_s = 0, 0.1
        async with self._session(timeout_s):
            while True:
                socket = await self._master.socket(timeout_s=max(0.1, ends_at - time.monotonic()))
                try:
                    return await self._over(socket, order)
                except _NeverOpened as problem:
                    said = str(problem)
                if crowded(said) and time.monotonic() + wait_s < ends_at:
                    await asyncio.sleep(wait_s)
                    wait_s = min(2 * wait_s, 2.0)
                    continue
                self._master.forget(socket)
                lost += 1
                if crowded(said):
                    raise self._not_sent("takes no further session on this connection", said)
                if lost > 1:
                    raise self._not_sent("took a connection and lost it at once, twice", said)

    @contextlib.asynccontextmanager
    async def _session(self, timeout_s: float) -> AsyncIterator[None]:
        try:
            await asyncio.wait_for(self._sessions.acquire(), timeout_s)
        except asyncio.TimeoutError:
            raise self._not_sent(f"was busy with other commands of ours for {timeout_s:g} s", "") from None
        try:
            yield
        finally:
            self._sessions.release()

    async def _over(self, socket: str, order: _Order) -> Completed:
        """Run it over one connection. Raises _NeverOpened where that is proved, else TransportError."""
        mark = secrets.token_hex(8)
        text = f"{self._exports}printf '<<dmd:{mark}>>\\n' >&2\n{wrap(order.script, mark)}"
        started = time.monotonic()
        process = await begin(self._start(socket))
        # our mark and what stands before it take nothing from the script's own room
        reader, errors = Reader(mark, order.max_bytes), Bounded(order.max_bytes + NOISE_BYTES)
        pieces = (text.encode() + b"\0", order.stdin)
        talked = talk(process, pieces, reader, errors, after_mark_s=_AFTER_MARK_S, hold_stdin=order.hold_stdin)
        try:
            await asyncio.wait_for(talked, max(0.1, order.ends_at - started))
        except asyncio.TimeoutError:
            message = (
                f"{self._where} did not finish a command within {order.timeout_s:g} s. It may have been carried out; "
                f"it is looked for before anything is tried again."
            )
            raise TransportError(message, outcome="unknown", evidence=errors.lines()) from None
        finally:
            await let_go(process, finished=reader.ended)
        code, said, seconds = process.returncode, bytes(errors.kept), time.monotonic() - started
        if not reader.ended and code == 255:
            raise self._lost(reader, said, socket)
        done = reader.answer(where=self._where, code=code, stderr=said, stderr_cut=errors.cut, seconds=seconds)
        return part_noise(done, mark, max_bytes=order.max_bytes)

    @contextlib.asynccontextmanager
    async def channel(self) -> AsyncIterator[Channel]:
        """A way to one more process there, over the shared connection. Raises TransportError (not_sent)."""
        async with self._channels:
            socket = await self._master.socket(timeout_s=_OPEN_S)
            argv = self._argv(socket)
            yield Channel(tuple(argv), client_environment(), self._client.host, tuple(argv[: argv.index("--")]))

    def _argv(self, socket: str) -> list[str]:
        # no connection of its own: only what the master carries, never a second login
        return self._client.argv(
            "-S", socket, command=(REMOTE,), chosen=("ControlMaster=no", "ControlPersist=no", "ProxyCommand=false")
        )

    async def _start(self, socket: str) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._argv(socket),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=client_environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise TransportError(f"ssh does not start here ({error}); nothing was sent.", outcome="not_sent") from error

    def _lost(self, reader: Reader, stderr: bytes, socket: str) -> Exception:
        """The client ended with 255 before the script did."""
        said = stderr.decode("utf-8", "backslashreplace")
        if not reader.started and never_opened(255, said):
            return _NeverOpened(said)
        self._master.forget(socket)
        return TransportError(
            f"The connection to {self._where} was lost while a command ran, so what it did is unknown. "
            f"It is looked for before anything is tried again.",
            outcome="unknown",
            evidence=tuple(said.splitlines()[-20:]),
        )

    def _not_sent(self, what: str, said: str) -> TransportError:
        return TransportError(
            f"{self._where} {what}; nothing was sent. It is tried again.",
            outcome="not_sent",
            evidence=tuple(said.splitlines()[-20:]),
        )

    async def close(self) -> None:
        """End a connection of ours; the user's own stays, and running jobs are not touched."""
        await self._master.close()
