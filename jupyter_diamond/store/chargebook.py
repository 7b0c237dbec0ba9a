"""Questions about charges: what was spent, what is reserved, and what stands against the caps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from jupyter_diamond.model.charge import AccountCharges, Held, SpendingCap, Spent, TaskCharges

from . import charges
from .database import Database


class ChargeBook:
    """The charges of a store. It only reads: they are written with their attempts (``attempt_rows``)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def accounts(self, since: datetime) -> tuple[AccountCharges, ...]:
        """Sums of what is reserved now and what was settled since then: one for each site, account and unit."""
        with self._database.read() as connection:
            return charges.by_account(connection, since)

    def tasks(self, since: datetime) -> tuple[TaskCharges, ...]:
        """The tasks that are charged now or were settled since then, newest first."""
        with self._database.read() as connection:
            return charges.by_task(connection, since)

    def spent(
        self, caps: Iterable[SpendingCap], at: datetime, *, task_id: str = "", by: str | None = None
    ) -> tuple[Spent, ...]:
        """What stands against caps now; ``task_id`` and ``by`` say whose a task's or an agent's is."""
        with self._database.read() as connection:
            return tuple(charges.spent(connection, cap, at=at, task_id=task_id, by=by) for cap in caps)

    def held(self, since: Mapping[str, datetime]) -> dict[str, tuple[Held, ...]]:
        """By site, what a balance that was read at that time does not show yet of the user's own tasks."""
        with self._database.read() as connection:
            return charges.held(connection, since)
