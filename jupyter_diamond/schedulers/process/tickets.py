"""The queue's folder: tickets, who runs them, and how they ended."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from jupyter_diamond.parsing.numbers import whole

from . import machine

KEEP_ENDED_S = 30 * 86400.0
"""How long the record of an ended job is kept."""


class Ticket(TypedDict):
    """What was asked. ``memory_bytes`` None: no limit, nothing set aside. ``warn_before_end_s`` 0: no warning."""

    number: int
    id: str
    token: str
    name: str
    folder: str
    cpus: int
    gpus: int
    memory_bytes: int | None
    walltime_s: int
    login: bool
    env: dict[str, str]
    host: str
    submitted_at: float
    warn_before_end_s: int
    warn_signal: str


class Run(TypedDict):
    """Who runs it. ``group`` is 0 until the job's process group exists; births tell a number that is used again."""

    pid: int
    birth: str
    group: int
    group_birth: str
    host: str
    boot: str
    started_at: float


class End(TypedDict):
    """How it ended. ``state`` is our own word for it."""

    state: str
    exit_code: int | None
    signal: int | None
    reason: str
    started_at: float | None
    ended_at: float
    max_rss_bytes: int | None
    cancelled_by: str


class QueueUnusable(Exception):
    """The queue's folder cannot be used; the text says why and what to do."""


class Job:
    """One ticket's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name

    @property
    def number(self) -> int:
        """Its place in the line."""
        digits = self.id[1:].partition("-")[0]
        return whole(digits) or 0

    def ticket(self) -> Ticket | None:
        """What was asked; None when the job is gone."""
        return cast("Ticket | None", _read(self.path / "ticket.json"))

    def run(self) -> Run | None:
        """Who runs it; None before that is known."""
        return cast("Run | None", _read(self.path / "run.json"))

    def end(self) -> End | None:
        """How it ended; None while it has not."""
        return cast("End | None", _read(self.path / "end.json"))

    def cancelled_by(self) -> str | None:
        """Who asked for its end."""
        note = _read(self.path / "cancel.json")
        return None if note is None else str(note["by"])

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Write one of its files, whole or not at all."""
        write(self.path / name, json.dumps(content))

    def was_started(self) -> bool:
        """It left the line."""
        return (self.path / "life").exists()

    def gpus(self) -> list[int]:
        """The GPUs that it was given when it was started."""
        try:
            return [int(number) for number in json.loads((self.path / "life").read_text())]
        except (FileNotFoundError, ValueError):
            return []

    def supervised(self) -> bool:
        """Its supervisor lives: only that holds the lock, and the kernel lets go of it however the holder ends."""
        try:
            descriptor = os.open(self.path / "life", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False


class Queue:
    """All tickets of one user on one machine."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.descriptor = -1

    def make(self) -> None:
        """Make the folders. Raises QueueUnusable when others could write there."""
        if not self.folder.is_absolute():
            raise QueueUnusable("DIAMOND_PROCESS_QUEUE is not set; set it in the site's env to a folder of yours.")
        for name in ("active", "ended", "tokens"):
            (self.folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        found = self.folder.stat()
        if found.st_uid != os.getuid():
            raise QueueUnusable(
                f"{self.folder} belongs to somebody else; set DIAMOND_PROCESS_QUEUE to a folder of yours."
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            self.folder.chmod(0o700)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the queue's lock."""
        self.descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        except OSError as error:
            os.close(self.descriptor)
            if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
                message = f"The file system of {self.folder} has no locks; set DIAMOND_PROCESS_QUEUE to a local disk."
                raise QueueUnusable(message) from error
            raise
        try:
            yield
        finally:
            # said aloud: a supervisor forked meanwhile holds the same open file
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
            os.close(self.descriptor)
            self.descriptor = -1

    def active(self) -> list[Job]:
        """Jobs that have not ended, first in line first."""
        return sorted(self._jobs("active"), key=lambda job: job.number)

    def find(self, job_id: str) -> Job | None:
        """A job by id. It may move from active to ended while we look, never back."""
        for place in ("active", "ended", "active"):
            path = self.folder / place / job_id
            if path.is_dir():
                return Job(path)
        return None

    def by_token(self, token: str) -> Job | None:
        """The job with this token."""
        if not token.replace("-", "").isalnum():
            return None
        try:
            return self.find((self.folder / "tokens" / token).read_text())
        except FileNotFoundError:
            return None

    def next_number(self) -> int:
        """Count one up. Under the lock."""
        path = self.folder / "next"
        try:
            number = int(path.read_text())
        except (FileNotFoundError, ValueError):
            number = max((job.number for place in ("active", "ended") for job in self._jobs(place)), default=0) + 1
        write(path, str(number + 1))
        return number

    def add(self, ticket: Ticket) -> Job:
        """Put a ticket in the line, its token first: one token never gives two jobs. Under the lock."""
        hidden = self.folder / "active" / f".{ticket['id']}"
        hidden.mkdir(mode=0o700)
        Job(hidden).write("ticket.json", ticket)
        write(self.folder / "tokens" / ticket["token"], ticket["id"])
        return Job(hidden.rename(self.folder / "active" / ticket["id"]))

    def retire(self, job: Job) -> None:
        """Move an ended job out of the line. Under the lock."""
        with contextlib.suppress(FileNotFoundError):
            job.path.rename(self.folder / "ended" / job.id)

    def forget_old(self, now: float) -> None:
        """Remove records that nobody will ask for any more. Under the lock."""
        for job in self._jobs("ended"):
            end = job.end()
            if end is not None and now - end["ended_at"] > KEEP_ENDED_S:
                ticket = job.ticket()
                if ticket is not None:
                    (self.folder / "tokens" / ticket["token"]).unlink(missing_ok=True)
                shutil.rmtree(job.path, ignore_errors=True)

    def _jobs(self, place: str) -> list[Job]:
        with contextlib.suppress(FileNotFoundError):
            return [Job(path) for path in (self.folder / place).iterdir() if not path.name.startswith(".")]
        return []


def end_record(
    state: str,
    *,
    reason: str = "",
    started_at: float | None = None,
    exit_code: int | None = None,
    signal: int | None = None,
    max_rss_bytes: int | None = None,
    cancelled_by: str = "",
) -> End:
    """How a job ended, now."""
    return End(
        state=state,
        exit_code=exit_code,
        signal=signal,
        reason=reason,
        started_at=started_at,
        ended_at=time.time(),
        max_rss_bytes=max_rss_bytes,
        cancelled_by=cancelled_by,
    )


def new_id(number: int) -> str:
    """A job's id: its number, and a word that keeps apart queues which count from one again."""
    return f"p{number}-{os.urandom(3).hex()}"


def is_ours(ticket: Ticket | Run) -> bool:
    """It belongs to this machine; a home folder may be seen by many."""
    return ticket["host"] == machine.name()


def write(path: Path, text: str) -> None:
    """Write a file under a temporary name, then rename it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    temporary.replace(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None  # a power cut may leave an empty file: its job is as good as unknown
    return content if isinstance(content, dict) else None
