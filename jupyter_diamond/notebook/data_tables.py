"""Data by name and transfers as tables."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jupyter_diamond.model.data import Dataset
from jupyter_diamond.model.transfer import Transfer

from .data_words import (
    MOVER,
    REPLICA,
    bar,
    outcome_text,
    progress_text,
    purge_text,
    said_of,
    share_done,
    short_place,
    state_word,
    what_moves,
)
from .tables import frame_of
from .vocabulary import age, byte_size, wall_clock

if TYPE_CHECKING:
    import pandas as pd


def data_rows(found: Iterable[Dataset], now: datetime) -> list[dict[str, Any]]:
    """One row a copy; a name that has none has a row, too."""
    rows = []
    for each in found:
        size = "?" if each.size is None else byte_size(each.size.bytes)
        head = {"name": each.name, "size": size, "files": each.size.files if each.size is not None else None}
        tail = {"note": each.note}
        rows += [
            {
                **head,
                "where": short_place(copy.location),
                "is": REPLICA[copy.state] + ("" if copy.given else " (staged)"),
                "looked at": "" if copy.checked_at is None else f"{age((now - copy.checked_at).total_seconds())} ago",
                "warning": " ".join(said for said in (copy.problem, purge_text(copy, now)) if said),
                **tail,
            }
            for copy in each.replicas
        ] or [{**head, "where": "", "is": "no copy", "looked at": "", "warning": "", **tail}]
    return rows


DATA_HEADS = ["name", "size", "files", "where", "is", "looked at", "warning", "note"]
TRANSFER_HEADS = ["what", "state", "", "done", "from", "to", "way", "begun", "said", "id"]


def data_table(found: Iterable[Dataset], now: datetime) -> pd.DataFrame:
    """One row a copy of each name."""
    typed: pd.DataFrame = frame_of(data_rows(found, now), DATA_HEADS).astype({"files": "Int64"})
    return typed


def transfer_rows(found: Iterable[Transfer], now: datetime) -> list[dict[str, Any]]:
    """One row a transfer."""
    return [
        {
            "what": what_moves(each.request),
            "state": state_word(each),
            "": "" if each.ended else bar(share_done(each.progress)),
            "done": outcome_text(each.progress) if each.state == "succeeded" else progress_text(each.progress),
            "from": short_place(each.request.source),
            "to": short_place(each.request.destination),
            "way": MOVER[each.mover],
            "begun": wall_clock(each.created_at, now),
            "said": said_of(each),
            "id": each.id,
        }
        for each in found
    ]


def transfers_table(found: Iterable[Transfer], now: datetime) -> pd.DataFrame:
    """One row a transfer, newest first."""
    return frame_of(transfer_rows(found, now), TRANSFER_HEADS)
