"""Whether what a task may cost is within the caps that its user has set. Pure: what was spent comes in as a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jupyter_diamond.model.balance import Balances
from jupyter_diamond.model.charge import HOUR_S, Charge, Held, SpendingCap, Spent
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.limits import SiteLimits
from jupyter_diamond.model.task import Attempt

from . import words
from .caps import account_of
from .charge import settled
from .place import Change

_DUST = 1e-9
"""Sums of charges are off by less than this; nobody is refused for it."""
_SETTINGS = {
    "task": "c.DiamondBudget.per_task", "day": "c.DiamondBudget.per_day", "account": "c.DiamondBudget.per_account",
    "agent": "c.DiamondBudget.per_agent",
}  # fmt: skip


class Refused(NamedTuple):
    """What a cap says against a charge, and the smallest change that would pass, where an option is one."""

    fact: str
    change: Change
    observed: str

    @property
    def sentence(self) -> str:
        """With what to do about it."""
        return f"{self.fact}: {self.change.advice}."


def applies(cap: SpendingCap, site: str, account: str | None, unit: str, by: str | None) -> bool:
    """Whether a charge counts against a cap. One of unknown unit may; one in another unit never does.

    Without a name it is the site's default account that pays, which may be any: it counts against the cap of each.
    """
    if unit not in (cap.unit, ""):
        return False
    if cap.scope == "agent":
        return by is not None
    if cap.site is not None and cap.site != site:
        return False
    return cap.account is None or account is None or account.casefold() == cap.account.casefold()


def named(cap: SpendingCap) -> str:
    """``2 core-hours in 24 hours (c.DiamondBudget.per_day)``."""
    whose = {"task": "for one task", "day": "in 24 hours", "agent": "for an agent in 24 hours"}.get(cap.scope)
    whose = whose or (f"at {cap.site} on {cap.account}" if cap.account else f"at {cap.site}")
    return f"{words.charge(cap.amount, cap.unit)} {whose} ({_SETTINGS[cap.scope]})"


def standing(against: Spent) -> str:
    """``0.5 core-hours are spent, 1 core-hour is reserved``, and what is not known."""
    cap = against.cap
    said = [f"{words.charge(against.spent, cap.unit)} spent", f"{words.charge(against.reserved, cap.unit)} reserved"]
    if against.unknown:
        said.append(f"{words.count(against.unknown, 'attempt')} of unknown charge")
    return ", ".join(said)


def refused(against: Spent, charge: Charge, walltime_s: int, *, unknown: bool, jobs: int = 1) -> Refused | None:
    """What the cap says against it; None: it is within the cap. ``unknown``: an unknown charge will do.

    ``jobs``: so many that cost the same are to be within it together.
    """
    charge = _times(charge, jobs)
    cap = against.cap
    if charge.at_most is None:
        if unknown:
            return None
        said = f"What it is charged is not known, so your cap of {named(cap)} cannot be kept"
        option = "--unknown-charge"
        return Refused(said, Change(option, f"add {option} to send it all the same"), "unknown")
    if against.spent + against.reserved + charge.at_most <= cap.amount + _DUST:
        return None
    most = words.charge(charge.at_most, cap.unit)
    change = _shorter(against, charge, walltime_s)
    ask = f"ask for {change}, or raise the cap" if change else f"raise the cap, or {_else(against, charge.at_most)}"
    left = words.charge(against.left, cap.unit)
    these = "this job" if jobs == 1 else f"these {jobs:,} jobs"
    said = f"Your cap of {named(cap)} leaves {left} ({standing(against)}), and {these} may cost up to {most}"
    return Refused(said, Change(change, ask), most)


def _times(charge: Charge, jobs: int) -> Charge:
    """What so many of them are charged. The least is of each, so it stays."""
    if jobs == 1:
        return charge
    times = {name: getattr(charge, name) for name in ("predicted", "at_most", "per_hour")}
    return charge.model_copy(update={name: None if each is None else each * jobs for name, each in times.items()})


def over(
    spent: Iterable[Spent], attempt: Attempt, charge: Charge, *, by: str | None, unknown: bool, jobs: int = 1
) -> str:
    """Why a cap does not let an attempt be made that may be charged so, in one sentence; empty where all of them do."""
    for against in spent:
        if applies(against.cap, attempt.site, attempt.account, charge.unit, by):
            answer = refused(against, charge, attempt.size.walltime_s, unknown=unknown, jobs=jobs)
            if answer is not None:
                return answer.sentence
    return ""


def as_ended(against: Spent, attempt: Attempt, *, by: str | None) -> Spent:
    """What will stand against the cap once an attempt is over that another one is to follow.

    Its end may not be stored yet: what it cost counts then, not what is still reserved for it. One that waits is taken
    back before another follows it, and costs nothing; where it starts in the meantime, none follows.
    """
    waits = not attempt.state.terminal and attempt.started_at is None
    charge = settled(attempt, attempt.state_since) if attempt.state.terminal or waits else None
    if charge is None or charge == attempt.charge:
        return against
    if not applies(against.cap, attempt.site, attempt.account, charge.unit, by):
        return against
    due = 0.0 if waits else charge.at_most if charge.actual is None else charge.actual
    known = charge.at_most is None and due is not None
    return against.model_copy(
        update={
            "spent": against.spent + (due or 0.0),
            "reserved": max(0.0, against.reserved - (charge.at_most or 0.0)),
            "unknown": against.unknown - known,
        }
    )


def _else(against: Spent, most: float) -> str:
    """What helps where no shorter time does: waiting, as far as what stands against the cap goes away by itself."""
    stays = against.spent if against.cap.scope in ("task", "account") else 0.0
    return "wait until some of it is free again" if stays + most <= against.cap.amount + _DUST else "ask for less"


def _shorter(against: Spent, charge: Charge, walltime_s: int) -> str:
    """A shorter time that the cap allows; empty where not even a minute, or the least that is charged, is left."""
    if not charge.per_hour or against.left <= 0:
        return ""
    seconds = int(against.left / charge.per_hour * HOUR_S) // 60 * 60
    return f"--time {words.time_option(seconds)}" if max(60, charge.least_s) <= seconds < walltime_s else ""


def too_dear(decision: Decision) -> bool:
    """Some place would do, were it not for a cap."""
    return any(
        each.size is not None
        and {verdict.rule for verdict in each.verdicts if verdict.answer == "fail" and not verdict.soft} == {"budget"}
        for each in decision.candidates
    )


def lowered(told: Balances, held: tuple[Held, ...], limits: SiteLimits | None) -> Balances:
    """Balances with what the user's own tasks have taken of them; what an unknown account pays is on none of them."""
    if not held:
        return told
    theirs: dict[str, list[Held]] = {}
    for each in held:
        payer = paying(told, each.account, limits)
        if payer is not None:
            theirs.setdefault(payer.casefold(), []).append(each)
    accounts = tuple(
        each.model_copy(update={"held": tuple(theirs.get(each.account.casefold(), ()))}) for each in told.accounts
    )
    return told.model_copy(update={"accounts": accounts})


def paying(told: Balances, account: str | None, limits: SiteLimits | None) -> str | None:
    """The account of a balance that pays: the one that is named, the default one, or the only one."""
    name = account_of(limits, account)
    if name is None and len(told.accounts) == 1:
        return told.accounts[0].account
    return name
