"""Listening to the log of one attempt: what the site's watcher reads anyhow, as whole lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_diamond.parsing.patterns import LINE

MOST_HEARD = 256 << 20
"""No more of a log is searched."""
_MOST_BYTES = 4 << 20
"""So much is kept until it has been searched; no more is asked for before that."""
_ENDS = re.compile(rb"[\r\n]+")
_LINE_BYTES = 4 * LINE


@dataclass
class LogEar:
    """``n`` is the attempt, ``wake`` is called when there is something to search.

    ``offset`` is where the next piece begins: one that begins elsewhere is passed over, so that nothing is heard twice.
    """

    n: int
    wake: Callable[[], None]
    offset: int = 0
    _pieces: list[bytes] = field(default_factory=list)
    _rest: bytes = b""

    def wanted(self, n: int) -> int | None:
        """From where on the log of attempt ``n`` is wanted; None where it is not, or there is enough to search."""
        room = self.offset < MOST_HEARD and sum(map(len, self._pieces)) < _MOST_BYTES
        return self.offset if room and n == self.n else None

    def take(self, n: int, offset: int, piece: bytes) -> None:
        """The log's next piece."""
        if n == self.n and offset == self.offset:
            self._pieces.append(piece)
            self.offset += len(piece)
            self.wake()

    def begin_again(self) -> None:
        """Somebody new listens: from the log's start."""
        self.offset, self._pieces, self._rest = 0, [], b""

    def lines(self, *, last: bool = False) -> list[str]:
        """The whole lines of what was heard; with ``last`` the unfinished one, too. A bar's turns are lines."""
        heard, self._pieces = b"".join((self._rest, *self._pieces)), []
        *lines, rest = _ENDS.split(heard)
        self._rest = b"" if last else rest[:_LINE_BYTES]
        return [
            line[:_LINE_BYTES].decode("utf-8", "backslashreplace") for line in (*lines, rest if last else b"") if line
        ]
