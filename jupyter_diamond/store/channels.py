"""Chats: what is kept of each between two messages, and over restarts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from pydantic import ValidationError
from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from jupyter_diamond.model.chat import ChatState

from .database import Database
from .schema import channels

CHATS = "chat:"


class Channels:
    """One row a channel. When foreign text came into it is the guard's column, and stays as it is."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, channel: str) -> ChatState | None:
        """What is kept of a chat; None where nothing is, or a newer version wrote it."""
        with self._database.read() as connection:
            return _find(connection, channel)

    def chats(self) -> dict[str, ChatState]:
        """All chats by their channel, the one that changed last first."""
        query = select(channels.c.channel, channels.c.body).order_by(channels.c.changed_at.desc())
        with self._database.read() as connection:
            rows = connection.execute(query.where(channels.c.channel.startswith(CHATS, autoescape=True))).all()
        return {channel: state for channel, body in rows if (state := _readable(body)) is not None}

    def change(self, channel: str, how: Callable[[ChatState | None], ChatState], at: datetime) -> ChatState:
        """Change what is kept of a chat, in one transaction."""
        with self._database.write() as connection:
            changed = how(_find(connection, channel))
            _put(connection, channel, changed, at)
            return changed

    def moved(self, root: str, old: str, new: str) -> int:
        """A file or a folder below a server's root has another name; how many chats that concerns."""
        count = 0
        with self._database.write() as connection:
            for channel, body in connection.execute(select(channels.c.channel, channels.c.body)).all():
                state = _readable(body)
                path = _renamed(state.path, old, new) if state is not None and state.root == root else None
                if state is not None and path is not None:
                    changed = state.model_copy(update={"path": path}).model_dump_json()
                    put = update(channels).where(channels.c.channel == channel)
                    connection.execute(put.values(path=path, body=changed))
                    count += 1
        return count


def _renamed(path: str, old: str, new: str) -> str | None:
    """Where a file is after it, or a folder above it, was renamed; None where neither was."""
    if path == old:
        return new
    return new + path[len(old) :] if path.startswith(f"{old}/") else None


def _find(connection: Connection, channel: str) -> ChatState | None:
    body = connection.execute(select(channels.c.body).where(channels.c.channel == channel)).scalar()
    return None if body is None else _readable(body)


def _put(connection: Connection, channel: str, state: ChatState, at: datetime) -> None:
    values = {"path": state.path, "changed_at": at.timestamp(), "body": state.model_dump_json()}
    put = upsert(channels).values(channel=channel, **values)
    connection.execute(put.on_conflict_do_update(index_elements=["channel"], set_=values))


def _readable(body: str) -> ChatState | None:
    try:
        return ChatState.model_validate_json(body)
    except ValidationError:
        return None
