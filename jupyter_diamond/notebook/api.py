"""The names a notebook uses: ``diamond.task("fit")``, ``diamond.tasks()``, ``diamond.sites()``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal

from jupyter_diamond.model.group import Group
from jupyter_diamond.model.transfer import SyncLevel

from .charges import charges_table, tasks_charges_table
from .consumers import Callback
from .data_tables import data_table, transfers_table
from .data_verbs import started
from .explanation import Explanation
from .group_handle import GroupHandle
from .handle import TaskHandle
from .heatmap import heatmap as figure
from .session import session
from .tables import forecast_table, history_table, sites_table, tasks_table
from .transfer_handle import TransferHandle

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

__all__ = [
    "charges", "datasets", "explain", "forecast", "heatmap", "history", "jobs", "on", "sites", "task", "tasks",
    "transfer", "transfers",
]  # fmt: skip


def task(ref: str) -> TaskHandle | GroupHandle:
    """A task by id, or by name: the newest of that name in this notebook, else in any of yours.

    The name of an array or a sweep gives the whole group, ``fit[3]`` one of its members.

    :raises NotFound: no such task.
    """
    current = session()
    found = current.find(ref)
    return GroupHandle(current, found) if isinstance(found, Group) else TaskHandle(current, found)


def tasks(*, active: bool | None = None, name: str | None = None, limit: int = 100) -> pd.DataFrame:
    """Your tasks, newest first, a group in one row; ``active`` keeps those under way (True) or ended (False)."""
    phase = None if active is None else ("active" if active else "ended")
    client = session().client
    found = client.tasks(name=name, phase=phase, limit=limit)
    groups = client.groups(name=name, phase=phase, limit=limit)
    rows: pd.DataFrame = tasks_table(found, datetime.now(timezone.utc), groups).head(limit)
    return rows


jobs = tasks


def explain(ref: str) -> Explanation:
    """Why a task went where it went, by the decision that was stored: a text that notebooks show as a table, too.

    ``.table()`` gives a DataFrame of all candidates, ``.decision`` the whole of it.

    :raises NotFound: no such task.
    """
    return task(ref).explain()


def sites(*, refresh: bool = False) -> pd.DataFrame:
    """Your sites and their partitions: what is free, what waits, and how old each number is."""
    client = session().client
    snapshot = client.refresh() if refresh else client.sites()
    return sites_table(snapshot, datetime.now(timezone.utc))


def history(site: str, *, hours: float = 24.0) -> pd.DataFrame:
    """What was free at a site and who waited there: a day of single readings, ten-minute and hourly means before it.

    :raises NotFound: no such site.
    """
    return history_table(session().client.history(site, hours))


def heatmap(
    site: str, *, weeks: float = 4.0, what: Literal["busy", "pending"] = "busy", partition: str | None = None
) -> go.Figure:
    """When a site is busy: a plotly figure with a row a weekday and a column an hour.

    ``busy`` is the share of GPUs (of cores where there are none) that was taken, ``pending`` how many jobs waited.

    :raises NotFound: no such site.
    :raises InvalidRequest: no such partition, or plotly is not installed.
    """
    return figure(session().client.history(site, weeks * 7 * 24), what=what, partition=partition)


def forecast() -> pd.DataFrame:
    """How near the forecast waits were to the real ones, site by site, over your newest starts."""
    return forecast_table(session().client.forecasts())


def charges(*, days: float = 7.0, tasks: bool = False) -> pd.DataFrame:
    """What your tasks cost, by site, account and unit: predicted, reserved, actual, and what is left where it is told.

    Settled charges of the last ``days``, and whatever is under way. ``tasks``: a row an attempt instead. Amounts of two
    rows are in units of two sites: they are not to be added up.
    """
    found = session().client.charges(days, tasks=tasks)
    return tasks_charges_table(found) if tasks else charges_table(found, datetime.now(timezone.utc))


def datasets() -> pd.DataFrame:
    """Your data by name, a row a copy: size, where it lies, how it is, and whether the site will soon delete it."""
    return data_table(session().client.datasets(), datetime.now(timezone.utc))


def transfers(*, active: bool | None = None, limit: int = 100) -> pd.DataFrame:
    """Your transfers, newest first; ``active`` keeps those under way (True) or ended (False)."""
    return transfers_table(session().client.transfers(active=active, limit=limit), datetime.now(timezone.utc))


def transfer(
    source: str,
    destination: str,
    *,
    files: Sequence[str] = (),
    sync: SyncLevel | None = "checksum",
    deadline_s: float | None = None,
) -> TransferHandle:
    """Begin to move a file or a folder: ``diamond.transfer("delta:/scratch/x", "home:/data/x").wait()``.

    ``files``: only these paths below the source. ``sync`` None sends also what is there already.

    :raises DataProblem: the source cannot be read, or there is no way.
    """
    current = session()
    found = started(
        current.client, (source, destination), files=tuple(files), sync=sync, deadline_s=deadline_s
    )  # fmt: skip
    return TransferHandle(current, found)


def on(callback: Callback, *, consumer: str | None = None) -> None:
    """Call ``callback(news)`` for whatever this notebook waits for and has no other callback for; also what it missed.

    ``consumer`` names the one that waits, where it is not this notebook.
    """
    session().consumers.on_rest(callback, consumer=consumer)
