"""The audit: one line for every proposal, word, act, refusal, switch and budget, each chained to the one before.

A line's digest is over its own text and the digest of the line before it, so a line that is changed, removed or put in
breaks the chain there. Numbers are given once: where the newest lines are gone, the store still knows the last number.
What a line says is chosen, never copied: digests in place of sources and scripts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice

from pydantic import ValidationError
from sqlalchemy import Connection, insert, select, text

from jupyter_diamond.model.proposal import AuditCheck, Audited, Speaker

from .database import Database
from .schema import audit

FIRST = "0" * 64
"""The digest before the first line."""
MOST_PROBLEMS = 20
Detail = Mapping[str, str | int | float | bool | None]

_LAST = text("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")


class AuditBook:
    """The audit of a store. Nothing of it is ever changed or forgotten."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(
        self, what: str, by: Speaker, *, at: datetime, subject: str = "", hash_: str = "", **detail: object
    ) -> None:
        """Write one line by itself; what changes the store besides writes its line in the same transaction."""
        with self._database.write() as connection:
            append(connection, what, by, subject=subject, hash_=hash_, detail=_plain(detail), at=at)

    def lines(self, after: int = 0, limit: int = 200) -> tuple[Audited, ...]:
        """Lines with a number above ``after``, oldest first; one that cannot be read is left to ``verify``."""
        with self._database.read() as connection:
            query = select(audit.c.body).where(audit.c.seq > after).order_by(audit.c.seq).limit(limit)
            return tuple(line for body in connection.execute(query).scalars() if (line := _read(body)) is not None)

    def verify(self) -> AuditCheck:
        """Go through the whole chain."""
        with self._database.read() as connection:
            rows = [(row.seq, row.digest, row.body) for row in connection.execute(select(audit).order_by(audit.c.seq))]
            given = int(connection.execute(_LAST).scalar() or 0)
        problems = tuple(islice(_problems(rows, given), MOST_PROBLEMS))
        return AuditCheck(lines=len(rows), newest=rows[-1][1] if rows else FIRST, problems=problems)


def append(
    connection: Connection,
    what: str,
    by: Speaker,
    *,
    at: datetime,
    subject: str = "",
    hash_: str = "",
    detail: Detail | None = None,
) -> Audited:
    """Write a line inside the caller's write transaction: it is there exactly when what it tells of is."""
    last = connection.execute(select(audit.c.digest).order_by(audit.c.seq.desc()).limit(1)).scalar()
    seq = int(connection.execute(_LAST).scalar() or 0) + 1
    line = Audited(
        seq=seq, at=at, what=what, by=by, subject=subject, hash=hash_, detail=dict(detail or {}),
        before=last or FIRST, digest="",
    )  # fmt: skip
    line = line.model_copy(update={"digest": digest(line)})
    row = {"seq": seq, "at": at.timestamp(), "digest": line.digest, "body": line.model_dump_json()}
    connection.execute(insert(audit).values(**row))
    return line


def digest(line: Audited) -> str:
    """What a line's digest has to be."""
    plain = line.model_dump(mode="json", exclude={"digest"})
    one_form = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(one_form.encode("ascii")).hexdigest()


def _problems(rows: list[tuple[int, str, str]], given: int) -> Iterator[str]:
    expected, before = 1, FIRST
    for seq, kept, body in rows:
        if seq != expected:
            yield _gone(expected, seq - 1)
        line = _read(body)
        if line is None:
            yield f"Line {seq} cannot be read."
        elif line.seq != seq or line.digest != kept or digest(line) != kept:
            yield f"Line {seq} was changed."
        elif line.before != before and seq == expected:
            yield f"Line {seq} does not follow line {seq - 1}: one of them was put in or changed."
        expected, before = seq + 1, kept
    if expected <= given:
        yield _gone(expected, given)


def _gone(first: int, last: int) -> str:
    return f"Line {first} is gone." if first == last else f"Lines {first} to {last} are gone."


def _read(body: str) -> Audited | None:
    try:
        return Audited.model_validate_json(body)
    except ValidationError:
        return None


def _plain(detail: Mapping[str, object]) -> dict[str, str | int | float | bool | None]:
    return {
        name: value if isinstance(value, str | int | float) or value is None else str(value)
        for name, value in detail.items()
    }
