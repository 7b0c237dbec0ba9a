"""Puts returned values under their names in the user's namespace, and never over something newer of the user's."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, MutableMapping
from typing import Any

_ABSENT = object()


def _remembered(value: Any) -> Callable[[], Any]:
    """Recall a value for an identity check without keeping a large one alive, where its type allows that."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


class Namespace:
    """The kernel's user namespace, with a memory of which values came from which submission."""

    def __init__(self, names: MutableMapping[str, Any]) -> None:
        self.names = names
        self._lock = threading.Lock()
        self._submissions = 0
        self._ours: dict[str, tuple[int, Callable[[], Any]]] = {}

    def expect(self, outputs: tuple[str, ...]) -> ExpectedNames:
        """Remember what the names hold now, at submit."""
        with self._lock:
            self._submissions += 1
            held = {name: _remembered(self.names.get(name, _ABSENT)) for name in outputs}
            return ExpectedNames(self, self._submissions, held)

    def bind(self, name: str, value: Any, *, order: int, held: Callable[[], Any]) -> bool:
        """Bind it if the name still holds what it held at submit, or what an earlier submission returned."""
        with self._lock:
            current = self.names.get(name, _ABSENT)
            by, ours = self._ours.get(name, (0, lambda: None))
            returned_by_us = by > 0 and current is ours()
            if returned_by_us and by > order:  # a later submission has returned already
                return False
            if not returned_by_us and current is not held():
                return False
            self.names[name] = value
            self._ours[name] = (order, _remembered(value))
            return True


class ExpectedNames:
    """The names that one submission will bring back."""

    def __init__(self, namespace: Namespace, order: int, held: dict[str, Callable[[], Any]]) -> None:
        self._namespace = namespace
        self._order = order
        self._held = held
        self.bound: tuple[str, ...] = ()
        self.kept: tuple[str, ...] = ()

    def bind(self, name: str, value: Any) -> None:
        """Bind one returned value; what the user has bound since submit is kept."""
        if name not in self._held or name in self.bound:
            return
        if self._namespace.bind(name, value, order=self._order, held=self._held[name]):
            self.bound = (*self.bound, name)
            self._held[name] = _remembered(value)  # let go of the old one
        else:
            self.kept = (*(kept for kept in self.kept if kept != name), name)
