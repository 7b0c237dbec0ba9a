"""The nodes of a replay: how much of each is free, and which ones a job would get.

Everything is counted in *units*, one kind for all nodes: GPUs where a partition has them, else cores. Nodes are kept
by how much of them is free, so that the best fit is found without looking at every node.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

_FEW = 10
"""So many levels are kept though no node is at them: they come and go with every job."""


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

    def rooms(self, amounts: Sequence[int]) -> list[int]:
        """The same for several numbers of units, ascending; those at the end that fit nowhere are left out."""
        found: list[int] = []
        levels, by_free = self._levels, self._by_free
        room, at = len(self.free), 0
        for units in amounts:
            while at < len(levels) and levels[at] < units:
                room -= len(by_free[levels[at]])
                at += 1
            if not room:
                break
            found.append(room)
        return found

    def having(self, units: int) -> list[int]:
        """The nodes on which so many units are free."""
        levels = self._levels
        return [node for level in levels[bisect_left(levels, units) :] for node in self._by_free[level]]

    def beside(self, shadow: Sequence[int]) -> list[int]:
        """How many units each node with free ones gives, where no more than in ``shadow`` may be taken; ascending."""
        found = []
        for level, nodes in self._by_free.items():
            if level:
                for node in nodes:
                    there = shadow[node]
                    found.append(there if there < level else level)  # noqa: FURB136 - as in ``take``
        found.sort()
        return found

    def take(self, nodes: Iterable[int], units: int) -> None:
        """These nodes have so many units less (more, when negative)."""
        free, whole, levels, by_free = self.free, self._whole, self._levels, self._by_free
        for node in nodes:
            before = free[node]
            after = before - units
            if after > whole[node]:  # noqa: PLR1730 - half the time of min(), here where most of it is spent
                after = whole[node]
            if after == before:
                continue
            at_level = by_free[before]
            del at_level[node]
            if not at_level and len(levels) > _FEW:
                del by_free[before], levels[bisect_left(levels, before)]
            there = by_free.get(after)
            if there is None:
                by_free[after] = {node: None}
                insort(levels, after)
            else:
                there[node] = None
            free[node] = after
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
