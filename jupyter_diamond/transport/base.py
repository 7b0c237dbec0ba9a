"""The seam between us and a site's shell."""

from __future__ import annotations

from typing import Protocol

from jupyter_diamond.model.base import Value


class Completed(Value):
    """What a script gave back.

    ``stdout`` is only what stood between our marks (B21); ``noise`` is what stood around it.
    """

    exit: int
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    noise: bytes = b""
    seconds: float = 0.0

    @property
    def out(self) -> str:
        """Standard output as text; undecodable bytes are escaped, never dropped."""
        return self.stdout.decode("utf-8", "backslashreplace")

    @property
    def err(self) -> str:
        """Standard error as text."""
        return self.stderr.decode("utf-8", "backslashreplace")


class Transport(Protocol):
    """One way to reach one site. Every method raises TransportError, which says whether the script may have run."""

    shares_files: bool
    """The site's files can be opened by path on this machine."""
    longest_wait_s: float
    """How long a script may just wait for something to happen: each holds a session, a worker or a place in a queue."""

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float, max_bytes: int = 8 << 20, hold_stdin: bool = False
    ) -> Completed:
        """Run a POSIX shell script at the site, in a clean shell with the site's environment.

        With ``hold_stdin`` the script's input ends when we stop listening, not when ``stdin`` is used up: a script that
        waits for something can so end with us.
        """

    async def put(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Write a small file at the site, atomically. Missing folders are made 0700."""

    async def get(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read (a part of) a file. Raises FileNotFoundError when the site says that it is not there."""

    async def size(self, path: str) -> int | None:
        """The file's size in bytes; None when it does not exist."""

    async def expand(self, path: str) -> str:
        """An absolute path at the site for one that may start with ``~``."""

    async def close(self) -> None:
        """Let go of connections; running jobs are not touched."""
