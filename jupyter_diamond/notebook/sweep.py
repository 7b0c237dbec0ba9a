"""``--array``, ``--sweep`` and what belongs to them: from the words of a line to the members of a group. Pure."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.group import INDEX, MOST_MEMBERS, Goes, Member
from jupyter_diamond.parsing.members import parse_array, parse_sweep

_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+""", re.DOTALL)
SWEEP = "--sweep"


@dataclass(frozen=True)
class Sweep:
    """What a line says of a group: its members, and how many of them go at once and first."""

    members: tuple[Member, ...]
    at_once: int | None = None
    next_round: Goes = "ok"


def add_sweep(parser: argparse.ArgumentParser) -> None:
    """Every option that members are read from."""
    add = parser.add_argument
    add(
        "--array",
        metavar="NUMBERS",
        help="run the cell once for each number, its `index`: 0-99, 1,3,7-9 or 0-9:2; %%N for N at once",
    )
    add(
        SWEEP,
        metavar="NAME=VALUES",
        dest="sweeps",
        action="append",
        default=[],
        help="run the cell once for each value of NAME: lr=1e-3,1e-4 or seed=0-4; of several, all combinations; or the "
        "name of a variable with rows (a list of dicts, a DataFrame): a member a row",
    )
    add("--at-once", metavar="N", help="at most N members run at the same time at one site")
    add("--first", metavar="N", help="send the first N members; the rest when these have ended")
    add(
        "--next-round", choices=("ok", "ended"),
        help="the rest is sent when the first have ended well (ok, the default), or in any way (ended)",
    )  # fmt: skip


def sweep_of(said: argparse.Namespace, variables: Mapping[str, Any]) -> Sweep | None:
    """The group that the options of ``add_sweep`` describe; None for one task. Raises InvalidRequest."""
    if said.array is None and not said.sweeps:
        for option, value in (("--at-once", said.at_once), ("--first", said.first), ("--next-round", said.next_round)):
            if value is not None:
                raise InvalidRequest(f"{option} is for several members; say which with --array 0-99 or --sweep lr=1,2.")
        return None
    if said.array is not None and said.sweeps:
        raise InvalidRequest(
            "--array and --sweep do not go together: the members of a sweep are numbered from 0. To run every point "
            "several times, sweep one more name: --sweep repeat=0-4."
        )
    at_once = None if said.at_once is None else _count("--at-once", said.at_once)
    if said.array is not None:
        numbers, limit = parse_array(said.array)
        if limit and at_once and limit != at_once:
            raise InvalidRequest(f"--array says {limit} at once (%{limit}), and --at-once {at_once}; say it once.")
        at_once = at_once or limit
        members = [Member(index=number, params={INDEX: number}) for number in numbers]
    else:
        points = parse_sweep(said.sweeps, variables)
        members = [Member(index=index, params=point) for index, point in enumerate(points)]
    return Sweep(_in_rounds(members, said), at_once, said.next_round or "ok")


def _in_rounds(members: list[Member], said: argparse.Namespace) -> tuple[Member, ...]:
    if said.first is None:
        if said.next_round is not None:
            raise InvalidRequest("--next-round says when the rest is sent; say with --first 10 how many go first.")
        return tuple(members)
    first = _count("--first", said.first)
    if first >= len(members):
        raise InvalidRequest(
            f"--first {first} leaves none for later: there are {len(members)} members. Say fewer, or leave it out."
        )
    return tuple(
        member if place < first else member.model_copy(update={"round": 2}) for place, member in enumerate(members)
    )


def _count(option: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_MEMBERS:
        raise InvalidRequest(
            f"{option} {text!r} is not a number of members; write a whole number from 1 to {MOST_MEMBERS:,}."
        )
    return int(text)


def shell_words(line: str) -> list[str]:
    """The words of a line, quotes as in a shell; but those of a sweep's values are kept: ``x='a,b',c`` has two.

    Raises ValueError where a quote is not closed.
    """
    words: list[str] = []
    place = 0
    while place < len(line):
        if line[place].isspace():
            place += 1
            continue
        found = _WORD.match(line, place)
        if found is None:
            raise ValueError("No closing quotation")
        raw, place = found[0], found.end()
        words.append(_sweep_word(raw) if _of_sweep(words, raw) else "".join(shlex.split(raw)))
    return words


def _of_sweep(words: list[str], raw: str) -> bool:
    return raw.startswith(f"{SWEEP}=") or (bool(words) and words[-1] == SWEEP)


def _sweep_word(raw: str) -> str:
    """A word that is in quotes as a whole loses these: ``'lr=1e-3, 1e-4'``."""
    whole = re.fullmatch(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""", raw)
    return raw if whole is None else shlex.split(raw)[0]
