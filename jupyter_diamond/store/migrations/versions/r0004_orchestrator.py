"""Who held a task, who waits for what to happen and how far each has read, and what attempts are charged."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add a column and three tables; what is there stays as it is."""
    op.add_column("tasks", sa.Column("held_by", sa.Text))
    _continuations()
    op.create_table(
        "charges",
        sa.Column("task_id", sa.Text, sa.ForeignKey("tasks.id"), primary_key=True),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("account", sa.Text),
        sa.Column("by", sa.Text),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("predicted", sa.Float),
        sa.Column("at_most", sa.Float),
        sa.Column("actual", sa.Float),
        sa.Column("reserved_at", sa.Float, nullable=False),
        sa.Column("settled_at", sa.Float),
    )
    op.create_index("charges_by_account", "charges", ["site", "account", "reserved_at"])
    op.create_index("charges_by_settling", "charges", ["settled_at"])


def _continuations() -> None:
    op.create_table(
        "continuations",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("consumer", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("waits", sa.Boolean, nullable=False),
        sa.Column("expires_at", sa.Float),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("continuations_waiting", "continuations", ["subject"], sqlite_where=sa.text("waits"))
    op.create_table(
        "cursors",
        sa.Column("consumer", sa.Text, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
    )
