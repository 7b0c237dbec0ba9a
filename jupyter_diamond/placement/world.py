"""What a decision may use beyond envelope, snapshot and sites: forecasts, and what is known of runs and transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jupyter_diamond.model.balance import Balances
from jupyter_diamond.model.charge import Spent

from .data_at import DataAt
from .environment_at import EnvironmentAt
from .forecast.wait import Forecaster


@dataclass(frozen=True, slots=True)
class World:
    """All of it is optional: what is not known is left out of the estimate, and said so.

    By site: ``speeds`` is the run time there over the run time that the user names; ``prepare_s`` how long a job takes
    from its start to that of the cell; ``transfer_s`` how long the data takes to get there; ``test_only_s`` the
    scheduler's own estimate of the wait, by (site, partition). ``balances`` is what is left on accounts, where a site
    has told.

    ``spent`` is what stands against the caps that the user has set, ``by`` the agent that asks.

    ``mismatched`` are sites that were reported to be wrong for this very task, each with the reason.

    ``environment`` is how the environment that the task names stands at each site; empty where it names none.

    ``data`` is how each name that the task needs stands at each site; empty where it needs none.

    ``simulated`` is at how many places a queue is simulated at most, the likeliest ones; at others jobs are counted.
    """

    forecaster: Forecaster
    speeds: Mapping[str, float] = field(default_factory=dict)
    prepare_s: Mapping[str, float] = field(default_factory=dict)
    transfer_s: Mapping[str, float] = field(default_factory=dict)
    test_only_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    simulated: int = 40
    balances: Mapping[str, Balances] = field(default_factory=dict)
    spent: tuple[Spent, ...] = ()
    by: str | None = None
    mismatched: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, EnvironmentAt] = field(default_factory=dict)
    data: Mapping[str, Sequence[DataAt]] = field(default_factory=dict)
