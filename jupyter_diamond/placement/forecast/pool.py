"""The nodes of a replay: how much of each is free, and which ones a job would get.

Everything is counted in *units*, one kind for all nodes: GPUs where a partition has them, else cores. Nodes are kept
by how much of them is free, so that the best fit is found without looking at every node.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence


class Pool:
    """Free units per node."""

    __slots__ = ("_by_free", "_levels", "_whole", "free", "total")

    def __init__(self, free: Iterable[int], whole: Sequence[int]) -> None:
        self.free, self._whole = list(free), whole
        self.total = sum(self.free)
        self._by_free: dict[int, dict[int, None]] = {}
        for node, units in enumerate(self.free):
            self._by_free.setdefault(units, {})[node] = None
        self._levels = sorted(self._by_free)

    def copy(self) -> Pool:
        """Another one in the same state: equal nodes stay in the order in which they will be taken."""
        other = Pool((), self._whole)
        other.free, other.total, other._levels = list(self.free), self.total, list(self._levels)
        other._by_free = {level: dict(nodes) for level, nodes in self._by_free.items()}
        return other

    def fitting(self, units: int) -> int:
        """On how many nodes so many units are free."""
        number = 0
        for level in reversed(self._levels):
            if level < units:
                break
            number += len(self._by_free[level])
        return number

    def take(self, nodes: Iterable[int], units: int) -> None:
        """These nodes have so many units less (more, when negative)."""
        for node in nodes:
            before = self.free[node]
            after = min(before - units, self._whole[node])
            if after == before:
                continue
            at_level = self._by_free[before]
            del at_level[node]
            if not at_level:
                del self._by_free[before]
                self._levels.pop(bisect_left(self._levels, before))
            there = self._by_free.get(after)
            if there is None:
                self._by_free[after] = {node: None}
                insort(self._levels, after)
            else:
                there[node] = None
            self.free[node] = after
            self.total += after - before

    def best(self, number: int, units: int, shadow: Sequence[int] | None = None) -> list[int] | None:
        """The fullest nodes that have so many units free; with ``shadow``, that many must be free there, too."""
        found: list[int] = []
        levels = self._levels
        for at in range(bisect_left(levels, units), len(levels)):
            for node in self._by_free[levels[at]]:
                if shadow is None or shadow[node] >= units:
                    found.append(node)
                    if len(found) == number:
                        return found
        return None
