"""The one authenticated connection of a site, which all commands share: the user's own, or one of ours."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import hashlib
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from jupyter_diamond.errors import TransportError

from .ssh_client import Client, Refusal, client_environment, patience, why_not

_PERSIST_S = 600
"""How long a connection of ours that was left behind by a killed server stays open without use."""
_LOCAL_S = 10.0
"""How long ssh may take for what it does on this machine alone."""
_GOODBYE_S = 0.5
"""A connection that does not end when it is told goes by itself, unused."""
_LOGIN_S = 45.0
"""How long a whole login may take: name, network, keys, a slow home file system."""
_SOCKET_BYTES = 85
"""A Unix socket's path takes 103 bytes on the narrowest system, and ssh appends 17 of its own while it binds."""


class Master:
    """Finds or opens the connection. Never asks anybody anything, and never knocks again soon after a refusal (S4)."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._lock = asyncio.Lock()
        self._current: str | None = None
        self._settings: dict[str, str] | None = None
        self._refused: tuple[float, TransportError] | None = None
        self._given = hashlib.sha256(repr((client.host, client.options, client.config)).encode()).hexdigest()[:12]
        self._own = f"{self._given}-{secrets.token_hex(3)}"

    async def socket(self, *, timeout_s: float) -> str:
        """The control socket of a living connection. Raises TransportError (not_sent), for a while the same one."""
        if self._current is not None:
            return self._current
        try:
            return await asyncio.wait_for(self._find_or_open(), timeout_s)
        except asyncio.TimeoutError:
            raise TransportError(
                f"{self._client.where} ({self._client.host}) was not reached by ssh within {timeout_s:.2g} s; "
                f"nothing was sent. It is tried again.",
                outcome="not_sent",
            ) from None

    def forget(self, socket: str) -> None:
        """This connection is gone."""
        if self._current == socket:
            self._current = None

    async def close(self) -> None:
        """End a connection of ours; the user's own stays."""
        path = self._path(self._own)
        if os.path.exists(path):  # noqa: ASYNC240, PTH110 - one look at a local socket
            with contextlib.suppress(TransportError):
                await _local(self._client.argv("-S", path, "-O", "exit"), timeout_s=_GOODBYE_S)
        self._current = None

    async def _find_or_open(self) -> str:
        async with self._lock:
            if self._current is not None:
                return self._current
            if self._settings is None:
                self._settings = await self._read_settings()
            for path in (self._users(), self._path(self._given), self._path(self._own)):
                if path is not None and await self._lives(path):
                    self._current, self._refused = path, None
                    return path
            if self._refused is not None and time.monotonic() < self._refused[0]:
                raise self._refused[1]
            self._current = await self._open()
            return self._current

    async def _open(self) -> str:
        path = self._path(self._own)
        assert self._settings is not None, "settings are read before anything is opened"
        chosen = ("ControlMaster=yes", f"ControlPersist={_PERSIST_S}", *patience(self._settings))
        # stderr is a file: a master in the background would hold a pipe open for ever
        with tempfile.TemporaryFile() as errors:
            code = await _call(self._client.argv("-fN", "-S", path, chosen=chosen), errors.fileno(), _LOGIN_S)
            errors.seek(0)
            said = errors.read(64 << 10).decode("utf-8", "backslashreplace")
        if code == 0 and await self._lives(path):
            self._refused = None
            return path
        if code is None:
            slow = f"{self._client.where} ({self._client.host}) did not let us in within {_LOGIN_S:g} s"
            refusal = Refusal(f"{slow}; nothing was sent. It is tried again.", 0.0)
        else:
            refusal = why_not(self._client, said, login=self._login())
        error = refusal.error(tuple(said.splitlines()[-20:]))
        self._refused = (time.monotonic() + refusal.pause_s, error)
        self._settings = None  # the user may mend the config meanwhile
        raise error

    async def _read_settings(self) -> dict[str, str]:
        """What the user's config says about this host, as ssh itself reads it."""
        code, out, said = await _local(self._client.settings_argv())
        if code != 0:
            raise why_not(self._client, said, login=self._login()).error(tuple(said.splitlines()[-20:]))
        pairs = (line.partition(" ") for line in out.splitlines())
        return {name: value for name, _, value in pairs}

    def _users(self) -> str | None:
        """The control socket that the user's config names, if it names one."""
        path = (self._settings or {}).get("controlpath", "none")
        return None if path in ("none", "") else os.path.expanduser(path)  # noqa: PTH111 - text for ssh

    def _login(self) -> str:
        """What a user can do where only a user can log in."""
        settings = self._settings or {}
        if self._users() is not None and settings.get("controlmaster", "false") not in ("false", "no"):
            stay = "" if settings.get("controlpersist", "no") != "no" else ", and keep it open"
            return f"open a connection once in a terminal: `{self._client.login_words()}`{stay}."
        words = self._client.login_words("-fNM", "-o", "ControlPersist=yes", "-S", self._path(self._given))
        return f"open a connection once in a terminal: `{words}`."

    def _path(self, name: str) -> str:
        return str(socket_folder() / name)

    async def _lives(self, path: str) -> bool:
        if not os.path.exists(path):  # noqa: ASYNC240, PTH110 - one look at a local socket
            return False
        code, _, _ = await _local(self._client.argv("-S", path, "-O", "check"))
        return code == 0


async def _local(argv: Sequence[str], *, timeout_s: float = _LOCAL_S) -> tuple[int | None, str, str]:
    """A call of ssh that stays on this machine: its exit code and what it said."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        code = await _call(argv, errors.fileno(), timeout_s, stdout=out.fileno())
        out.seek(0)
        errors.seek(0)
        return code, out.read(64 << 10).decode(errors="replace"), errors.read(64 << 10).decode(errors="replace")


async def _call(argv: Sequence[str], stderr: int, timeout_s: float, *, stdout: int | None = None) -> int | None:
    """Run ssh without input and outside any terminal; its exit code, or None when it overran."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL if stdout is None else stdout,
            stderr=stderr,
            env=client_environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise TransportError(f"ssh does not start here ({error}); nothing was sent.", outcome="not_sent") from error
    try:
        return await asyncio.wait_for(process.wait(), timeout_s)
    except asyncio.TimeoutError:
        return None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def socket_folder() -> Path:
    """A short folder that is ours alone. Raises TransportError when somebody else has taken its name."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = Path(runtime) / "diamond-ssh"
    if not runtime or len(os.fsencode(folder)) + 20 > _SOCKET_BYTES or not os.access(runtime, os.W_OK):
        folder = Path("/tmp") / f"diamond-ssh-{getpass.getuser()[:32]}"  # noqa: S108 - checked below
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise TransportError(
            f"{folder} is not a private folder of yours, so no connection is opened there; remove it.",
            outcome="not_sent",
        )
    return folder
