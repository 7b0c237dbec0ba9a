"""The tables of the store, and the number of their newest form.

Columns hold what is searched, listed or joined; the rest of a value is kept beside them as JSON, so that a new field
of an attempt needs no migration. Times are seconds since 1970, UTC. A change here needs a new file in
``migrations/versions`` and its number in ``HEAD``; a test compares the two.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

HEAD = "0007"
"""The newest migration. A store that carries it is opened without loading Alembic (a third of a second)."""

APPLICATION_ID = 0x444D4431
"""Marks the SQLite file as ours ("DMD1"), so that nobody else's file is ever migrated."""

metadata = MetaData()

tasks = Table(
    "tasks",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("client_token", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("notebook", Text),
    Column("state", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("cancel_requested_by", Text),
    Column("held_by", Text),
    Column("why_here", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("request", Text, nullable=False),
    Column("group_id", Text),
    Column("member", Integer),
    Index("tasks_by_name", "name", "row"),
    Index("tasks_by_group", "group_id", "member"),
    Index("tasks_active", "row", sqlite_where=text("NOT ended")),
    sqlite_autoincrement=True,
)

groups = Table(
    "groups",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("client_token", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("notebook", Text),
    Column("ended", Boolean, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("round", Integer, nullable=False),
    Column("cancel_requested_by", Text),
    Column("held_by", Text),
    Column("version", Integer, nullable=False),
    Column("request", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("groups_by_name", "name", "row"),
    Index("groups_active", "row", sqlite_where=text("NOT ended")),
    sqlite_autoincrement=True,
)
"""A member's own row has no request: it is its group's, which is stored once."""

arrays = Table(
    "arrays",
    metadata,
    Column("token", Text, primary_key=True),
    Column("group_id", Text, ForeignKey("groups.id"), nullable=False),
    Column("site", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("decision", Text, nullable=False),
)
"""What the attempts of one job array share: their rows have no key and no decision."""

attempts = Table(
    "attempts",
    metadata,
    Column("task_id", Text, ForeignKey("tasks.id"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("token", Text, nullable=False, unique=True),
    Column("key", Text, nullable=False),
    Column("site", Text, nullable=False),
    Column("partition", Text),
    Column("native_id", Text),
    Column("state", Text, nullable=False),
    Column("started_at", Float),
    Column("walltime_s", Integer, nullable=False),
    Column("reason_class", Text),
    Column("cause", Text, nullable=False),
    Column("trouble", Text, nullable=False),
    Column("last_seen_at", Float),
    Column("body", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Index("attempts_by_start", "started_at"),
)

events = Table(
    "events",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("type", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("dedup_key", Text),
    UniqueConstraint("subject", "dedup_key", name="events_said_once"),
    Index("events_by_subject", "subject", "seq"),
    sqlite_autoincrement=True,
)

lease = Table(
    "lease",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("ttl_s", Float, nullable=False),
    CheckConstraint("id = 1", name="one_lease"),
)

series = Table(
    "series",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("site", Text, nullable=False),
    Column("partition", Text, nullable=False),
    Column("unit", Text, nullable=False),
    UniqueConstraint("site", "partition", "unit", name="series_named_once"),
)

history = Table(
    "history",
    metadata,
    Column("series", Integer, ForeignKey("series.id"), primary_key=True),
    Column("span_s", Integer, primary_key=True),
    Column("at", Integer, primary_key=True),
    Column("readings", Integer, nullable=False),
    Column("free", Float),
    Column("total", Float),
    Column("pending", Float),
    Column("running", Float),
    Column("mine_pending", Float),
    Column("mine_running", Float),
    sqlite_with_rowid=False,
)

capabilities = Table(
    "capabilities",
    metadata,
    Column("site", Text, primary_key=True),
    Column("version", Text),
    Column("body", Text, nullable=False),
)

past_jobs = Table(
    "past_jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("site", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("limit_s", Float, nullable=False),
    Column("units", Integer, nullable=False),
    Column("used_s", Float, nullable=False),
    Column("ended_at", Float, nullable=False),
    Index("past_jobs_by_site", "site", "id"),
)

continuations = Table(
    "continuations",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("consumer", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("waits", Boolean, nullable=False),
    Column("expires_at", Float),
    Column("body", Text, nullable=False),
    Index("continuations_waiting", "subject", sqlite_where=text("waits")),
    sqlite_autoincrement=True,
)

cursors = Table(
    "cursors",
    metadata,
    Column("consumer", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column("at", Float, nullable=False),
)

charges = Table(
    "charges",
    metadata,
    Column("task_id", Text, ForeignKey("tasks.id"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("site", Text, nullable=False),
    Column("account", Text),
    Column("by", Text),
    Column("unit", Text, nullable=False),
    Column("predicted", Float),
    Column("at_most", Float),
    Column("actual", Float),
    Column("reserved_at", Float, nullable=False),
    Column("settled_at", Float),
    Index("charges_by_account", "site", "account", "reserved_at"),
    Index("charges_by_settling", "settled_at"),
)

proposals = Table(
    "proposals",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("standing", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("body", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("bundle", LargeBinary, nullable=False),
    Index("proposals_by_standing", "standing", "row"),
    Index("proposals_by_channel", "channel", "row"),
    sqlite_autoincrement=True,
)

standing_budgets = Table(
    "standing_budgets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("expires_at", Float, nullable=False),
    Column("revoked_at", Float),
    Column("body", Text, nullable=False),
)

budget_uses = Table(
    "budget_uses",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("budget", Text, ForeignKey("standing_budgets.id"), nullable=False),
    Column("use", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("amount", Float, nullable=False),
    Column("at", Float, nullable=False),
    UniqueConstraint("budget", "use", "unit", name="one_use_once"),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("seq", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("digest", Text, nullable=False),
    Column("body", Text, nullable=False),
    sqlite_autoincrement=True,
)

model_calls = Table(
    "model_calls",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("channel", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_tokens", Integer),
    Column("answer_tokens", Integer),
    Column("seconds", Float, nullable=False),
    Column("outcome", Text, nullable=False),
    Index("model_calls_by_time", "at"),
    sqlite_autoincrement=True,
)

channels = Table(
    "channels",
    metadata,
    Column("channel", Text, primary_key=True),
    Column("path", Text),
    Column("foreign_text_at", Float),
    Column("changed_at", Float, nullable=False),
    Column("body", Text, nullable=False),
)

switches = Table(
    "switches",
    metadata,
    Column("name", Text, primary_key=True),
    Column("on", Boolean, nullable=False),
    Column("by", Text),
    Column("at", Float, nullable=False),
)

datasets = Table(
    "datasets",
    metadata,
    Column("name", Text, primary_key=True),
    Column("created_at", Float, nullable=False),
    Column("body", Text, nullable=False),
)

replicas = Table(
    "replicas",
    metadata,
    Column("dataset", Text, ForeignKey("datasets.name"), primary_key=True),
    Column("location", Text, primary_key=True),
    Column("site", Text),
    Column("body", Text, nullable=False),
    Column("listing", Text, nullable=False),
    Index("replicas_by_site", "site"),
)
"""``listing`` is what tells cheaply whether a copy is still what it was: sizes and times of its files."""

transfers = Table(
    "transfers",
    metadata,
    Column("row", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("client_token", Text, nullable=False, unique=True),
    Column("task_id", Text, ForeignKey("tasks.id")),
    Column("n", Integer),
    Column("state", Text, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("source", Text, nullable=False),
    Column("destination", Text, nullable=False),
    Column("mover", Text, nullable=False),
    Column("bytes", Integer),
    Column("files", Integer),
    Column("seconds", Float),
    Column("created_at", Float, nullable=False),
    Column("ended_at", Float),
    Column("version", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("transfers_active", "row", sqlite_where=text("NOT ended")),
    Index("transfers_by_task", "task_id", "n"),
    Index("transfers_by_pair", "source", "destination", "ended_at"),
    sqlite_autoincrement=True,
)
"""``source`` and ``destination`` are places without paths; ``bytes`` in ``seconds`` is what a pair was seen to do."""

environments = Table(
    "environments",
    metadata,
    Column("site", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("changed_at", Float, nullable=False),
    Column("body", Text, nullable=False),
)
