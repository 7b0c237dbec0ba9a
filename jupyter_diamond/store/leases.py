"""Who advances work: one server of a user at a time, and another when it has gone silent."""

from __future__ import annotations

from sqlalchemy import Connection, delete, insert, select, update

from jupyter_diamond.model.base import from_epoch

from . import eventlog
from .schema import lease

_NOW = select(lease)  # made once: the lease is renewed every few seconds
_RENEW = update(lease)


def take(connection: Connection, holder: str, at: float, ttl_s: float) -> bool:
    """Take or renew the lease inside the caller's write transaction; False while another holds it."""
    now = connection.execute(_NOW).first()
    values = {"holder": holder, "expires_at": at + ttl_s, "ttl_s": ttl_s}
    if now is not None and now.holder == holder:
        connection.execute(_RENEW, values)
        return True
    if now is not None and _holds(now.expires_at, now.ttl_s, at):
        return False
    connection.execute(delete(lease))
    connection.execute(insert(lease).values(id=1, **values))
    data = {"holder": holder, "before": now.holder if now is not None else None}
    eventlog.append(connection, "lease.taken", f"server:{holder}", data, at=from_epoch(at))
    return True


def _holds(expires_at: float, ttl_s: float, at: float) -> bool:
    """Whether a lease is in force. One that was taken well in the future was taken before the clock was set back."""
    return expires_at - 2 * ttl_s <= at < expires_at


def release(connection: Connection, holder: str) -> None:
    """Give the lease up, if ``holder`` has it."""
    connection.execute(delete(lease).where(lease.c.holder == holder))


def holder(connection: Connection) -> tuple[str, float] | None:
    """The holder and when its lease ends, in seconds since 1970."""
    row = connection.execute(select(lease)).first()
    return None if row is None else (row.holder, row.expires_at)
