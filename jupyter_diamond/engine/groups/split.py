"""How many of equal jobs go to each place, so that the last of them is over soonest. Pure.

Position k at a place is over at wait + data + run x waves: what is free now holds the first wave, the whole of the
place those after it. One job after the other goes where it would be over first: water into vessels.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

_NEVER = math.inf


class Vessel(NamedTuple):
    """A place as jobs are poured into it, all times in seconds. None is unknown.

    ``before_s``: until the first of them would run there. ``now``: how many find room at once; ``whole``: how many run
    together when all of it is theirs. ``most``: it takes no more than that, as nobody would pay for them.
    """

    before_s: float | None
    run_s: float
    now: int | None = None
    whole: int | None = None
    most: int | None = None

    def over_at(self, position: int, at_once: int | None = None) -> float:
        """When the job at this position (from 1) would be over."""
        if self.before_s is None:
            return _NEVER
        first, then = self._waves(at_once)
        waves = 1 if position <= first else 1 + -(-(position - first) // then)
        return self.before_s + self.run_s * waves

    def starts_at(self, position: int, at_once: int | None = None) -> float:
        """When it would start."""
        return self.over_at(position, at_once) - self.run_s

    def _waves(self, at_once: int | None) -> tuple[int, int]:
        """How many are in the first wave, and in each that follows; of a place that tells nothing, one."""
        whole = self.whole or self.now or 1
        first = min(self.now, whole) if self.now else whole
        most = at_once or max(first, whole)
        return min(first, most), min(whole, most)


def poured(vessels: Sequence[Vessel], count: int, *, at_once: int | None = None, starts: bool = False) -> list[int]:
    """How many go to each place, in their order, which decides between equals. Fewer than ``count`` where all are full.

    ``starts``: it is the starts that shall be early, not the ends.
    """
    shares = [0] * len(vessels)
    when = [vessel.starts_at if starts else vessel.over_at for vessel in vessels]
    next_ = [(when[at](1, at_once), at) for at, vessel in enumerate(vessels) if vessel.most is None or vessel.most > 0]
    heapq.heapify(next_)
    for _ in range(count):
        if not next_:
            break
        _, at = next_[0]
        shares[at] += 1
        if shares[at] == vessels[at].most:
            heapq.heappop(next_)
        else:
            heapq.heapreplace(next_, (when[at](shares[at] + 1, at_once), at))
    return shares


def stacked(vessels: Sequence[Vessel], count: int) -> list[int]:
    """All to the first one while it takes them, then to the next."""
    shares = []
    for vessel in vessels:
        taken = count if vessel.most is None else min(count, vessel.most)
        shares.append(taken)
        count -= taken
    return shares


def last_over_s(vessels: Sequence[Vessel], shares: Sequence[int], *, at_once: int | None = None) -> float:
    """When the last of all is over."""
    used = [vessel.over_at(share, at_once) for vessel, share in zip(vessels, shares, strict=True) if share]
    return max(used, default=0.0)


def chunks(count: int, *, longest: int | None, first: int | None = None) -> list[int]:
    """The lengths of the arrays that so many members make: ``first`` is what the site would take at once."""
    if longest is None or longest < 1:
        longest = count
    lengths = []
    if first is not None and 0 < first < min(longest, count):
        lengths.append(first)
    while (left := count - sum(lengths)) > 0:
        lengths.append(min(longest, left))
    return lengths
