"""What a card says about a group, as plain data: the same for the live widget, static HTML and plain text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypedDict

from jupyter_diamond.model.group import Group, GroupShare
from jupyter_diamond.model.states import Phase
from jupyter_diamond.placement.words import charge as amount

from .group_words import (
    Failure,
    counts,
    counts_text,
    ended_count,
    failure_text,
    group_word,
    progress,
    rounds_text,
    share_total,
    state_of,
)
from .vocabulary import GLYPH, LOOK, clock, place_text, span_of_time, wall_clock

LEAST_ENDED = 3
"""From fewer than so many ends no pace is worked out."""


class Segment(TypedDict):
    """One part of the bar: how many are in states of one look."""

    count: int
    glyph: str
    tone: str
    word: str


class Place(TypedDict):
    """Where some of the members are. ``wait`` is the forecast while none of them runs."""

    place: str
    ended: int
    running: int
    total: int
    wait: str


class FailureRow(TypedDict):
    """Members that ended in one way, with their numbers as ranges."""

    text: str
    cause: str


class GroupView(TypedDict):
    """All that a group's card shows, ready to print. Times are seconds since 1970."""

    group_id: str
    name: str
    state: str
    glyph: str
    tone: str
    word: str
    progress: str
    ended_count: int
    members: int
    counts: str
    bar: list[Segment]
    later: int
    rounds: str
    places: list[Place]
    pace: str
    failures: list[FailureRow]
    sentence: str
    action: str
    trouble: str
    note: str
    why_here: str
    charge: str
    elapsed: str
    facts: list[list[str]]
    ended: bool
    can_cancel: bool
    cancelling: bool
    can_hold: bool
    held: bool
    as_of: str
    now: float


@dataclass(frozen=True)
class Seen:
    """What a kernel knows of a group beyond its newest word.

    ``samples`` are (time, how many had ended), oldest first; ``healed`` says what went on after trouble.
    """

    failures: Sequence[Failure] = ()
    samples: Sequence[tuple[float, int]] = ()
    healed: str = ""
    trouble: str = ""


def group_view(group: Group, *, now: datetime, seen: Seen | None = None) -> GroupView:
    """The view of a group."""
    seen = seen or Seen()
    state, ended = state_of(group), group.phase is Phase.ENDED
    look = LOOK[state]
    return GroupView(
        group_id=group.id,
        name=group.name,
        state=state.value,
        glyph=GLYPH[look.mark],
        tone=look.tone,
        word=group_word(group),
        progress=progress(group),
        ended_count=ended_count(group.states),
        members=group.members,
        counts=counts_text(group),
        bar=_bar(group),
        later=max(0, group.members - sum(group.states.values())),
        rounds=rounds_text(group),
        places=[_place(share) for share in group.shares],
        pace="" if ended else pace_text(seen.samples, group.members),
        failures=_failures(group, seen),
        sentence=_sentence(group, seen),
        action=group.next,
        trouble=seen.trouble,
        note=seen.healed,
        why_here=group.why_here,
        charge=charge_text(group),
        elapsed=_elapsed(group) if ended else "",
        facts=_facts(group, now),
        ended=ended,
        can_cancel=not ended and group.cancel_requested_by is None,
        cancelling=not ended and group.cancel_requested_by is not None,
        can_hold=not ended and group.cancel_requested_by is None,
        held=group.held_by is not None,
        as_of=wall_clock(now, now),
        now=now.timestamp(),
    )


def headline(view: GroupView) -> str:
    """The first line: ``fit   ● running 37/100 · 34 succeeded, 60 running · 37/100 anvil:shared ~10 min``."""
    parts = (f"{view['word']} {view['progress']}", view["counts"], *facts(view))
    return f"{view['name']}   {view['glyph']} " + " · ".join(part for part in parts if part)


def facts(view: GroupView) -> list[str]:
    """What follows the counts in a card that does not move."""
    found = (
        view["rounds"],
        ", ".join(place_line(place) for place in view["places"]),
        view["elapsed"],
        view["charge"],
        view["pace"],
        "" if view["ended"] else f"as of {view['as_of']}",
    )
    return [fact for fact in found if fact]


def place_line(place: Place) -> str:
    """``37/100 anvil:shared ~10 min``."""
    return " ".join(part for part in (f"{place['ended']}/{place['total']}", place["place"], place["wait"]) if part)


def last_lines(view: GroupView) -> list[str]:
    """What went wrong, by cause; what was mended; what to do; else why it is where it is."""
    lines = [f"{row['text']} {row['cause']}".rstrip() for row in view["failures"]]
    lines += [line for line in (view["note"], f"{view['sentence']} {view['action']}".strip(), view["trouble"]) if line]
    if not lines and view["why_here"]:
        lines.append(f"why here: {view['why_here']}")
    return lines


def pace_text(samples: Sequence[tuple[float, int]], members: int) -> str:
    """``12 a minute, about 5 min left``; empty until enough have ended while somebody looked on."""
    if len(samples) < 2:
        return ""
    (began, before), (last, ended) = samples[0], samples[-1]
    done, took = ended - before, last - began
    if done < LEAST_ENDED or took <= 0 or ended >= members:
        return ""
    unit, seconds = next((u, s) for u, s in (("second", 1), ("minute", 60), ("hour", 3600), ("day", 86400))
                         if done / took * s >= 1 or s == 86400)  # fmt: skip
    rate = done / took * seconds
    shown = f"{rate:.1f}".removesuffix(".0") if rate < 10 else f"{rate:.0f}"
    return (
        f"{shown} {'an' if unit == 'hour' else 'a'} {unit}, about {span_of_time((members - ended) * took / done)} left"
    )


def charge_text(group: Group) -> str:
    """What it is charged, each unit for itself: ``12.5 core-hours + 2 GPU-hours``; empty where nobody pays."""
    said = []
    for charge in group.charges:
        if charge.actual is not None:
            said.append(amount(charge.actual, charge.unit))
        elif charge.predicted is not None:
            said.append(f"about {amount(charge.predicted, charge.unit)}")
    return " + ".join(said)


def _place(share: GroupShare) -> Place:
    forecast = share.wait_s is not None and share.waiting and not share.running
    return Place(
        place=place_text(share.site, share.partition),
        ended=share.ended,
        running=share.running,
        total=share_total(share),
        wait=f"~{span_of_time(share.wait_s)}" if forecast and share.wait_s is not None else "",
    )


def _bar(group: Group) -> list[Segment]:
    return [
        Segment(count=n, glyph=GLYPH[LOOK[state].mark], tone=LOOK[state].tone, word=LOOK[state].word)
        for state, n in counts(group.states)
    ]


def _failures(group: Group, seen: Seen) -> list[FailureRow]:
    return [
        FailureRow(text=failure_text(replace(each, cause=""), group.members), cause=each.cause)
        for each in seen.failures
    ]


def _sentence(group: Group, seen: Seen) -> str:
    """Why it stopped; that members failed is told by cause already, unless it kept others from being sent."""
    told = seen.failures and not group.next and sum(group.states.values()) >= group.members
    return "" if told else group.cause


def _elapsed(group: Group) -> str:
    return "" if group.ended_at is None else clock((group.ended_at - group.created_at).total_seconds())


def _facts(group: Group, now: datetime) -> list[list[str]]:
    """Label and text, for the details. Only what is known is listed."""
    optional = (
        ("group", group.id),
        ("submitted", wall_clock(group.created_at, now)),
        ("ended", group.ended_at and wall_clock(group.ended_at, now)),
        ("each is given", ", ".join(group.params)),
        ("at once", None if group.at_once is None else f"at most {group.at_once} at a site"),
        ("rounds", rounds_text(group)),
        ("given up", "\n".join(f"round {each.round}: {each.condition}: {each.why}" for each in group.relaxed)),
        ("held by", group.held_by),
        ("charge", charge_text(group)),
    )
    return [[label, str(text)] for label, text in optional if text]
