"""Environments that were built at sites, each found again by the digest of what it was built from."""

from __future__ import annotations

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert as upsert

from jupyter_diamond.model.environment import BuiltEnvironment

from . import eventlog
from .database import Database
from .schema import environments


class EnvironmentBook:
    """One row for each site and digest: what became of it there last."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, built: BuiltEnvironment, name: str) -> None:
        """Keep it in place of what was known, with an event for whoever follows the site."""
        values = {"changed_at": built.changed_at.timestamp(), "body": built.model_dump_json()}
        told = {"environment": name, "digest": built.digest, "state": built.state, "problem": built.problem[:500]}
        row = upsert(environments).values(site=built.site, digest=built.digest, **values)
        with self._database.write() as connection:
            connection.execute(row.on_conflict_do_update(index_elements=["site", "digest"], set_=values))
            eventlog.append(connection, "environment.changed", f"site:{built.site}", told, at=built.changed_at)

    def get(self, site: str, digest: str) -> BuiltEnvironment | None:
        """What is known of one; None where it was never built there, or a newer version of ours wrote it."""
        query = select(environments.c.body).where(environments.c.site == site, environments.c.digest == digest)
        with self._database.read() as connection:
            body = connection.execute(query).scalar()
        return None if body is None else _readable(body)

    def all(self, site: str | None = None) -> tuple[BuiltEnvironment, ...]:
        """Those of a site, or of all, the one that changed last first."""
        query = select(environments.c.body).order_by(environments.c.changed_at.desc())
        if site is not None:
            query = query.where(environments.c.site == site)
        with self._database.read() as connection:
            bodies = connection.execute(query).scalars().all()
        return tuple(found for body in bodies if (found := _readable(body)) is not None)


def _readable(body: str) -> BuiltEnvironment | None:
    try:
        return BuiltEnvironment.model_validate_json(body)
    except ValidationError:
        return None
