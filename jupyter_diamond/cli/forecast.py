"""How good forecasts were, as a table."""

from __future__ import annotations

from argparse import Namespace

from jupyter_diamond.model.forecast import SiteForecasts
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.vocabulary import span_of_time

from .grammar import DONE
from .output import UNKNOWN, as_json, number, say, table

HEADS = ("site", "starts", "error", "bias", "in band", "regret", "by", "learnt from", "queue", "ready", "run time")


def forecast(client: DiamondClient, said: Namespace) -> int:
    """Forecast and real waits, a line a site."""
    found = client.forecasts()
    if said.json:
        as_json(found)
        return DONE
    table(HEADS, [_line(each) for each in found.sites], right=HEADS[1:6])
    if not any(each.n for each in found.sites):
        say("No task has started since forecasts are made: each one that does is compared with what was said of it.")
    distrusted = [each.site for each in found.sites if not each.trusts_replay]
    if distrusted:
        say(f"The queue is not simulated at {', '.join(distrusted)}: there the simpler rule was nearer to the truth.")
    return DONE


def _line(found: SiteForecasts) -> tuple[str, ...]:
    bias = UNKNOWN if found.bias_s is None else f"{'+' if found.bias_s >= 0 else '-'}{span_of_time(abs(found.bias_s))}"
    band = UNKNOWN if found.coverage is None else f"{found.coverage:.0%} of {found.banded}"
    methods = ", ".join(f"{name} {count}" for name, count in sorted(found.methods.items()))
    return (
        found.site, number(found.n), _time(found.error_s), bias, band, _time(found.regret_s), methods or UNKNOWN,
        number(found.learnt), found.queue, _time(found.prepare_s),
        UNKNOWN if found.speed is None else f"{found.speed:.2f}x",
    )  # fmt: skip


def _time(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else span_of_time(seconds)
