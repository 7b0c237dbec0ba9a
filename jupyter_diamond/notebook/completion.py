"""Tab completion of the magics: subcommands, options, tasks' and sites' names."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

from jupyter_diamond.cell.kernel_names import KERNELS_OWN
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.envelopes import OBJECTIVES, SOFTENABLE

from .data_verbs import DATA_VERBS, SYNC, TRANSFER_VERBS
from .needs import ARCHITECTURES
from .options import OptionParser, submit_parser
from .session import Session

_CHOICES = {
    "--lang": ("python", "bash"), "--arch": ARCHITECTURES, "--objective": OBJECTIVES, "--soft": SOFTENABLE,
    "--next-round": ("ok", "ended"), "--sync": SYNC,
}  # fmt: skip
_WELL = (State.COMPLETED, State.PENDING, State.WAITING)
MOST_MEMBERS = 500
FRESH_S = 3.0
"""Names are asked for at most this often: completion runs at every key in some front ends."""
MATCHER = "jupyter_diamond"


class Completer:
    """Knows what may stand at the cursor; says nothing of tasks and sites when the server is away."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, tuple[float, list[str]]] = {}

    def candidates(self, line: str, *, first_line: bool) -> list[str] | None:
        """What may follow the line up to the cursor; None when the line is none of ours."""
        words = line.split()
        if line.endswith((" ", "\t")):
            words.append("")
        if len(words) < 2:
            return None
        if words[0] == "%diamond":
            return self._of_line(words)
        if words[0] == "%%diamond" and first_line:
            return ["draft"] if len(words) == 2 else self._of_line(words)
        if words[0] == "%%diamond_submit" and first_line:
            return self._of_cell(words)
        return None

    def _of_line(self, words: list[str]) -> list[str] | None:
        from .magics import parsers

        grammar = parsers()
        if len(words) == 2:
            return list(grammar)
        if words[1] == "import" and len(words) == 3 and not words[-1].startswith("-"):
            return None  # IPython completes files
        parser = grammar.get(words[1])
        if parser is None or parser.takes_value(words[-2]):
            return list(_CHOICES.get(words[-2], ())) if parser is not None else []
        return parser.options() if words[-1].startswith("-") else self._of_words(words, parser)

    def _of_words(self, words: list[str], parser: OptionParser) -> list[str]:
        """What a command takes besides its options."""
        if words[1] in ("data", "transfer"):
            return self._of_data(words)
        if words[1] == "history":
            return [place for place in self._places("") if ":" not in place]
        if not parser.takes_task:
            return parser.options()
        group, bracket, _ = words[-1].partition("[")
        return self._members(group) if bracket else self._tasks()

    def _of_data(self, words: list[str]) -> list[str]:
        """Verbs, names, ids; of locations the places."""
        said = [word for word in words[2:] if not word.startswith("-")]
        if words[1] == "data":
            if len(said) == 1:
                return list(DATA_VERBS)
            if said[0] == "add":
                return self._locations() if len(said) == 3 else []
            return self._names() if len(said) == 2 else [place for place in self._places("") if ":" not in place]
        if said[0] in TRANSFER_VERBS and len(said) == 2:
            return self._ask("transfers", lambda: [each.id for each in self._session.client.transfers(limit=100)])
        return [*TRANSFER_VERBS, *self._locations()] if len(said) == 1 else self._locations()

    def _names(self) -> list[str]:
        return self._ask("data", lambda: [each.name for each in self._session.client.datasets()])

    def _locations(self) -> list[str]:
        return [*(f"{place}:" for place in self._places("") if ":" not in place), "home:", "globus://"]

    def _of_cell(self, words: list[str]) -> list[str]:
        before, word = words[-2], words[-1]
        if before == "--site":
            return self._places(word)
        if before in _CHOICES:
            return list(_CHOICES[before])
        if before in ("--sites", "--stage-in"):
            return self._names() if before == "--stage-in" else [each for each in self._places("") if ":" not in each]
        if before in ("--in", "--out", "--sweep"):
            return self._variables(rows=before == "--sweep")
        parser = submit_parser()
        if parser.takes_value(before):
            return []
        return self._tasks() if len(words) == 2 else parser.options()

    def _variables(self, *, rows: bool) -> list[str]:
        names = self._session.namespace.names
        return sorted(
            name
            for name, held in names.items()
            if not name.startswith("_") and name not in KERNELS_OWN and (not rows or _is_rows(held))
        )

    def _tasks(self) -> list[str]:
        return self._ask("tasks", self._read_tasks)

    def _read_tasks(self) -> list[str]:
        client = self._session.client
        return [*(task.name for task in client.tasks(limit=100)), *(group.name for group in client.groups(limit=100))]

    def _members(self, group: str) -> list[str]:
        """What may follow the bracket of ``fit[``: those that went wrong first."""
        return self._ask(f"{group}[", lambda: [f"{index}]" for index in self._read_members(group)])

    def _read_members(self, group: str) -> list[int]:
        members = self._session.client.members(group, limit=MOST_MEMBERS)
        return [each.index or 0 for each in sorted(members, key=lambda each: each.state in _WELL)]

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


def _is_rows(held: Any) -> bool:
    """A table, or a list of dicts: what ``--sweep`` takes members from."""
    return type(held).__name__ == "DataFrame" or (isinstance(held, list) and bool(held) and isinstance(held[0], dict))


def register(shell: Any, session: Session) -> None:
    """Hook the completions into this shell. On our lines nothing else completes: they are no Python."""
    completer = Completer(session)

    def complete(context: CompletionContext) -> dict[str, Any]:
        line = context.text_until_cursor.lstrip()
        found = completer.candidates(line, first_line=context.cursor_line == 0)
        fitting = [SimpleCompletion(text) for text in found or () if text.startswith(context.token)]
        return {"completions": fitting, "suppress": found is not None, "ordered": True}

    known = shell.Completer.custom_matchers
    others = [each for each in known if getattr(each, "matcher_identifier", "") != MATCHER]
    known[:] = [*others, context_matcher(identifier=MATCHER)(complete)]
