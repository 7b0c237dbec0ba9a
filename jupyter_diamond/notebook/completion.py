"""Tab completion of the magics: subcommands, options, tasks' and sites' names."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from jupyter_diamond.errors import DiamondError

from .session import Session

FRESH_S = 3.0
"""Names are asked for at most this often: completion runs at every key in some front ends."""


class Completer:
    """Answers IPython's completion hooks; says nothing when the server is away."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, tuple[float, list[str]]] = {}

    def line(self, _shell: Any, event: Any) -> list[str]:
        """After ``%diamond``."""
        from .magics import parsers

        words = event.text_until_cursor.split()
        grammar = parsers()
        if len(words) < 2 or (len(words) == 2 and not event.text_until_cursor.endswith(" ")):
            return list(grammar)
        parser = grammar.get(words[1])
        if parser is None:
            return []
        takes_task = any(action.dest == "T" for action in parser._actions)  # noqa: SLF001 - argparse has no public view
        if event.symbol.startswith("-") or not takes_task:
            return parser.options()
        return self._tasks()

    def cell(self, _shell: Any, event: Any) -> list[str]:
        """On the line of ``%%diamond_submit``."""
        from .options import submit_parser

        text = event.text_until_cursor.split("\n", 1)[0]
        words = text.split()
        before = words[-1] if text.endswith((" ", "\t")) else (words[-2] if len(words) > 1 else "")
        if before == "--site":
            return self._places(words[-1] if not text.endswith((" ", "\t")) else "")
        if before == "--lang":
            return ["python", "bash"]
        if before in ("--in", "--out"):
            names = self._session.namespace.names
            return sorted(name for name in names if not name.startswith("_"))
        if len(words) < 2 or (len(words) == 2 and not text.endswith((" ", "\t"))):
            return self._tasks()
        return submit_parser().options()

    def _tasks(self) -> list[str]:
        return self._ask("tasks", lambda: [task.name for task in self._session.client.tasks(limit=100)])

    def _places(self, typed: str) -> list[str]:
        """Sites, or the partitions of a site once its colon is typed."""
        places = self._ask("places", self._read_places)
        if ":" in typed:
            site = typed.partition(":")[0]
            return [place.partition(":")[2] for place in places if place.startswith(f"{site}:")]
        return places

    def _read_places(self) -> list[str]:
        snapshot = self._session.client.sites()
        partitions = [f"{site.site}:{record.partition}" for site in snapshot.sites for record in site.records]
        return [*(site.site for site in snapshot.sites), *partitions]

    def _ask(self, what: str, ask: Callable[[], list[str]]) -> list[str]:
        asked_at, names = self._known.get(what, (-FRESH_S, []))
        if time.monotonic() - asked_at >= FRESH_S:
            try:
                names = list(dict.fromkeys(ask()))
            except DiamondError:  # a completion is no place for an error
                names = []
            self._known[what] = (time.monotonic(), names)
        return names


def register(shell: Any, session: Session) -> None:
    """Hook the completions into this shell."""
    completer = Completer(session)
    shell.set_hook("complete_command", completer.line, str_key="%diamond")
    shell.set_hook("complete_command", completer.cell, str_key="%%diamond_submit")
