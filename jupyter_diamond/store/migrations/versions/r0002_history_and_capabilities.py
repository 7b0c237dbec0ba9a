"""The past of every partition, and what the commands of a site can do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NUMBERS = ("free", "total", "pending", "running", "mine_pending", "mine_running")


def upgrade() -> None:
    """Add the tables; what is there stays as it is."""
    op.create_table(
        "series",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("partition", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.UniqueConstraint("site", "partition", "unit", name="series_named_once"),
    )
    op.create_table(
        "history",
        sa.Column("series", sa.Integer, sa.ForeignKey("series.id"), primary_key=True),
        sa.Column("span_s", sa.Integer, primary_key=True),
        sa.Column("at", sa.Integer, primary_key=True),
        sa.Column("readings", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Float) for name in NUMBERS),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "capabilities",
        sa.Column("site", sa.Text, primary_key=True),
        sa.Column("version", sa.Text),
        sa.Column("body", sa.Text, nullable=False),
    )
