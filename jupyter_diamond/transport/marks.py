"""Two random marks around a script's output: only what stands between them is ours (B21).

Dotfiles, banners and purge notices print where they like, also before a shell of ours can start (sshd sources them),
so every transport wraps its scripts here and reads the answer back here.
"""

from __future__ import annotations

import re
import shlex

from jupyter_diamond.errors import TransportError

from .base import Completed

NOISE_BYTES = 64 << 10
"""How much noise is kept on either side of the answer."""


def wrap(script: str, mark: str) -> str:
    """Shell text that runs the script in a subshell between two marks; the second one carries its exit code.

    ``eval`` in a subshell keeps the second mark safe from an ``exit``, a trap or a syntax error of the script.
    """
    # the script is text of ours with newlines by nature: quoting.quote, made for fields, would refuse it
    body = shlex.quote(script)
    return f"printf '\\n<<dmd:{mark}>>\\n'\n(eval {body})\nprintf '\\n<<dmd:{mark}:rc=%s>>\\n' \"$?\"\n"


class Reader:
    """Standard output as it comes in, bounded: at most ``max_bytes`` of answer and some noise are kept."""

    def __init__(self, mark: str, max_bytes: int) -> None:
        self._start = f"\n<<dmd:{mark}>>\n".encode()
        self._end = re.compile(b"\n<<dmd:" + mark.encode() + rb":rc=(\d+)>>\n")
        self._max_bytes = max_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._head_room = max_bytes + 2 * NOISE_BYTES
        self._total = 0
        self.ended = False
        """The second mark has come: nothing that follows belongs to the answer."""

    def feed(self, chunk: bytes) -> None:
        """Take the next piece."""
        self._total += len(chunk)
        room = self._head_room - len(self._head)
        self._head += chunk[: max(room, 0)]
        before = max(len(self._tail) - 80, 0)
        self._tail += chunk
        if not self.ended:
            self.ended = self._end.search(self._tail, before) is not None
        if len(self._tail) > 2 * NOISE_BYTES:
            del self._tail[:-NOISE_BYTES]

    @property
    def started(self) -> bool:
        """The first mark has come: the script runs, or has run."""
        return self._start in self._head

    def answer(self, *, where: str, code: int | None, stderr: bytes, stderr_cut: bool, seconds: float) -> Completed:
        """What stood between the marks. Raises TransportError (outcome unknown) when a mark is missing."""
        start = self._head.find(self._start)
        if start < 0 or not self.ended:
            raise self._unmarked(where, code, bytes(stderr), started=start >= 0)
        before = bytes(self._head[:start])
        begin = start + len(self._start)
        end = self._end.search(self._head, begin)
        last = end or self._end.search(self._tail)
        assert last is not None  # ``ended`` says so
        stdout = bytes(self._head[begin : end.start() if end else None])
        cut = end is None or len(stdout) > self._max_bytes
        after = bytes((self._head if end else self._tail)[last.end() :])
        return Completed(
            exit=int(last[1]),
            stdout=stdout[: self._max_bytes],
            stderr=stderr,
            truncated=cut or stderr_cut,
            noise=(before + after)[:NOISE_BYTES],
            seconds=seconds,
        )

    def _unmarked(self, where: str, code: int | None, stderr: bytes, *, started: bool) -> TransportError:
        """The error for a shell that did not come to the end of the script, or never to its start."""
        said = bytes(self._head)
        if started:
            said = said[said.find(self._start) + len(self._start) :]
        lines = [text for text in (said + b"\n" + stderr).decode("utf-8", "backslashreplace").splitlines() if text]
        ended = "" if code is None else f" (its shell ended with {code})"
        first = f" It printed: {lines[0].strip()[:200]!r}." if lines else " It printed nothing."
        if started:
            message = f"{where} stopped in the middle of a script{ended}, so what it did is unknown.{first}"
        else:
            message = (
                f"{where} printed something else than an answer{ended}.{first} "
                f"If a start-up file such as ~/.bashrc prints that or ends the shell, make it silent there for shells "
                f"that are not interactive."
            )
        return TransportError(message, outcome="unknown", evidence=tuple(lines[:20]))
