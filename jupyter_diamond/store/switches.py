"""Switches that outlive a restart: whether agents may act at all."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.sqlite import insert as upsert

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.proposal import AgentSwitch, Speaker

from . import audit, eventlog
from .database import Database
from .schema import switches

AGENTS = "agents"


class Switches:
    """The switches of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def agents(self) -> AgentSwitch:
        """Whether agents may act."""
        with self._database.read() as connection:
            return agents(connection)

    def switch_agents(self, *, on: bool, by: Speaker, at: datetime) -> AgentSwitch:
        """Let agents act, or not. Switching to what it is changes nothing."""
        with self._database.write() as connection:
            before = agents(connection)
            if before.on == on:
                return before
            row = {"name": AGENTS, "on": on, "by": by.user, "at": at.timestamp()}
            put = upsert(switches).values(**row)
            connection.execute(put.on_conflict_do_update(index_elements=["name"], set_=row))
            eventlog.append(connection, "agents.switched", AGENTS, {"on": on, "by": by.user}, at=at)
            audit.append(connection, "switch.on" if on else "switch.off", by, subject=AGENTS, at=at)
            return agents(connection)


def agents(connection: Connection) -> AgentSwitch:
    """The same inside the caller's transaction: what it says stays true until that is over."""
    row = connection.execute(select(switches).where(switches.c.name == AGENTS)).first()
    return AgentSwitch() if row is None else AgentSwitch(on=row.on, by=row.by, at=from_epoch(row.at))
