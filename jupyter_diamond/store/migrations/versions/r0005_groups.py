"""Groups of tasks, and the job arrays that their attempts are submitted as."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add two tables and two columns; what is there stays as it is."""
    op.create_table(
        "groups",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("client_token", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("notebook", sa.Text),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("cancel_requested_by", sa.Text),
        sa.Column("held_by", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("groups_by_name", "groups", ["name", "row"])
    op.create_index("groups_active", "groups", ["row"], sqlite_where=sa.text("NOT ended"))
    op.create_table(
        "arrays",
        sa.Column("token", sa.Text, primary_key=True),
        sa.Column("group_id", sa.Text, sa.ForeignKey("groups.id"), nullable=False),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
    )
    op.add_column("tasks", sa.Column("group_id", sa.Text))
    op.add_column("tasks", sa.Column("member", sa.Integer))
    op.create_index("tasks_by_group", "tasks", ["group_id", "member"])
