"""Regular expressions in time linear in the text: what somebody looks for in a log must never hold up the server.

Python's ``re`` tries one alternative after the other, which takes ages for patterns such as ``(a+)+$``. Here all are
followed at once: the pattern becomes an automaton, and each set of its states that is met is remembered, so that a
character mostly costs one look into a dict. What cannot be done so (look-around, back-references) is refused.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from jupyter_diamond.errors import InvalidRequest

LINE = 4096
"""So much of a line is looked at, in characters."""
MOST_STATES = 500
MOST_STEPS = 10_000
"""So many steps are remembered; then it is begun anew."""

_parser: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
"""Python's own reader of patterns; the module has no public name."""

_REFUSED = {
    "GROUPREF": "a back-reference", "GROUPREF_EXISTS": "a conditional group", "ASSERT": "look-around",
    "ASSERT_NOT": "look-around", "ATOMIC_GROUP": "an atomic group", "POSSESSIVE_REPEAT": "a possessive repeat",
}  # fmt: skip
_START, _WORD, _OTHER, _END = range(4)
"""What stands before or after a place in the line."""

Test = Callable[[str], bool]


def _word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[str, Test] = {"DIGIT": str.isdecimal, "SPACE": str.isspace, "WORD": _word}


@dataclass
class _Node:
    """A state: it takes one character (``test``), or stands at a place (``at``), or neither; then it goes on."""

    test: Test | None = None
    at: str = ""
    then: list[int] = field(default_factory=list)


@dataclass(eq=False)
class _Known:
    """A set of states that was met, what stands before it, and where each character leads; None: it matched."""

    positions: frozenset[int]
    before: int
    nexts: dict[str, _Known | None] = field(default_factory=dict)


class Pattern:
    """A pattern that can be searched for in a line. Raises InvalidRequest when it is none, or needs going back."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            tree = _parser.parse(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidRequest(f"The pattern {text!r} is no regular expression: {error}.") from error
        self._flags = int(tree.state.flags)
        self._nodes: list[_Node] = []
        self._accept = self._add(_Node())
        self._entry = self._sequence(tree, self._accept, self._flags)
        self._kept: dict[tuple[frozenset[int], int], _Known] = {}
        self._steps = 0
        self._first = self._keep(frozenset(), _START)

    def search(self, line: str) -> bool:
        """Whether the line has it; only its first 4096 characters are looked at."""
        known = self._first
        for char in line[:LINE]:
            try:
                following = known.nexts[char]
            except KeyError:
                following = self._step(known, char)
            if following is None:
                return True
            known = following
        return self._accept in self._closure(known, _END)

    # ---- following

    def _step(self, known: _Known, char: str) -> _Known | None:
        self._steps += 1
        if self._steps > MOST_STEPS:
            self._forget()
        after = _WORD if _word(char) else _OTHER
        reached = self._closure(known, after)
        following = None
        if self._accept not in reached:
            taken = (node for at in reached if (node := self._nodes[at]).test is not None and node.test(char))
            following = self._keep(frozenset(to for node in taken for to in node.then), after)
        known.nexts[char] = following
        return following

    def _closure(self, known: _Known, after: int) -> set[int]:
        """All states that are reached without a character, between what stands before and after."""
        reached: set[int] = set()
        waiting = [*known.positions, self._entry]
        while waiting:
            at = waiting.pop()
            if at in reached:
                continue
            reached.add(at)
            node = self._nodes[at]
            if node.test is None and _stands(node.at, known.before, after):
                waiting += node.then
        return reached

    def _keep(self, positions: frozenset[int], before: int) -> _Known:
        known = self._kept.get((positions, before))
        if known is None:
            known = self._kept[positions, before] = _Known(positions, before)
        return known

    def _forget(self) -> None:
        for each in self._kept.values():
            each.nexts.clear()
        self._kept = {(self._first.positions, self._first.before): self._first}
        self._steps = 0

    # ---- building, from the end to the beginning

    def _add(self, node: _Node) -> int:
        if len(self._nodes) >= MOST_STATES:
            raise InvalidRequest(f"The pattern {self.text!r} is too large once its repeats are written out.")
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _sequence(self, items: Iterable[tuple[Any, Any]], then: int, flags: int) -> int:
        for op, value in reversed(list(items)):
            then = self._item(str(op), value, then, flags)
        return then

    def _item(self, op: str, value: Any, then: int, flags: int) -> int:
        if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return self._add(_Node(test=_test(op, value, flags), then=[then]))
        if op == "BRANCH":
            return self._add(_Node(then=[self._sequence(branch, then, flags) for branch in value[1]]))
        if op == "SUBPATTERN":
            _, added, removed, items = value
            return self._sequence(items, then, (flags | added) & ~removed)
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(value, then, flags)
        if op == "AT":
            return self._add(_Node(at=str(value), then=[then]))
        if op == "FAILURE":
            return self._add(_Node(test=lambda _: False))
        raise InvalidRequest(
            f"The pattern {self.text!r} has {_REFUSED.get(op, op)}, which a log is not searched for; write it without."
        )

    def _repeat(self, value: tuple[int, int, Any], then: int, flags: int) -> int:
        least, most, items = value
        if items.getwidth()[1] == 0:  # nothing but places: once is as good as any number of times
            return self._sequence(items, then, flags) if least else then
        if most == _parser.MAXREPEAT:
            loop = self._add(_Node())
            self._nodes[loop].then = [self._sequence(items, loop, flags), then]
            then = loop
        else:
            end = then
            for _ in range(most - least):
                then = self._add(_Node(then=[self._sequence(items, then, flags), end]))
        for _ in range(least):
            then = self._sequence(items, then, flags)
        return then


def _stands(at: str, before: int, after: int) -> bool:
    if at in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return before == _START
    if at in ("AT_END", "AT_END_STRING"):
        return after == _END
    if at in ("AT_BOUNDARY", "AT_NON_BOUNDARY"):
        return ((before == _WORD) != (after == _WORD)) == (at == "AT_BOUNDARY")
    return True


def _test(op: str, value: Any, flags: int) -> Test:
    if op == "ANY":
        return lambda char: char != "\n"
    if op == "LITERAL":
        return _any_case([_literal(value)], flags)
    if op == "NOT_LITERAL":
        return _not(_any_case([_literal(value)], flags))
    negated = bool(value) and str(value[0][0]) == "NEGATE"
    test = _any_case([_member(str(kind), what, flags) for kind, what in (value[1:] if negated else value)], flags)
    return _not(test) if negated else test


def _literal(code: int) -> Test:
    wanted = chr(code)
    return lambda char: char == wanted


def _member(kind: str, value: Any, flags: int) -> Test:
    if kind == "LITERAL":
        return _literal(value)
    if kind == "RANGE":
        low, high = value
        return lambda char: low <= ord(char) <= high
    name = str(value).removeprefix("CATEGORY_")
    test = _CATEGORIES[name.removeprefix("NOT_")]
    if flags & re.ASCII:
        wide = test
        test = lambda char: char.isascii() and wide(char)  # noqa: E731 - one line beside its only use
    return _not(test) if name.startswith("NOT_") else test


def _not(test: Test) -> Test:
    return lambda char: not test(char)


def _any_case(tests: list[Test], flags: int) -> Test:
    if not flags & re.IGNORECASE:
        return tests[0] if len(tests) == 1 else lambda char: any(test(char) for test in tests)

    def any_case(char: str) -> bool:
        forms = {form for form in (char, char.lower(), char.upper()) if len(form) == 1}
        return any(test(form) for test in tests for form in forms)

    return any_case
