"""A group's members as a table: what each was given, how it went, and what it brought back."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jupyter_diamond.cell.result import load_value
from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.group import INDEX, Group, MemberResult, MemberSummary
from jupyter_diamond.parsing.memory import to_words
from jupyter_diamond.placement.words import charge as amount

from .client import DiamondClient
from .tables import frame_of
from .vocabulary import LOOK, place_text

if TYPE_CHECKING:
    import pandas as pd

OWN = ("state", "place", "waited s", "ran s", "charge", "cause")
LARGE_BYTES = 1 << 30
"""So much of larger values comes into a kernel with one table; those of a thousand members would not fit into it."""
Values = dict[str, Any]
Loaded = tuple[Values, str]
"""What one member brought back, and why something of it did not come."""


class Room:
    """How many bytes of values that do not come with the table may still be fetched for it."""

    def __init__(self, at_most: int) -> None:
        self._left = at_most
        self.refused = False
        """Of the last member some value was not."""

    def takes(self, size: int) -> bool:
        """Whether there is room for so many more; then it is taken."""
        fits = size <= self._left
        self._left -= size if fits else 0
        self.refused |= not fits
        return fits


def load_member(result: MemberResult, names: Iterable[str], client: DiamondClient, room: Room) -> Loaded:
    """The values of one member: those that came inline, the larger ones fetched. Never raises for what is missing."""
    found: Values = {}
    room.refused = False
    troubles = [f"`{gone.name}` did not come back: {gone.why}" for gone in result.manifest.missing]
    wanted = set(names)
    for file in result.manifest.values:  # noqa: PD011 - no table
        if file.name not in wanted:
            continue
        packed = result.inline.get(file.file)
        if packed is None and not room.takes(file.bytes):
            troubles.append(
                f"`{file.name}` ({to_words(file.bytes)}) is not fetched with so many others; ask for it alone."
            )
            continue
        try:
            data = client.file(result.task_id, file.file) if packed is None else base64.b64decode(packed)
            found[file.name] = load_value(file, data, result.key)
        except DiamondError as fault:
            troubles.append(fault.message)
    return found, " ".join(troubles)


def results_table(
    group: Group, members: Iterable[MemberSummary], loaded: Mapping[int, Loaded], now: datetime
) -> pd.DataFrame:
    """One row a member that has begun, by its number; a value that is not there is missing, with its cause.

    A name of the user's that one of our columns has keeps it; ours is then called ``job state``.
    """
    found = list(members)
    params = [name for name in group.params if name != INDEX]
    own = {name: f"job {name}" if name in (*params, *group.outputs) else name for name in OWN}
    told = [_told(member, loaded.get(member.index or 0, ({}, ""))[1], now) for member in found]
    rows = [
        {"member": member.index, **dict.fromkeys(params), **{own[name]: value for name, value in each.items()}}
        for member, each in zip(found, told, strict=True)
    ]
    frame = frame_of(rows, ["member", *params, *own.values()])
    for name in params:
        frame[name] = _column([member.params.get(name) for member in found], frame.index)
    for name in group.outputs:
        frame[name] = _column([loaded.get(member.index or 0, ({}, ""))[0].get(name) for member in found], frame.index)
    typed: pd.DataFrame = frame.astype({own["waited s"]: "Float64", own["ran s"]: "Float64"})
    return typed


def _told(member: MemberSummary, trouble: str, now: datetime) -> dict[str, Any]:
    began, ended = member.started_at, member.ended_at
    waited = (began or ended or now) - member.created_at
    return {
        "state": LOOK[member.state].word,
        "place": place_text(member.site, member.partition) if member.site else "",
        "waited s": round(max(0.0, waited.total_seconds()), 1),
        "ran s": None if began is None else round(max(0.0, ((ended or now) - began).total_seconds()), 1),
        "charge": member_charge(member.charges),
        "cause": " ".join(part for part in (member.cause, trouble) if part),
    }


def member_charge(charges: Iterable[Charge]) -> str:
    """``0.5 core-hours``, ``about 2 GPU-hours``; units are never added up; empty where nobody pays or nobody knows."""
    said = []
    for charge in charges:
        if charge.actual is not None:
            said.append(amount(charge.actual, charge.unit))
        elif charge.predicted is not None:
            said.append(f"about {amount(charge.predicted, charge.unit)}")
    return " + ".join(said)


def _column(values: Any, index: pd.Index[Any]) -> pd.Series[Any]:
    """Numbers as numbers, also where some are missing; all else as the objects that they are."""
    import numpy as np
    import pandas as pd

    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    kind: Any = object
    if kinds == {bool}:
        kind = bool if len(there) == len(values) else "boolean"
    elif kinds == {int} and all(-(2**63) <= value < 2**63 for value in there):
        kind = "int64" if len(there) == len(values) else "Int64"
    elif kinds and kinds <= {int, float}:
        kind = "float64"
    if kind is object:
        cells = np.empty(len(values), dtype=object)
        for place, value in enumerate(values):  # one by one: a list or an array is one value
            cells[place] = value
        values, kind = cells, object
    made: pd.Series[Any] = pd.Series(values, index=index, dtype=kind)
    return made
