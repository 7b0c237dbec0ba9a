"""Data by name, its copies, durable transfers, and environments that were built at sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add four tables; what is there stays as it is."""
    _add_data()
    _add_transfers()
    op.create_table(
        "environments",
        sa.Column("site", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, primary_key=True),
        sa.Column("changed_at", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def _add_data() -> None:
    op.create_table(
        "datasets",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "replicas",
        sa.Column("dataset", sa.Text, sa.ForeignKey("datasets.name"), primary_key=True),
        sa.Column("location", sa.Text, primary_key=True),
        sa.Column("site", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("listing", sa.Text, nullable=False),
    )
    op.create_index("replicas_by_site", "replicas", ["site"])


def _add_transfers() -> None:
    op.create_table(
        "transfers",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("client_token", sa.Text, nullable=False, unique=True),
        sa.Column("task_id", sa.Text, sa.ForeignKey("tasks.id")),
        sa.Column("n", sa.Integer),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("destination", sa.Text, nullable=False),
        sa.Column("mover", sa.Text, nullable=False),
        sa.Column("bytes", sa.Integer),
        sa.Column("files", sa.Integer),
        sa.Column("seconds", sa.Float),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("transfers_active", "transfers", ["row"], sqlite_where=sa.text("NOT ended"))
    op.create_index("transfers_by_task", "transfers", ["task_id", "n"])
    op.create_index("transfers_by_pair", "transfers", ["source", "destination", "ended_at"])
