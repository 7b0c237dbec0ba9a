"""This machine's shell: the scheduler's commands run here, and the site's files are ours to open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from jupyter_diamond.errors import TransportError

from .base import Completed
from .channel import READ_SCRIPT, Channel
from .marks import Reader, wrap
from .pipes import Bounded, begin, let_go, talk

_KEPT = ("HOME", "USER", "LOGNAME", "PATH", "LANG", "TMPDIR", "SHELL")
_ARGUMENT_BYTES = 96 << 10
"""Linux takes at most 128 KiB in one argument."""
_AFTER_MARK_S = 0.25
"""How long output is still awaited after the script has ended, in case somebody else keeps its pipe open."""
_FILE_TIMEOUT_S = 60.0
"""A file system that takes longer than this hangs."""

T = TypeVar("T")


def clean_environment(env: Mapping[str, str]) -> dict[str, str]:
    """A login's own variables and what the site asks for, and nothing else: no tokens, no keys, no SLURM_* of a job."""
    user = pwd.getpwuid(os.getuid())
    clean = {
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "SHELL": user.pw_shell or "/bin/sh",
    }
    clean |= {name: os.environ[name] for name in _KEPT if os.environ.get(name)}
    return {**clean, **env}


class LocalTransport:
    """Runs scripts with ``bash --noprofile --norc`` in process groups of their own; opens files by path."""

    shares_files = True
    longest_wait_s = 50.0

    def __init__(self, env: Mapping[str, str], *, where: str = "this machine") -> None:
        self._env = clean_environment(env)
        self._where = where
        # threads of our own: a dead file system may keep them for ever, and must not stop the server's others
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="diamond-files")

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float, max_bytes: int = 8 << 20, hold_stdin: bool = False
    ) -> Completed:
        """Run a script; raises TransportError when it cannot start, overruns, or does not come to its end."""
        mark = secrets.token_hex(8)
        started = time.monotonic()
        process = await begin(self._start(wrap(script, mark)))
        reader = Reader(mark, max_bytes)
        errors = Bounded(max_bytes)
        try:
            talked = talk(process, (stdin,), reader, errors, after_mark_s=_AFTER_MARK_S, hold_stdin=hold_stdin)
            await asyncio.wait_for(talked, timeout_s)
        except asyncio.TimeoutError:
            message = f"{self._where} did not finish a command within {timeout_s:g} s."
            raise TransportError(message, outcome="unknown", evidence=errors.lines()) from None
        finally:
            await let_go(process, finished=reader.ended)
        return reader.answer(
            where=self._where,
            code=process.returncode,
            stderr=bytes(errors.kept),
            stderr_cut=errors.cut,
            seconds=time.monotonic() - started,
        )

    @contextlib.asynccontextmanager
    async def channel(self) -> AsyncIterator[Channel]:
        """A way to one more process here."""
        yield Channel((self._bash(), "--noprofile", "--norc", "-c", READ_SCRIPT), self._env)

    def _bash(self) -> str:
        return shutil.which("bash", path=self._env["PATH"]) or "/bin/bash"

    async def _start(self, text: str) -> asyncio.subprocess.Process:
        bash = self._bash()
        with contextlib.ExitStack() as stack:
            how: tuple[str, ...] = ("-c", text, "diamond")
            fds: tuple[int, ...] = ()
            try:
                if len(text.encode()) > _ARGUMENT_BYTES:
                    file = stack.enter_context(tempfile.TemporaryFile())
                    file.write(text.encode())
                    file.seek(0)
                    fds, how = (file.fileno(),), (f"/dev/fd/{file.fileno()}",)
                return await asyncio.create_subprocess_exec(
                    bash,
                    "--noprofile",
                    "--norc",
                    *how,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env=self._env,
                    pass_fds=fds,
                    start_new_session=True,
                )
            except OSError as error:
                message = f"{self._where} cannot start bash ({error}); nothing was run. Put bash on the PATH."
                raise TransportError(message, outcome="not_sent") from error

    async def put(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Write a file under a temporary name, then rename it. Missing folders are made 0700."""
        await self._file(f"write {path}", lambda: _write(Path(path), data, mode))

    async def get(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read (a part of) a file."""
        return await self._file(f"read {path}", lambda: _read(Path(path), offset, limit))

    async def size(self, path: str) -> int | None:
        """The file's size; None when it does not exist."""
        return await self._file(f"look at {path}", lambda: _size(Path(path)))

    async def expand(self, path: str) -> str:
        """The absolute path; a relative one starts at home, as it would in a shell at any other site."""
        return _expand(path, self._env["HOME"])

    async def close(self) -> None:
        """Let go of the threads; running jobs are not touched."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _file(self, what: str, act: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await asyncio.wait_for(loop.run_in_executor(self._threads, act), _FILE_TIMEOUT_S)
        except FileNotFoundError:
            raise
        except asyncio.TimeoutError:
            message = f"{self._where} could not {what} within {_FILE_TIMEOUT_S:g} s: its file system hangs."
            raise TransportError(message, outcome="unknown") from None
        except OSError as error:
            message = f"{self._where} could not {what}: {str(error.strerror or error).rstrip('.')}."
            raise TransportError(message, outcome="not_sent", transient=False) from error


def _write(path: Path, data: bytes, mode: int) -> None:
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _read(path: Path, offset: int, limit: int | None) -> bytes:
    with path.open("rb") as file:
        if offset:
            file.seek(offset)
        return file.read() if limit is None else file.read(limit)


def _expand(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        return os.path.normpath(home + path[1:])
    return os.path.normpath(os.path.join(home, os.path.expanduser(path)))  # noqa: PTH111, PTH118 - text, not files


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
