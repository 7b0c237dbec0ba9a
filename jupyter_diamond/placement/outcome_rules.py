"""The rules about what a size takes here: whether it starts now, when it ends, and what it is charged.

They need a size's estimate, so they are asked after sizing; a size that they refuse gives way to a smaller one.
"""

from __future__ import annotations

import functools
import math
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple

from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope

from . import budget, words
from .caps import account_of
from .estimates import Weighed
from .place import NO_CHANGE, NOW, Change, Clock, Place, verdict
from .world import World

_NO_DEADLINE = verdict("deadline", "pass", "none", "none", "No deadline.")
_ANY_CHARGE = verdict("max charge", "pass", "any", "any", "Any charge will do.")
_NOBODY_PAYS = verdict("budget", "pass", "nothing", "any", "Nobody is charged for it there.")
_NO_BALANCE = verdict("credit", "pass", "unknown", "any", "What is left on your account is not known there.")


def capacity_now(place: Place, weighed: Weighed) -> Verdict:
    """Whether it would start at once. It ranks through the forecast and refuses nothing."""
    record = place.record
    gpus = weighed.size.gpus > 0
    free = None if record is None else record.gpus_free if gpus else record.cpus_free
    observed = "unknown" if free is None else f"{words.count(free, 'GPU' if gpus else 'core')} free"
    return _now(weighed.starts_now, observed, words.size(weighed.size))


@functools.lru_cache(maxsize=4096)
def _now(starts_now: bool | None, observed: str, required: str) -> Verdict:
    if starts_now:
        return verdict(NOW, "pass", observed, required, "It fits on what is free now.", soft=True)
    if starts_now is None:
        return verdict(NOW, "unknown", observed, required, "Whether it fits now is not known.", soft=True)
    return verdict(NOW, "fail", observed, required, "It does not fit on what is free now: it waits.", soft=True)


def deadline(envelope: Envelope, weighed: Weighed, clock: Clock, *, soft: bool) -> Verdict:
    """It ends in time, as far as wait and run time can be told; by its time limit it has ended for sure."""
    until = envelope.deadline
    if until is None:
        return _NO_DEADLINE
    required = f"by {_moment(until)}"
    answer, observed, sentence, change = _in_time(weighed, clock, (until - clock.now).total_seconds())
    return verdict("deadline", answer, observed, required, sentence, change=change, soft=soft)


def _moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"


def _in_time(weighed: Weighed, clock: Clock, left_s: float) -> tuple[Answer, str, str, Change]:
    estimate = weighed.estimate
    wait = estimate.forecast.wait_s
    if left_s <= 0:
        return "fail", "past", "The deadline is past.", NO_CHANGE
    if wait is None:
        return "unknown", "unknown", "When it would start is not known.", NO_CHANGE
    before = wait + (estimate.prepare_s or 0.0) + (estimate.transfer_s or 0.0)
    run = None if estimate.run_assumed else estimate.run_s
    soonest, latest = before + (run or 0.0), before + (weighed.size.walltime_s if run is None else run)
    if soonest > left_s:
        end = clock.now + timedelta(seconds=soonest)
        change = NO_CHANGE if run is None else Change(f"--deadline {end + timedelta(minutes=1):%Y-%m-%dT%H:%MZ}")
        return "fail", f"not before {_moment(end)}", f"It would end about {_moment(end)} at the earliest.", change
    if latest <= left_s and not estimate.forecast.beyond:
        end = clock.now + timedelta(seconds=latest)
        return "pass", f"by {_moment(end)}", f"It would have ended by {_moment(end)}.", NO_CHANGE
    return "unknown", "unknown", "It may start in time, but how long it runs is not known: add --runtime.", NO_CHANGE


def max_charge(envelope: Envelope, weighed: Weighed, *, soft: bool) -> Verdict:
    """What it can be charged at most, for its whole time limit, is within what the user allows."""
    limit, charge, unit = envelope.max_charge, weighed.estimate.charge_at_most, weighed.estimate.charge_unit
    if limit is None:
        return _ANY_CHARGE
    required = f"at most {words.amount(limit, unit)}"
    if charge is None:
        said = "What it would be charged is not known."
        return verdict("max charge", "unknown", "unknown", required, said, soft=soft)
    observed = words.amount(charge, unit)
    if charge <= limit:
        said = f"It is charged at most {observed}."
        return verdict("max charge", "pass", observed, required, said, soft=soft)
    change = f"--max-charge {math.ceil(charge * 10) / 10:g}"
    said, may = f"This job may cost up to {observed}.", Change(change, f"ask for {change}, or for less")
    return verdict("max charge", "fail", observed, required, said, change=may, soft=soft)


def credit(envelope: Envelope, place: Place, weighed: Weighed, told: Balances | None) -> Verdict:
    """What it can be charged at most is on the account that pays. A site that tells no balance keeps nobody away."""
    charge, unit = weighed.estimate.charge_at_most, weighed.estimate.charge_unit
    if told is None:
        return _NO_BALANCE
    required = "unknown" if charge is None else words.amount(charge, unit)
    limits = place.reading.limits if place.reading is not None else None
    name = account_of(limits, envelope.account or place.site.account)
    if name is None and len(told.accounts) != 1:
        said = "Which account would pay is not known: add --account."
        return verdict("credit", "unknown", "unknown", required, said)
    balance = told.accounts[0] if name is None else told.of(name)
    if balance is None:
        listed = ", ".join(each.account for each in told.accounts) or "none"
        said = f"It tells no balance of {name} (of {listed}): add --account."
        return verdict("credit", "unknown", "not told", required, said)
    return _against(balance, _Charge(charge, unit), place, weighed, told)


class _Charge(NamedTuple):
    amount: float | None
    unit: str

    def fits(self, balance: Balance) -> bool:
        left = self.left(balance)
        return left > 0 and (self.amount is None or self.amount <= left)

    def left(self, balance: Balance) -> float:
        """Without what the user's own tasks have taken since it was read, or have reserved."""
        return balance.left - balance.taken(self.unit)

    def has(self, balance: Balance) -> str:
        """``abc has 5 core-hours left``, and what of that is the user's own already."""
        unit, taken = self.unit or balance.unit, balance.taken(self.unit)
        said = f"{balance.account} has {words.amount(balance.left, unit)} left"
        return f"{said}, {words.amount(taken, unit)} of it taken by tasks of yours" if taken else said

    def beyond(self, balance: Balance, required: str) -> str:
        """What it may cost, and that there is less; a unit that is the same is said once."""
        has = self.has(balance)
        if self.amount is None:
            return has
        left = words.amount(balance.left, self.unit or balance.unit)
        return f"This job may cost up to {required}, and {has.replace(f'{left} left', f'{left.split()[0]} left')}"


def _against(balance: Balance, charge: _Charge, place: Place, weighed: Weighed, told: Balances) -> Verdict:
    left = words.amount(charge.left(balance), charge.unit or balance.unit)
    required = "unknown" if charge.amount is None else words.amount(charge.amount, charge.unit)
    if charge.amount is not None and balance.unit and balance.unit != charge.unit:
        said = f"{balance.account} is counted in {balance.unit}s, its charge in {charge.unit}s."
        return verdict("credit", "unknown", words.amount(balance.left, balance.unit), required, said)
    if charge.fits(balance):
        may = "what it is charged is not known" if charge.amount is None else f"it is charged at most {required}"
        return verdict("credit", "pass", left, required, f"{charge.has(balance)}; {may}.")
    change = _cheaper(balance, charge, place, weighed, told)
    ask = f"{change} would fit" if change else "name another --account, or another --site"
    return verdict("credit", "fail", left, required, f"{charge.beyond(balance, required)}.", change=Change(change, ask))


def _cheaper(balance: Balance, charge: _Charge, place: Place, weighed: Weighed, told: Balances) -> str:
    """A shorter time that is on the account, or else another account that has enough."""
    left = charge.left(balance)
    if charge.amount and left > 0:
        seconds = int(weighed.size.walltime_s * left / charge.amount) // 60 * 60
        floor = _least_charged(place)
        if seconds >= max(60, floor):
            return f"--time {words.time_option(seconds)}"
    pattern = place.policy.account_pattern if place.policy is not None else None
    others = [
        each.account
        for each in told.accounts
        if charge.fits(each) and (pattern is None or fnmatchcase(each.account, pattern))
    ]
    return f"--account {others[0]}" if others else ""


def _least_charged(place: Place) -> int:
    model = place.policy.charge if place.policy is not None else None
    return (model.least_s or 0) if model is not None else 0


def within_caps(envelope: Envelope, place: Place, weighed: Weighed, world: World) -> Verdict:
    """What it can be charged at most is within the caps that the user has set."""
    estimate, account = weighed.estimate, envelope.account or place.site.account
    if not estimate.charged:
        return _NOBODY_PAYS
    charge = Charge(
        unit=estimate.charge_unit, at_most=estimate.charge_at_most, per_hour=estimate.charge_per_hour,
        least_s=estimate.charge_least_s,
    )  # fmt: skip
    mine = [each for each in world.spent if budget.applies(each.cap, place.site.name, account, charge.unit, world.by)]
    for each in mine:
        no = budget.refused(each, charge, weighed.size.walltime_s, unknown=envelope.unknown_charge)
        if no is not None:
            required = f"at most {words.charge(each.left, each.cap.unit)}"
            return verdict("budget", "fail", no.observed, required, f"{no.fact}.", change=no.change)
    observed = "unknown" if charge.at_most is None else words.charge(charge.at_most, charge.unit)
    required = ", ".join(budget.named(each.cap) for each in mine) or "any"
    return verdict("budget", "pass", observed, required, "It is within your caps.")


def reported(place: Place, world: World) -> tuple[Verdict, ...]:
    """Somebody said that the site is wrong for this task; nothing where nobody did."""
    reason = world.mismatched.get(place.site.name)
    if reason is None:
        return ()
    sentence = f"It was reported to be wrong for this task: {words.clause(reason)[:200]}."
    return (verdict("reported", "fail", "reported as wrong", "not reported", sentence),)


def judged(envelope: Envelope, place: Place, weighed: Weighed, clock: Clock, world: World) -> tuple[Verdict, ...]:
    """All of these rules on one size. Nothing is said of caps where the user has set none."""
    capped = (within_caps(envelope, place, weighed, world),) if world.spent else ()
    return (
        capacity_now(place, weighed),
        deadline(envelope, weighed, clock, soft="deadline" in envelope.soft),
        max_charge(envelope, weighed, soft="max_charge" in envelope.soft),
        credit(envelope, place, weighed, world.balances.get(place.site.name)),
        *capped,
    )
