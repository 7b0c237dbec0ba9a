"""Looking into the folders of jobs where they are in reach: many times a second, and a thousand of them.

Whether anything can be new in a folder is told by its own time and the size of the log in it, two ``stat`` calls. Only
where these have changed lately are files read; and however many folders there are, looking takes a small part of the
time. File systems tell times in steps, and may tell them late, so what has just changed is read again for a while, and
everything now and then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.attempt_folder import Seen
from jupyter_diamond.engine.batch import newest
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.model import attempt_files as files

SETTLED_S, ANYWAY_S = 3.0, 30.0
"""So long after a change a folder is read at every look; and so often one in which nothing changes."""
_PART = 20.0
"""Between two looks this many times what the last one took."""


class NearLook:
    """Looks at jobs, and remembers which folders are quiet. ``clock`` is one that nobody sets."""

    def __init__(self, notice: bytes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._notice, self._clock = notice, clock
        self._took_s = 0.0

    @property
    def rest_s(self) -> float:
        """How long to rest at least after the last look."""
        return self._took_s * _PART

    def at(self, jobs: Sequence[Watched]) -> list[tuple[Watched, Seen]]:
        """What is in the folders of those where something may be new. Blocks: to be called in a thread."""
        begun = self._clock()
        found = [(known, self._look(known)) for known in jobs if self._may_have_news(known, begun)]
        self._took_s = self._clock() - begun
        return found

    def _may_have_news(self, known: Watched, now: float) -> bool:
        sign = _sign(newest(known.task).folder or "")
        if sign != known.sign:
            known.sign, known.changed_at = sign, now
        if now - known.changed_at > SETTLED_S and now - known.read_at < ANYWAY_S and known.log_from is None:
            return False
        known.read_at = now
        return True

    def _look(self, known: Watched) -> Seen:
        attempt = newest(known.task)
        return attempt_folder.look(
            attempt.folder or "", started_known=attempt.started_at is not None, log_bytes=known.log_bytes,
            notice=b"" if known.noticed else self._notice, log_from=known.log_from,
        )  # fmt: skip


def _sign(folder: str) -> tuple[int, int]:
    """What changes with what is in a folder."""
    try:
        changed = os.stat(folder).st_mtime_ns  # noqa: PTH116 - called for every job every tick
    except OSError:
        return 0, 0
    try:
        return changed, os.stat(f"{folder}/{files.LOG}").st_size  # noqa: PTH116
    except OSError:
        return changed, 0
