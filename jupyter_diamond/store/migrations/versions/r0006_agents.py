"""What agents propose, who approved it, what is allowed beforehand, the audit, and the chats that are woken."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add seven tables; what is there stays as it is."""
    _add_proposals()
    _add_budgets()
    _add_audit()
    _add_model_calls()
    _add_channels()


def _add_proposals() -> None:
    op.create_table(
        "proposals",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("standing", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("bundle", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("proposals_by_standing", "proposals", ["standing", "row"])
    op.create_index("proposals_by_channel", "proposals", ["channel", "row"])


def _add_budgets() -> None:
    op.create_table(
        "standing_budgets",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("revoked_at", sa.Float),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "budget_uses",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("budget", sa.Text, sa.ForeignKey("standing_budgets.id"), nullable=False),
        sa.Column("use", sa.Text, nullable=False),
        sa.Column("unit", sa.Text, nullable=False),
        sa.Column("amount", sa.Float, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.UniqueConstraint("budget", "use", "unit", name="one_use_once"),
        sqlite_autoincrement=True,
    )


def _add_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    for change in ("UPDATE", "DELETE"):  # no code of ours ever does either; a defect must not, too
        op.execute(
            f"CREATE TRIGGER audit_is_never_changed_by_{change.lower()} BEFORE {change} ON audit "
            "BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END"
        )


def _add_model_calls() -> None:
    op.create_table(
        "model_calls",
        sa.Column("row", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("prompt_tokens", sa.Integer),
        sa.Column("answer_tokens", sa.Integer),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("model_calls_by_time", "model_calls", ["at"])


def _add_channels() -> None:
    op.create_table(
        "channels",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("path", sa.Text),
        sa.Column("foreign_text_at", sa.Float),
        sa.Column("changed_at", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "switches",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("on", sa.Boolean, nullable=False),
        sa.Column("by", sa.Text),
        sa.Column("at", sa.Float, nullable=False),
    )
