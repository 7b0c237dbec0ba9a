"""What goes wrong in a run, all of it drawn from one seed before the run begins."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any, Literal

CALM_AT = 1500.0
"""From then on nothing new goes wrong: what has not ended yet must."""
HORIZON = 2 * 3600.0
"""By then every task has ended."""

Sides = Literal["before", "ran", "after"]
CALLS = ("submit", "peek", "fence", "lookup", "queue", "accounting", "cancel", "look")
"""The scripts of a server; a probe only reads."""
COMMITS = (
    "task.created", "attempt.submitting", "attempt.submitted", "attempt.submit_unknown", "attempt.state_changed",
    "attempt.result_ready", "attempt.terminal", "attempt.trouble", "task.cancel_requested",
)  # fmt: skip
HEALS = ("task.retry", "task.resize", "task.migrate", "task.segment", "task.not_again")
CHARGES = ("charge.reserved", "charge.settled")
HOLDS = ("task.held", "task.released", "task.withdrawal", "task.replanned", "task.stays")
GROUPS = (
    "group.created", "group.round_started", "group.round_finished", "group.stopped", "group.ended", "group.held",
    "group.released", "group.cancel_requested",
)  # fmt: skip
BOUNDARIES = (
    *(f"{call} {side}" for call in CALLS for side in ("before", "ran", "after")),
    *(
        f"commit {kind} {side}"
        for kind in (*COMMITS, *HEALS, *CHARGES, *HOLDS, *GROUPS)
        for side in ("before", "after")
    ),
)
WAY = ("not_sent", "lost_before", "lost_after", "late_run", "slow", "twice", "cut", "garbled", "stale", "doubled")
WINDOWS = (
    "way_down", "hang", "controller_down", "accounting_down", "accounting_late", "site_full", "store_locked",
    "store_full",
)  # fmt: skip
SUBMISSION = ("dies", "mute", "double", "refused")
FATES = ("ok", "failed", "oom", "timeout", "node_fail", "preempted", "operator", "requeued", "forgotten", "cancel_late")


@dataclass(frozen=True)
class Window:
    """A while in which something does not work."""

    kind: str
    begin: float
    end: float


@dataclass(frozen=True)
class Kill:
    """Kill the server when it passes a boundary for the ``nth`` time; another one starts ``down_s`` later."""

    boundary: str
    nth: int
    down_s: float


@dataclass(frozen=True)
class Act:
    """What the user does."""

    at: float
    what: Literal["submit", "cancel", "hold", "release", "replan", "unpin"]
    task: str


@dataclass(frozen=True)
class Wish:
    """What a task, or a group, asks for beyond one plain run. ``rounds``: how many members each round of a group has."""

    memory: tuple[int, int] = (1, 1)
    """In GiB: from, to."""
    segments: int = 1
    pinned: bool = False
    rounds: tuple[int, ...] = ()
    next_round: Literal["ok", "ended"] = "ok"
    at_once: int | None = None


@dataclass
class Plan:
    """Drawn once; ``now`` decides nothing but windows."""

    seed: int
    rates: dict[str, float]
    sickly: float
    """How many submissions meet a fault of their own."""
    windows: tuple[Window, ...]
    jumps: tuple[tuple[float, float], ...]
    ids_anew: tuple[float, ...]
    kills: tuple[Kill, ...]
    stops: tuple[float, ...]
    """When the server is stopped as it should be, and started again."""
    acts: tuple[Act, ...]
    fates: tuple[str, ...]
    """Of jobs, in the order in which they are taken; the rest end well."""
    sites: int
    waits: float
    """How long a script may wait at a site."""
    forced: dict[str, list[str]] = field(default_factory=dict)
    """Faults by hand: on the way of the next scripts of a kind, "" for none; under ``shell``
    those of submissions, under ``commit KIND`` those of the store."""
    waits_s: tuple[float, ...] = (0.05, 1.0, 10.0, 200.0)
    """How long jobs wait in the queue, and how long they run."""
    runs_s: tuple[float, ...] = (0.5, 5.0, 60.0, 300.0)
    twice_s: tuple[float, ...] = (0.001, 3.0, 120.0)
    """When a script is delivered once more."""
    wishes: dict[str, Wish] = field(default_factory=dict)
    caps: dict[str, list[str]] = field(default_factory=dict)
    """Settings of what may be spent; a task of one attempt reserves a sixth of a toy-hour."""
    late_s: tuple[float, ...] = (20.0, 90.0, 400.0)
    """How late a script may come of which nobody hears any more."""
    injected: dict[str, int] = field(default_factory=dict)

    def on(self, kind: str, now: float) -> bool:
        """Whether a window of this kind is open."""
        return any(window.kind == kind and window.begin <= now < window.end for window in self.windows)

    def by_hand(self, kind: str) -> str | None:
        """The fault that was written down for this moment; None where none was."""
        return self.forced[kind].pop(0) if self.forced.get(kind) else None

    def count(self, kind: str) -> None:
        """Note that a fault was met."""
        self.injected[kind] = self.injected.get(kind, 0) + 1


def calm(**changes: Any) -> Plan:
    """One task, one site, and nothing goes wrong but what is said."""
    nothing = Plan(
        seed=0, rates={}, sickly=0.0, windows=(), jumps=(), ids_anew=(), kills=(), stops=(),
        acts=(Act(1.0, "submit", "cell0"),), fates=(), sites=1, waits=50.0, waits_s=(5.0,), runs_s=(30.0,),
    )  # fmt: skip
    return replace(nothing, **changes)


def draw(seed: int) -> Plan:
    """The plan of a seed."""
    rng = random.Random(seed)
    groups = ["sweep0"] if rng.random() < 0.3 else []
    names = [*groups, *(f"cell{i}" for i in range(rng.choice((1, 2, 2, 3)) - len(groups)))]
    begun = [Act(rng.uniform(0.0, 120.0), "submit", name) for name in names]
    acts = [each for act in begun for each in (act, *_meant(rng, act))]
    troubled = rng.choice((0.0, 0.05, 0.15, 0.4))
    favoured = rng.choice(WAY)
    kinds = _met(acts, groups)
    return Plan(
        seed=seed,
        rates={kind: troubled * (0.5 if kind == favoured else 0.5 / (len(WAY) - 1)) for kind in WAY},
        sickly=rng.choice((0.0, 0.2, 0.6)),
        windows=tuple(_window(rng) for _ in range(rng.choice((0, 1, 2, 3)))),
        jumps=tuple(
            (rng.uniform(1.0, 900.0), rng.choice((-3 * 3600.0, -300.0, -10.0, 10.0, 300.0, 3 * 3600.0)))
            for _ in range(rng.choice((0, 0, 0, 1, 2)))
        ),
        ids_anew=(rng.uniform(30.0, 600.0),) if rng.random() < 0.1 else (),
        kills=tuple(_kill(rng, kinds) for _ in range(rng.choice((0, 1, 2, 3)))),
        stops=(rng.uniform(1.0, 600.0),) if rng.random() < 0.1 else (),
        acts=tuple(sorted(acts, key=lambda act: act.at)),
        fates=tuple(rng.choice((*FATES, "ok", "ok", "ok")) for _ in range(8)),
        sites=rng.choice((1, 1, 2)),
        waits=rng.choice((0.0, 50.0, 50.0)),
        forced=_refused_commits(rng, kinds),
        wishes={name: _wish(rng, group=name in groups) for name in names},
        caps=rng.choice(({}, {}, {}, {"per_task": ["0.4 toy-hours"]}, {"per_day": ["0.6 toy-hours"]})),
    )


def _meant(rng: random.Random, submit: Act) -> list[Act]:
    """What its user does about it later: what is held is released, or ended."""
    acts, at = list[Act](), submit.at
    if rng.random() < 0.3:
        at += rng.choice((0.01, 0.3, 2.0, 20.0))
        acts.append(Act(at, "hold", submit.task))
        at += rng.choice((0.3, 5.0, 60.0, 300.0))
        acts.append(Act(at, "release", submit.task))
    if rng.random() < 0.3:
        at += rng.choice((0.01, 2.0, 20.0))
        acts.append(Act(at, rng.choice(("replan", "unpin")), submit.task))
    if rng.random() < 0.3:
        acts.append(Act(submit.at + rng.choice((0.01, 0.3, 2.0, 20.0, 90.0, 400.0)), "cancel", submit.task))
    return acts


def _wish(rng: random.Random, *, group: bool) -> Wish:
    wish = Wish(
        memory=rng.choice(((1, 1), (1, 8), (1, 8))), segments=rng.choice((1, 1, 3)), pinned=rng.random() < 0.2,
    )  # fmt: skip
    if not group:
        return wish
    rounds = tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((1, 1, 2, 3))))
    return replace(
        wish, rounds=rounds, segments=1, next_round=rng.choice(("ok", "ended")), at_once=rng.choice((None, None, 1, 2))
    )


def _met(acts: list[Act], groups: list[str]) -> tuple[str, ...]:
    """Kinds of commits that a run with these acts is likely to meet, beside those of every run."""
    done = {act.what for act in acts}
    kinds = [*HEALS, *CHARGES, *CHARGES]
    if "hold" in done:
        kinds += [*HOLDS, "task.held", "task.released"]
    if done & {"replan", "unpin"}:
        kinds += ["task.withdrawal", "task.replanned", "task.stays"]
    return (*kinds, *(GROUPS * 3 if groups else ()))


def _refused_commits(rng: random.Random, kinds: tuple[str, ...]) -> dict[str, list[str]]:
    """Commits that the store refuses when they are tried for the first time or two."""
    chosen = rng.sample(kinds, rng.choice((0, 1, 2, 4)))
    return {f"commit {kind}": ["locked"] * rng.choice((1, 1, 2)) for kind in sorted(set(chosen))}


def _window(rng: random.Random) -> Window:
    begin = rng.choice((rng.uniform(0.0, 60.0), rng.uniform(0.0, 900.0)))
    length = rng.choice((2.0, 20.0, 120.0, 400.0))
    return Window(rng.choice(WINDOWS), begin, min(begin + length, CALM_AT))


def _kill(rng: random.Random, kinds: tuple[str, ...]) -> Kill:
    # a quarter falls on the way into the queue, where a lost or doubled job begins; a quarter on what is seldom met
    first = [each for each in BOUNDARIES if "submit" in each or each.startswith(("peek", "fence", "lookup"))]
    seldom = f"commit {rng.choice(kinds)} {rng.choice(('before', 'after'))}"
    boundary = rng.choice((rng.choice(first), rng.choice(BOUNDARIES), rng.choice(BOUNDARIES), seldom))
    return Kill(boundary, rng.choice((1, 1, 1, 2, 3)), rng.choice((0.1, 5.0, 60.0, 600.0)))
