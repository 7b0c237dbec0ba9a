"""What a user types: a command of ours, in a few words' tolerance, or something else. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SAME = {
    "wall": ("wall", "pool", "sites", "resources"),
    "idle": ("idle", "free"),
    "draft": ("draft",),
    "plan": ("plan",),
    "submit": ("submit", "run", "launch"),
    "status": ("status", "tasks", "jobs", "task", "group"),
    "why": ("why", "explain"),
    "log": ("log", "logs", "tail"),
    "approve": ("approve", "yes", "ok", "okay"),
    "deny": ("deny", "no", "drop"),
    "cancel": ("cancel", "stop", "kill"),
    "again": ("again", "resubmit"),
    "replan": ("replan",),
    "hold": ("hold",),
    "release": ("release",),
    "forget": ("forget", "clear", "reset"),
    "help": ("help", "?", "commands"),
}
COMMANDS = {word: command for command, words in _SAME.items() for word in words}
TAKES_WORDS = frozenset({"draft", "plan", "submit", "idle"})
"""What follows is a description, in the user's own words."""
LOOKS = frozenset({"wall", "idle", "draft", "status", "why", "log", "help"})
"""What guests may do."""
_REF = r"(?P<ref>[A-Za-z_][\w-]{0,63}(?:\[\d+\])?)"
_PLAN = r"(?P<ref>p[0-9a-f]{10})"
_REST = {
    "wall": "", "forget": "", "help": ".*", "approve": f"{_PLAN}?", "deny": rf"(?:{_PLAN}(?:\s+(?P<rest>.+))?)?",
    "again": rf"{_REF}(?:\s+(?P<rest>--.*))?",
    **dict.fromkeys(("status", "why", "log", "cancel", "replan", "hold", "release"), f"{_REF}?"),
}  # fmt: skip
"""What may follow each command; anything else is talk."""


@dataclass(frozen=True)
class Command:
    """One of ours: what it is about, and the rest of the line."""

    verb: str
    ref: str = ""
    rest: str = ""


def read(words: str) -> Command | None:
    """The command that a message is; None where it is talk. ``why did it fail?`` is talk, ``why fit`` is not."""
    line = words.strip().lstrip("/").strip()
    first, _, rest = line.partition(" ")
    verb = COMMANDS.get(first.lower().rstrip(".,!:"))
    rest = rest.strip()
    if verb is None or ("\n" in line and verb not in TAKES_WORDS):
        return None
    if verb in TAKES_WORDS:
        spoken = first.lower() in ("run", "launch") and rest and not rest.startswith("--")  # "run this on two GPUs"
        return None if spoken else Command(verb, rest=rest)
    found = re.fullmatch(_REST[verb], rest, re.DOTALL)
    return None if found is None else Command(verb, **{name: each or "" for name, each in found.groupdict().items()})


def options_in(rest: str) -> tuple[dict[str, str], str]:
    """``--gpus 2 --time 1h`` of a line as options, and the words besides."""
    given: dict[str, str] = {}
    plain: list[str] = []
    words = rest.split()
    at = 0
    while at < len(words):
        word = words[at]
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            if not equals and at + 1 < len(words) and not words[at + 1].startswith("--"):
                at += 1
                value = words[at]
            given[name] = value or "yes"
        else:
            plain.append(word)
        at += 1
    return given, " ".join(plain)
