"""Tasks, attempts, the append-only event log, and the lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

APPLICATION_ID = 0x444D4431


def upgrade() -> None:
    """Make the first tables."""
    op.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    _tasks()
    _attempts()
    _events()
    op.create_table(
        "lease",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("ttl_s", sa.Float, nullable=False),
        sa.CheckConstraint("id = 1", name="one_lease"),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("client_token", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("notebook", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("cancel_requested_by", sa.Text),
        sa.Column("why_here", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("tasks_by_name", "tasks", ["name", "row"])
    op.create_index("tasks_active", "tasks", ["row"], sqlite_where=sa.text("NOT ended"))


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("task_id", sa.Text, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("token", sa.Text, nullable=False, unique=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("partition", sa.Text),
        sa.Column("native_id", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("started_at", sa.Float),
        sa.Column("walltime_s", sa.Integer, nullable=False),
        sa.Column("reason_class", sa.Text),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("trouble", sa.Text, nullable=False),
        sa.Column("last_seen_at", sa.Float),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("dedup_key", sa.Text),
        sa.UniqueConstraint("subject", "dedup_key", name="events_said_once"),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_subject", "events", ["subject", "seq"])
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER events_refuse_{verb.lower()} BEFORE {verb} ON events "
            "BEGIN SELECT RAISE(ABORT, 'the event log is append-only'); END"
        )
