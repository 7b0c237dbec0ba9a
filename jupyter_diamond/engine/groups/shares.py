"""From one decision to the shares of a round: which place takes how many, as which arrays. Pure but for names it draws.

Members are alike in what they need, so one decision is for all of them; each share keeps it with its own place chosen.
Where the objective is time, places that meet as many wishes as the best one share the members by when each would be
over. Under any other objective all go to the best place while it takes them, and only what it does not take (as
nobody would pay for it there) goes to the next by rank. The baselines of comparisons and a pin have one place only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.engine.heal.places import ranking
from jupyter_diamond.engine.planner import Planned
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Objective, Softenable
from jupyter_diamond.model.group import Member, Relaxed
from jupyter_diamond.model.snapshot import Record, SiteReading
from jupyter_diamond.model.task import ArrayPlace, Attempt, Task
from jupyter_diamond.placement import words
from jupyter_diamond.placement.budget import paying
from jupyter_diamond.placement.caps import for_envelope, most
from jupyter_diamond.placement.idle import exactly, jobs_at_once, jobs_now
from jupyter_diamond.placement.objectives import unmet
from jupyter_diamond.store.groups import Round, Share

from .names import Names
from .split import Vessel, chunks, last_over_s, poured, stacked

_BY_TIME: frozenset[Objective] = frozenset({"earliest_completion", "earliest_start"})
_ONE_PLACE: frozenset[Objective] = frozenset({"shortest_queue", "best_feasible", "random"})
RELAX_S = 1800.0
"""A wish is given up for a round where it would be over so much later with it, and more than twice as late."""
_WISHES: dict[str, Softenable] = {
    "architecture": "arch", "accelerator": "gpu_model", "GPU memory": "gpu_memory", "fabric": "fabric",
    "container": "container", "sites": "sites", "deadline": "deadline", "max charge": "max_charge",
    "preemptible": "preemptible",
}  # fmt: skip
"""The rules that judge wishes, with the wish that each is about."""


class _Open(NamedTuple):
    """A candidate that may take members."""

    at: int
    candidate: Candidate
    vessel: Vessel
    reading: SiteReading | None
    record: Record | None

    @property
    def wishes(self) -> int:
        return unmet(self.candidate.verdicts)[1]


class Split(NamedTuple):
    """How many go where. ``left`` is how many no place takes, as nobody would pay for them."""

    shares: tuple[tuple[_Open, int], ...]
    left: int = 0
    relaxed: tuple[Relaxed, ...] = ()


def split(planned: Planned, count: int, *, number: int = 1, at_once: int | None = None) -> Split:
    """Share out so many members of a round. No shares where no place can take one."""
    decision = planned.decision
    places = [_open(planned, at) for at in _one_a_site(decision)]
    objective = decision.objective
    if not places:
        return Split((), count)
    if decision.mode == "pinned" or objective in _ONE_PLACE:
        return _taken(places[:1], stacked([places[0].vessel], count), count)
    if objective not in _BY_TIME:
        return _taken(places, stacked([each.vessel for each in places], count), count)
    return _by_time(places, count, number=number, at_once=at_once, starts=objective == "earliest_start")


def _by_time(places: list[_Open], count: int, *, number: int, at_once: int | None, starts: bool) -> Split:
    """Those that meet most wishes fill first; the others take the rest, or share, where a wish would cost too much."""
    shares, left = [0] * len(places), count
    for wishes in sorted({each.wishes for each in places}):
        tier = [at for at, each in enumerate(places) if each.wishes == wishes]
        some = poured([places[at].vessel for at in tier], left, at_once=at_once, starts=starts)
        for at, share in zip(tier, some, strict=True):
            shares[at] = share
        left -= sum(some)
    vessels = [each.vessel for each in places]
    freely = poured(vessels, count, at_once=at_once, starts=starts)
    strict_s, free_s = (last_over_s(vessels, each, at_once=at_once) for each in (shares, freely))
    if strict_s - free_s <= RELAX_S or strict_s <= 2 * free_s:
        return _taken(places, shares, count)
    why = f"With it the round would be over in {_in(strict_s)}, without it in {_in(free_s)}."
    given_up = dict.fromkeys(
        _WISHES[verdict.rule]
        for each, share in zip(places, freely, strict=True)
        for verdict in each.candidate.verdicts
        if share and verdict.soft and verdict.answer != "pass" and verdict.rule in _WISHES
    )
    relaxed = tuple(Relaxed(round=number, condition=condition, why=why) for condition in given_up)
    return _taken(places, freely, count)._replace(relaxed=relaxed)


def _in(seconds: float) -> str:
    return "an unknown time" if seconds == float("inf") else words.duration(seconds)


def _taken(places: Sequence[_Open], shares: Sequence[int], count: int) -> Split:
    used = tuple((each, share) for each, share in zip(places, shares, strict=True) if share)
    return Split(used, count - sum(shares))


def _one_a_site(decision: Decision) -> list[int]:
    """The best candidate of each site, by rank."""
    found: dict[str, int] = {}
    for at in ranking(decision):
        found.setdefault(decision.candidates[at].site, at)
    return list(found.values())


def _open(planned: Planned, at: int) -> _Open:
    candidate, envelope = planned.decision.candidates[at], planned.decision.envelope
    reading = next((each for each in planned.snapshot.sites if each.site == candidate.site), None)
    records = reading.records if reading is not None else ()
    record = next((each for each in records if each.partition == candidate.partition), None)
    if record is not None:
        record = for_envelope(record, reading, envelope, candidate.account)
    return _Open(at, candidate, _vessel(planned, candidate, reading, record), reading, record)


def _vessel(planned: Planned, candidate: Candidate, reading: SiteReading | None, record: Record | None) -> Vessel:
    estimate, size = candidate.estimate, candidate.size
    assert size is not None, "only what may be chosen is ranked"
    run_s = estimate.run_s if estimate is not None and estimate.run_s is not None else float(size.walltime_s)
    before_s = None
    if estimate is not None and estimate.forecast.wait_s is not None:
        before_s = estimate.forecast.wait_s + (estimate.prepare_s or 0.0) + (estimate.transfer_s or 0.0)
    now = whole = None
    if record is not None:
        asked = exactly(planned.decision.envelope, size)
        now = jobs_now(asked, size, record) if candidate.starts_now else None
        whole = jobs_at_once(asked, size, record)
    return Vessel(before_s, run_s, now, whole, _paid_for(planned, candidate, reading))


def _paid_for(planned: Planned, candidate: Candidate, reading: SiteReading | None) -> int | None:
    """How many the account that pays can be charged for; None where that is not known, or nobody pays."""
    estimate, told = candidate.estimate, planned.world.balances.get(candidate.site)
    each = estimate.charge_at_most if estimate is not None and estimate.charged else None
    if told is None or not each or estimate is None:
        return None
    payer = paying(told, candidate.account, reading.limits if reading is not None else None)
    balance = told.of(payer) if payer is not None else None
    if balance is None or balance.unit != estimate.charge_unit:
        return None
    return max(0, int((balance.left - balance.taken(balance.unit) + 1e-9) // each))


def round_of(found: Split, decision: Decision, members: Sequence[Member], *, names: Names, now: datetime) -> Round:
    """The round as it is stored: members in their order go to the places in theirs."""
    left, shares = list(members), []
    for place, count in found.shares:
        mine, left = left[:count], left[count:]
        own = _chosen(decision, place.at, found, count)
        shares += [_share(place, part, own, names, now) for part in _arrays(place, mine)]
    return Round(tuple(shares), why_there(found, decision), found.relaxed)


def _arrays(place: _Open, members: Sequence[Member]) -> list[list[Member]]:
    """In parts that the site takes as one submission; all as one where its scheduler knows no arrays."""
    reading, record = place.reading, place.record
    longest = reading.array_places if reading is not None else None
    if longest is None:
        return [list(members)]
    if reading is not None and reading.array_members is not None:
        longest = min(longest, reading.array_members)
    queued, left = most(record, "queued"), most(record, "queued", free=True)
    if queued is not None:
        longest = min(longest, max(1, queued))
    parts, rest = [], list(members)
    for length in chunks(len(members), longest=longest, first=left):
        parts.append(rest[:length])
        rest = rest[length:]
    return parts


def _share(place: _Open, members: Sequence[Member], decision: Decision, names: Names, now: datetime) -> Share:
    candidate, reading = place.candidate, place.reading
    token = names.token()
    places = reading.array_places if reading is not None else None
    as_array = places is not None and len(members) > 1
    by_index = places is not None and all(member.index < places for member in members)
    base = Attempt.model_validate({
        "n": 1, "token": token, "site": candidate.site, "partition": candidate.partition or None,
        "account": candidate.account, "size": candidate.size, "created_at": now, "state_since": now,
    })  # fmt: skip
    first, attempts = ArrayPlace(token=token, at=0), list[tuple[int, Attempt]]()
    for position, member in enumerate(members):
        at = member.index if by_index else position
        own = {"array": first.but(at=at), "token": f"{token}-{at}"} if as_array else {"token": names.token()}
        attempts.append((member.index, base.but(**own)))
    return Share(token, names.key(), decision, tuple(attempts))


def renewed(decision: Decision, tasks: Sequence[Task], names: Names, now: datetime) -> tuple[Share, ...]:
    """The share that members of one array go on as where they were: their next attempts, with nothing sent yet."""
    token, attempts = names.token(), list[tuple[int, Attempt]]()
    for task in sorted(tasks, key=lambda task: task.member.index if task.member is not None else 0):
        before = task.attempts[-1]
        assert task.member is not None and before.array is not None  # noqa: PT018 - of an array of a group's members
        at = before.array.at
        attempts.append((task.member.index, Attempt(
            n=before.n + 1, token=f"{token}-{at}", array=ArrayPlace(token=token, at=at), site=before.site,
            partition=before.partition, account=before.account, size=before.size, created_at=now, state_since=now,
        )))  # fmt: skip
    return (Share(token, names.key(), decision, tuple(attempts)),)


def _chosen(decision: Decision, at: int, found: Split, count: int) -> Decision:
    """The decision, with the place of one share as its choice."""
    if len(found.shares) == 1 and at == decision.chosen:
        return decision
    others = tuple(other for other in ranking(decision) if other != at)[:3]
    candidate, total = decision.candidates[at], sum(share for _, share in found.shares)
    said = f"{words.place(candidate.site, candidate.partition)} takes {count} of {total}"
    why = "so that all are over soonest" if decision.objective in _BY_TIME else "as others are not paid for"
    sentence = f"{said}, {why}. Of all places: {decision.sentence}"
    return decision.model_copy(update={"chosen": at, "sentence": sentence, "alternatives": others})


def why_there(found: Split, decision: Decision) -> str:
    """Why there, for the whole group."""
    if len(found.shares) < 2:
        return decision.sentence
    parts = [
        f"{count} at {words.place(place.candidate.site, place.candidate.partition)}" for place, count in found.shares
    ]
    why = "so that all are over soonest" if decision.objective in _BY_TIME else "as the best place takes no more"
    return f"{', '.join(parts)}, {why}. Of the best: {decision.sentence}"


def too_few(found: Split, decision: Decision) -> str:
    """Why a round is not taken where its members have no place, in a sentence; empty where all have one."""
    if not found.left:
        return ""
    if not found.shares:
        return decision.sentence
    count = sum(share for _, share in found.shares)
    places = " and ".join(words.place(place.candidate.site, place.candidate.partition) for place, _ in found.shares)
    return (
        f"What is left on your account at {places} pays for {count} of these {count + found.left}. Ask for fewer, or "
        f"for less time than {words.duration(decision.envelope.walltime_s.min)} each. Nothing was submitted."
    )
