"""What a user may still write on a file system, by the words of ``quota`` and of Lustre's ``lfs quota``.

Both tell a file system, kilobytes used, their quota and limit, a grace time, then the same of files; a star marks what
is over its quota, 0 is no limit. A name that is long stands on a line of its own.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .numbers import whole

_ROW = re.compile(
    r"(?P<name>\S+)\s+(?P<used>\d+)\*?\s+(?P<quota>\d+)\*?\s+(?P<limit>\d+)\*?\s+\S+"
    r"\s+(?P<files>\d+)\*?\s+(?P<files_quota>\d+)\*?\s+(?P<files_limit>\d+)\*?\s+\S+",
    re.ASCII,
)
_KIB = 1024


class Left(NamedTuple):
    """What may still be written; None: nothing limits it, or nobody said."""

    bytes: int | None = None
    files: int | None = None


def quota_left(text: str, device: str | None = None) -> Left:
    """What is left of the row of ``device``, as ``df`` names it; None: of the first row."""
    for row in _ROW.finditer(text):
        if device is None or row["name"] == device:
            kilobytes = _left(row["used"], row["quota"], row["limit"])
            return Left(
                None if kilobytes is None else kilobytes * _KIB,
                _left(row["files"], row["files_quota"], row["files_limit"]),
            )
    return Left()


def _left(used: str, quota: str, limit: str) -> int | None:
    """The hard limit counts where there is one: what is over the quota may be written for a while."""
    most = whole(limit) or whole(quota)
    taken = whole(used)
    return max(most - taken, 0) if most and taken is not None else None
