"""What a card says of the data that comes before a job and leaves after it, a row a movement. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt
from jupyter_diamond.model.transfer import Transfer

from .data_words import CODE, bar, outcome_text, progress_text, said_of, share_done, short_place, state_word, what_moves
from .vocabulary import GLYPH, TRANSFER

STAGING = (State.STAGING_IN, State.STAGING_OUT)


class StagingRow(TypedDict):
    """One movement, ready to print. ``share`` 0 to 1, None while it is not known; ``link`` is a page to open."""

    transfer: str
    glyph: str
    tone: str
    what: str
    word: str
    text: str
    share: float | None
    moving: bool
    sentence: str
    link: str


def moves_of(attempt: Attempt | None) -> tuple[str, ...]:
    """The transfers that an attempt waits for now, by their ids."""
    if attempt is None or attempt.state not in STAGING:
        return ()
    if attempt.state is State.STAGING_OUT:
        return attempt.staged_out
    return tuple(dict.fromkeys(each.transfer for each in attempt.staged if each.transfer is not None))


def staging_rows(attempt: Attempt | None, transfers: Mapping[str, Transfer]) -> list[StagingRow]:
    """The movements that an attempt waits for; those that nobody has asked about yet are left out."""
    rows = [staging_row(transfers[each]) for each in moves_of(attempt) if each in transfers]
    if attempt is not None and attempt.state is State.STAGING_IN:
        rows += [_there(each.name, each.path) for each in attempt.staged if each.transfer is None]
    return rows


def staging_row(transfer: Transfer) -> StagingRow:
    """One movement."""
    look = TRANSFER[transfer.state]
    over = transfer.state == "succeeded"
    to = f" to {short_place(transfer.request.destination)}" if transfer.request.purpose == "stage_out" else ""
    link = transfer.link if transfer.link.startswith(("https://", "http://")) and not transfer.ended else ""
    return StagingRow(
        transfer=transfer.id,
        glyph=GLYPH[look.mark],
        tone=look.tone,
        what=f"{what_moves(transfer.request)}{to}",
        word="" if transfer.state == "active" and not transfer.cancel_requested_by else state_word(transfer),
        text=outcome_text(transfer.progress) if over else progress_text(transfer.progress),
        share=share_done(transfer.progress),
        moving=not transfer.ended,
        sentence=f"{said_of(transfer)} {CODE}" if link else said_of(transfer),
        link=link,
    )


def _there(name: str, path: str) -> StagingRow:
    return StagingRow(
        transfer="", glyph=GLYPH["tick"], tone="success", what=name, word="was there", text=path, share=1.0,
        moving=False, sentence="", link="",
    )  # fmt: skip


def row_text(row: StagingRow) -> str:
    """``→ imagenet  ▮▮▮▮▯▯  31 GB of 145 GB · 88 MB/s · about 21 min left``, with what is wrong and the link."""
    drawn = f"{bar(row['share'])}  " if row["moving"] else ""
    said = f"{row['glyph']} {row['what']}  {drawn}" + " · ".join(part for part in (row["word"], row["text"]) if part)
    return "\n".join(part for part in (said, row["sentence"], row["link"]) if part)
