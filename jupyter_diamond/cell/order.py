"""The order in which captured names are made at the site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field


@dataclass
class Needs:
    """What a captured name needs: ``now``, to be made at all; ``later``, when it is called."""

    now: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)


def in_order(needs: Mapping[str, Needs]) -> list[str]:
    """Names after what they need.

    All needs count, as a decorator may call what it was given at once. Functions that call each other form a ring; in
    a ring only what is needed ``now`` counts. The same needs always give the same order.
    """
    ordered: list[str] = []
    for ring in _rings({name: (each.now | each.later) & needs.keys() for name, each in needs.items()}):
        placed: set[str] = set()
        for name in sorted(ring):
            ordered += _now_first(name, ring, needs, placed)
    return ordered


def _now_first(name: str, ring: AbstractSet[str], needs: Mapping[str, Needs], placed: set[str]) -> Iterator[str]:
    if name in placed:
        return
    placed.add(name)
    for other in sorted(needs[name].now & ring):
        yield from _now_first(other, ring, needs, placed)
    yield name


def _rings(graph: Mapping[str, AbstractSet[str]]) -> list[set[str]]:
    """Strongly connected components, each after those it points to (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    rings: list[set[str]] = []
    for root in sorted(graph):
        todo = [] if root in index else [(root, iter(sorted(graph[root])))]
        while todo:
            name, others = todo[-1]
            if name not in index:
                index[name] = low[name] = len(index)
                stack.append(name)
            for other in others:
                if other not in index:
                    todo.append((other, iter(sorted(graph[other]))))
                    break
                if other in stack:
                    low[name] = min(low[name], index[other])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[name])
                if low[name] == index[name]:
                    cut = stack.index(name)
                    rings.append(set(stack[cut:]))
                    del stack[cut:]
    return rings
