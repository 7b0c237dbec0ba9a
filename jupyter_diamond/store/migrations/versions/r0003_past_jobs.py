"""Jobs that have ended at a site, for learning how much of their limits jobs use, and attempts by their start."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table and two indices; what is there stays as it is."""
    op.create_table(
        "past_jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("user", sa.Text, nullable=False),
        sa.Column("limit_s", sa.Float, nullable=False),
        sa.Column("units", sa.Integer, nullable=False),
        sa.Column("used_s", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float, nullable=False),
    )
    op.create_index("past_jobs_by_site", "past_jobs", ["site", "id"])
    op.create_index("attempts_by_start", "attempts", ["started_at"])
