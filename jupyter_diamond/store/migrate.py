"""Bring an older store to the newest schema. Loaded only when there is something to do: Alembic is slow to import."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection

from jupyter_diamond.errors import StoreError


def migrations() -> Config:
    """Alembic's settings for the migrations that come with the package."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def upgrade(connection: Connection, stamp: str | None, path: Path) -> None:
    """Run the missing steps inside the caller's transaction: all of them, or none."""
    config = migrations()
    if stamp is not None:
        try:
            ScriptDirectory.from_config(config).get_revision(stamp)
        except CommandError as error:
            raise StoreError(
                f"The task store {path} was written by a newer jupyter_diamond (schema {stamp}); "
                "upgrade jupyter_diamond, or point c.DiamondStore.path to another folder. Nothing was changed.",
                evidence=(str(error),),
            ) from error
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
