"""Plays a scenario: at every round each policy chooses from what a probe shows; then the simulator tells the truth."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Objective, Span
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading, Snapshot
from jupyter_diamond.placement import replacement
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World

from . import simulator as sim
from .logs import DAY
from .rounds import Option, Round, SizingRound
from .simulator import State
from .sites import PARTITION, SimSite, clock, queue, reading

PATIENCE_S = 20 * DAY
FAIRSHARE = 0.5


@dataclass
class Outcome:
    """What a policy came to in one round. ``act_s``: later than the best site, in seconds."""

    act_s: float
    hit: bool
    copies: int = 0
    moves: int = 0
    decision_ms: float = 0.0


@dataclass
class Instant:
    """A round with the states of its sites, when they were seen and when the task is there."""

    round: Round
    sites: dict[str, SimSite]
    now: dict[str, State]
    readings: dict[str, SiteReading] = field(default_factory=dict)
    queues: dict[str, SiteQueue] = field(default_factory=dict)
    test_only_s: dict[str, float] = field(default_factory=dict)

    def world(self, *, hidden: frozenset[str] = frozenset(), test_only: bool = False) -> World:
        """What a decision may know; ``hidden`` sites show no queue, and are asked for their own estimate."""
        shown = {name: each for name, each in self.queues.items() if name not in hidden}
        forecaster = Forecaster(
            now=clock(self.round.at).timestamp(), queues=shown,
            runtimes={name: site.runtimes for name, site in self.sites.items()},
        )  # fmt: skip
        return World(
            forecaster=forecaster, speeds={name: site.speed for name, site in self.sites.items()},
            prepare_s={name: site.prepare_s for name, site in self.sites.items()},
            test_only_s={
                (name, PARTITION): wait for name, wait in self.test_only_s.items() if test_only or name in hidden
            },
        )  # fmt: skip

    def decide(self, envelope: Envelope, world: World) -> tuple[Decision, float]:
        """The product's own decision, and how long it took in milliseconds."""
        snapshot = Snapshot.model_construct(
            id=self.round.number, taken_at=clock(self.round.at), sites=tuple(self.readings.values())
        )
        begun = time.perf_counter()
        decision = decide(
            envelope, snapshot, tuple(site.site for site in self.sites.values()), now=clock(self.round.at), world=world
        )
        return decision, 1000 * (time.perf_counter() - begun)


def instants(sites: Sequence[SimSite], rounds: Sequence[Round]) -> Iterator[Instant]:
    """Every round with the true states of its sites; fills in the true waits."""
    by_name = {site.name: site for site in sites}
    states = {site.name: site.empty() for site in sites}
    for each in rounds:
        mine = {name: by_name[name] for name in each.options}
        instant = Instant(each, mine, {})
        for name, site in mine.items():
            state = states[name]
            sim.run_until(state, site.log, each.seen_at, 0, _NO_RECORD)
            site.learn_until(each.seen_at)
            option = each.options[name]
            instant.readings[name] = reading(site, state)
            seen = sim.copy(state)
            instant.queues[name] = queue(site, seen, own_units=option.nodes * option.units)
            instant.test_only_s[name] = max(
                0.0, sim.will_run(seen, site.log, option.nodes, option.units, FAIRSHARE) - each.seen_at
            )
            sim.run_until(state, site.log, each.at, 0, _NO_RECORD)
            instant.now[name] = sim.copy(state)
            option.wait_s = true_wait(site, state, option)
        if each.sizing is not None:
            for (name, _), option in each.sizing.options.items():
                option.wait_s = true_wait(mine[name], instant.now[name], option)
        yield instant


_NO_RECORD = sim.np.empty((0, 2))


def true_wait(site: SimSite, state: State, option: Option) -> float:
    """How long the job would have waited there, with the real future."""
    then = submitted(site, state, option)
    begun = float(then.f[sim.NOW])
    sim.run_until(then, site.log, begun + PATIENCE_S, 1, _NO_RECORD)
    return min(float(then.f[sim.STARTED]) - begun, PATIENCE_S)


def submitted(site: SimSite, state: State, option: Option) -> State:
    """A copy of the site in which our job has just been submitted."""
    then = sim.copy(state)
    sim.submit(then, site.log, option.run_s, option.limit_s, option.nodes, option.units, FAIRSHARE)
    return then


def single(instant: Instant, world: World, objective: Objective = "earliest_completion", seed: int = 0) -> Outcome:
    """One submission, decided once."""
    envelope = instant.round.envelope.model_copy(update={"objective": objective, "seed": seed})
    decision, took = instant.decide(envelope, world)
    return _of(instant.round, _chosen(decision).site, took)


def bound(instant: Instant) -> Outcome:
    """True waits, guessed run times: what a perfect forecast would come to."""
    each = instant.round
    guess = each.envelope.runtime
    assert guess is not None, "every round says how long it may run"

    def takes(name: str) -> float:
        site = instant.sites[name]
        return each.options[name].wait_s + guess.seconds * site.speed + site.prepare_s

    return _of(each, min(each.options, key=takes), 0.0)


def fixed(instant: Instant, order: Sequence[str]) -> Outcome:
    """Always the same site, as somebody with one habit."""
    return _of(instant.round, next(name for name in order if name in instant.round.options), 0.0)


def with_copy(instant: Instant, world: World) -> Outcome:
    """A second copy where the product's rule says so, of which the first start counts; else one that may move."""
    decision, took = instant.decide(instant.round.envelope, world)
    allowed = decision.model_copy(
        update={"candidates": tuple(each.model_copy(update={"copy_allowed": True}) for each in decision.candidates)}
    )
    first, second = _chosen(decision).site, replacement.second_copy(allowed)
    if second is None:
        return _Mover(instant, _chosen(decision), took).run()
    options = instant.round.options
    outcome = _of(instant.round, min((first, second.site), key=lambda name: options[name].wait_s), took)
    outcome.copies = 1
    return outcome


def moving(instant: Instant, hidden: frozenset[str] = frozenset()) -> Outcome:
    """One live submission that may move when it has overrun its forecast, by the product's own rule.

    ``hidden`` sites show no queue at any later look, either.
    """
    decision, took = instant.decide(instant.round.envelope, instant.world(hidden=hidden))
    return _Mover(instant, _chosen(decision), took, hidden).run()


class _Mover:
    """A task on its way: where it waits, and what the other sites look like meanwhile."""

    def __init__(self, instant: Instant, choice: Candidate, took: float, hidden: frozenset[str] = frozenset()) -> None:
        self._instant, self._took, self._hidden = instant, took, hidden
        self._states = {name: sim.copy(state) for name, state in instant.now.items()}
        self._here = choice.site
        self._submit()
        estimate = choice.estimate
        wait = estimate.forecast.wait_s if estimate is not None else None
        self._look_at = instant.round.at + replacement.look_again_after(wait or 0.0)
        self._moves = 0

    def _submit(self) -> None:
        name = self._here
        self._live = submitted(self._instant.sites[name], self._states[name], self._option)
        self._since = float(self._live.f[sim.NOW])

    @property
    def _option(self) -> Option:
        return self._instant.round.options[self._here]

    def run(self) -> Outcome:
        each = self._instant.round
        last = each.at + PATIENCE_S
        for _ in range(24):
            self._advance(self._live, self._here, self._look_at, stop_at_ours=1)
            if self._live.f[sim.STARTED] < sim.NEVER or self._moves >= replacement.MOST_MOVES:
                break
            self._look()
        self._advance(self._live, self._here, last, stop_at_ours=1)
        started = min(float(self._live.f[sim.STARTED]), last)
        done = started - each.at + self._option.run_s + self._option.prepare_s
        act = max(0.0, done - each.best_s)
        return Outcome(act, act <= 1e-6, moves=self._moves, decision_ms=self._took)

    def _advance(self, state: State, name: str, until: float, *, stop_at_ours: int = 0) -> None:
        if float(state.f[sim.NOW]) < until:
            sim.run_until(state, self._instant.sites[name].log, until, stop_at_ours, _NO_RECORD)

    def _look(self) -> None:
        now = self._look_at
        waited = now - self._since
        takes = {name: self._takes(name, now) for name in self._instant.sites if name != self._here}
        names = list(takes)
        here = self._stays(now, waited)
        better = replacement.better_place(here, [takes[name] for name in names], moves=self._moves)
        if better is not None:
            self._advance(self._states[self._here], self._here, now)
            self._here = names[better]
            self._moves += 1
            self._submit()
        self._look_at = now + replacement.next_look_after(now - self._instant.round.at)

    def _forecaster(self, name: str, state: State, now: float) -> Forecaster:
        site, option = self._instant.sites[name], self._instant.round.options[name]
        shown = queue(site, sim.copy(state), own_units=option.nodes * option.units)  # a look must not sort the real one
        return Forecaster(now=clock(now).timestamp(), queues={name: shown}, runtimes={name: site.runtimes})

    def _rest(self, name: str) -> float:
        guess = self._instant.round.envelope.runtime
        site = self._instant.sites[name]
        return (guess.seconds if guess is not None else 0.0) * site.speed + site.prepare_s

    def _stays(self, now: float, waited: float) -> float:
        """By what a queue shows of our own job; where none is shown, by what was waited."""
        site, wait = self._instant.sites[self._here], 0.0
        if self._here not in self._hidden:
            forecast = self._forecaster(self._here, self._live, now).remaining(
                site.name, PARTITION, str(sim.OURS), whole_node=site.kind == "nodes"
            )
            wait = forecast.wait_s if forecast is not None and forecast.wait_s is not None else 0.0
        return replacement.remaining_here(wait, waited) + self._rest(self._here)

    def _takes(self, name: str, now: float) -> float | None:
        self._advance(self._states[name], name, now)
        instant, site, option = self._instant, self._instant.sites[name], self._instant.round.options[name]
        forecaster, test_only_s = self._forecaster(name, self._states[name], now), {}
        if name in self._hidden:
            seen = sim.copy(self._states[name])
            sim.prioritise(seen, site.log, only_new=False)
            said = sim.will_run(seen, site.log, option.nodes, option.units, FAIRSHARE)
            forecaster, test_only_s = Forecaster(now=forecaster.now), {(name, PARTITION): max(0.0, said - now)}
        world = World(
            forecaster=forecaster, speeds={name: site.speed}, prepare_s={name: site.prepare_s}, test_only_s=test_only_s
        )
        snapshot = Snapshot.model_construct(id=0, taken_at=clock(now), sites=(reading(site, self._states[name]),))
        decision = decide(instant.round.envelope, snapshot, (site.site,), now=clock(now), world=world)
        choice = decision.choice
        return None if choice is None or choice.estimate is None else choice.estimate.total_s


def _chosen(decision: Decision) -> Candidate:
    assert decision.choice is not None, decision.sentence
    return decision.choice


def _of(each: Round, name: str, took: float) -> Outcome:
    act = each.options[name].takes_s - each.best_s
    return Outcome(act, act <= 1e-6, decision_ms=took)


def sized(instant: Instant, sizing: SizingRound, objective: Objective) -> Outcome:
    """Site and size together; with ``best_feasible`` the most useful size that fits now, else the least viable."""
    envelope = sizing.envelope.model_copy(update={"objective": objective})
    world = instant.world()
    decision, took = instant.decide(envelope, world)
    choice = _chosen(decision)
    if objective == "best_feasible" and not choice.starts_now:
        least = envelope.model_copy(update={"gpus": Span.exactly(envelope.gpus.min)})
        choice = _chosen(instant.decide(least, world)[0])
    assert choice.size is not None, "a chosen candidate has a size"
    act = sizing.options[choice.site, choice.size.gpus].takes_s - sizing.best_s
    return Outcome(act, act <= 1e-6, decision_ms=took)
