"""An estimate as people say it: a wait with its band, the terms that add up, what it costs."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from jupyter_diamond.model.decision import Candidate
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.parsing.runtimes import runtime_words

from . import words

UNKNOWN = "?"
_HOUR, _DAY = 3600, 86400


def about(seconds: float) -> str:
    """Only as exact as a forecast is: ``40 s``, ``10 min``, ``2 h 31 min``, ``1 d 4 h``."""
    step = 1 if seconds < 60 else 60 if seconds < 6 * _HOUR else 300 if seconds < _DAY else _HOUR
    return words.duration(math.floor(seconds / step + 0.5) * step)


def starts(forecast: Forecast) -> str:
    """``now``, ``in about 10 min (5-25)``, ``in more than 2 d``; ``?`` where nothing is known."""
    wait = forecast.wait_s
    if wait is None:
        return UNKNOWN
    if forecast.beyond:
        return f"in more than {about(wait)}"
    said = "now" if wait < 1 else f"in about {about(wait)}"
    return f"{said} ({band(forecast)})" if band(forecast) else said


def band(forecast: Forecast) -> str:
    """``5-25`` where all of it is minutes, else ``30 min to 2 h``; empty where no recorded outcomes tell."""
    wait, low, high = forecast.wait_s, forecast.low_s, forecast.high_s
    if wait is None or low is None or high is None or about(low) == about(high):
        return ""
    if wait < 1:
        return f"within {about(high)}"
    if all(60 <= each < _HOUR - 30 for each in (wait, high)) and (low < 1 or low >= 60):
        return f"{math.floor(low / 60 + 0.5)}-{math.floor(high / 60 + 0.5)}"
    return f"{about(low)} to {about(high)}"


def starts_of(candidate: Candidate) -> str:
    """When a candidate would start; a decision that is older than forecasts tells only whether it is now."""
    if candidate.size is None:
        return "-"
    if candidate.estimate is not None:
        return starts(candidate.estimate.forecast)
    return {True: "now", False: "later", None: UNKNOWN}[candidate.starts_now]


def would_start(candidate: Candidate) -> str:
    """The same in a table: what is refused starts never, but would; empty where nothing is known of it."""
    if candidate.size is None:
        return ""
    return starts_of(candidate) if candidate.feasible or candidate.rank else f"would start {starts_of(candidate)}"


def amount(value: float) -> str:
    """A charge: whole from 10 on, else with its first two digits: ``1,240``, ``3.5``, ``0.04``."""
    if value >= 10:
        return f"{math.floor(value + 0.5):,}"
    decimals = 1 if value >= 1 or value <= 0 else 1 - math.floor(math.log10(value))
    scale = 10 ** min(decimals, 6)
    text = f"{math.floor(value * scale + 0.5) / scale:.{min(decimals, 6)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def charge(estimate: Estimate | None) -> str:
    """``about 4 SU, at most 8``, ``at most 8 SU``; ``?`` where it is not known."""
    if estimate is None or estimate.charge is None:
        return UNKNOWN
    said, most = amount(estimate.charge), estimate.charge_at_most
    unit = estimate.charge_unit
    unit += "s" if unit.endswith("hour") and said != "1" else ""  # an SU is counted like a dozen: 4 SU
    if most is None or amount(most) == said:
        return f"at most {said} {unit}".rstrip()
    return f"about {said} {unit}".rstrip() + f", at most {amount(most)}"


def charge_why(estimate: Estimate | None) -> str:
    """What it costs, or why that is not known: ``charge not known: what it charges is not documented``."""
    said = charge(estimate)
    if said != UNKNOWN:
        return said
    why = estimate.charge_why if estimate is not None else ""
    return f"charge not known{f': {why}' if why else ''}"


def run(estimate: Estimate) -> str:
    """``2 h``, ``2 h assumed``; ``?`` where nobody said how long it runs."""
    if estimate.run_s is None:
        return UNKNOWN
    return about(estimate.run_s) + (" assumed" if estimate.run_assumed else "")


def terms(estimate: Estimate) -> str:
    """What is added up: ``10 min wait + 2 h run + 40 min to move data = 2 h 50 min``."""
    forecast = estimate.forecast
    if forecast.wait_s is None:
        return "when it would start is not known"
    more = "more than " if forecast.beyond else ""
    parts = [f"{more}{about(forecast.wait_s)} wait" if forecast.wait_s >= 1 else "no wait"]
    if estimate.run_s is not None:
        parts.append(f"{about(estimate.run_s)} run{' (assumed)' if estimate.run_assumed else ''}")
    parts += [
        f"{about(seconds)} to {what}"
        for seconds, what in ((estimate.prepare_s, "get ready"), (estimate.transfer_s, "move data"))
        if seconds is not None and seconds >= 1
    ]
    added = " + ".join(parts)
    if len(parts) > 1 and estimate.total_s is not None:
        added += f" = {more}{about(estimate.total_s)}"
    return added if estimate.run_s is not None else f"{added}; how long it runs was not said"


def ends(candidate: Candidate, made_at: datetime) -> str:
    """``done about 10:30 UTC, by 13:24 at the latest if it starts at 09:24``; empty where its start is not known."""
    size, estimate = candidate.size, candidate.estimate
    if size is None or estimate is None or estimate.forecast.wait_s is None or estimate.forecast.beyond:
        return ""
    wait = estimate.forecast.wait_s
    start, before = made_at + timedelta(seconds=wait), wait + (estimate.transfer_s or 0.0)
    latest = made_at + timedelta(seconds=before + size.walltime_s)
    limit = f"by {clock(latest, made_at)} at the latest if it starts at {clock(start, made_at)}"
    if estimate.run_s is None or estimate.total_s is None:
        return f"done {limit} UTC"
    return f"done about {clock(made_at + timedelta(seconds=estimate.total_s), made_at)} UTC, {limit}"


def clock(when: datetime, today: datetime) -> str:
    """``10:30``; on another day ``2026-12-01 10:30``. Rounded to the minute."""
    rounded = (when + timedelta(seconds=30)).replace(second=0, microsecond=0)
    return f"{rounded:%H:%M}" if rounded.date() == today.date() else f"{rounded:%Y-%m-%d %H:%M}"


def run_from(envelope: Envelope, candidate: Candidate) -> str:
    """Where the run time comes from: what the user said, or what is assumed; empty where it is not known."""
    estimate = candidate.estimate
    if estimate is None or estimate.run_s is None:
        return ""
    if estimate.run_assumed:
        return "assumed from the range that you asked for: say --runtime, if you know how long it runs"
    said, serial = runtime_words(envelope.runtime) if envelope.runtime is not None else ("", None)
    scaled = f" --serial {serial}" if serial else ""
    size = candidate.size
    how = ""
    if size is not None and (serial or (envelope.runtime and envelope.runtime.curve)):
        noun, amount = ("GPU", size.gpus) if size.gpus else ("core", size.cpus)
        how = f", worked out for {words.count(size.nodes * amount, noun)}"
    return f"your --runtime {said}{scaled}{how}"


def total_of(candidate: Candidate) -> float | None:
    """All of it in seconds; None where something that is needed for it is not known."""
    return None if candidate.estimate is None else candidate.estimate.total_s


def later(candidate: Candidate, chosen: Candidate) -> str:
    """``done 30 min later``, ``done 5 min sooner``, ``done at the same time``; empty where it is not known."""
    ours, theirs = total_of(candidate), total_of(chosen)
    if ours is None or theirs is None:
        return ""
    apart = ours - theirs
    if abs(apart) < 1:
        return "done at the same time"
    return f"done {about(abs(apart))} {'later' if apart > 0 else 'sooner'}"
