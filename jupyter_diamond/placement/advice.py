"""Advice that is worth following: a change is kept only where it lets the job in, tried with the same rules.

Each rule names the smallest change that it would pass itself. That is no advice where another rule refuses all the same
(a shorter time for a place without GPUs), or where the job could not do its work with it (a limit below its run time).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.decision import Candidate, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.parsing.contradictions import fastest
from jupyter_diamond.parsing.envelopes import envelope_words, read_envelope, said_words

from .candidates import Judged, candidate_of, refused
from .caps import for_envelope
from .comparison import fact
from .estimate_words import about
from .judging import Bench
from .objectives import unmet
from .place import Clock, Place
from .world import World


def with_advice(
    envelope: Envelope, judged: Sequence[Judged], clock: Clock, world: World, *, pinned: bool
) -> list[Judged]:
    """The candidates with what would let each refused one in, all of it together, or else with no advice."""
    trial = _Trial(envelope, {_where(each.place): each.place for each in judged}, clock, world, pinned, {})
    return [each if each.candidate.feasible else _advised(each, trial) for each in judged]


def _where(place: Place) -> tuple[str, str]:
    return place.site.name, place.partition


def _advised(judged: Judged, trial: _Trial) -> Judged:
    fails = [each for each in judged.candidate.verdicts if each.answer == "fail" and not each.soft]
    if not fails:
        return judged
    final = [not (each.change or each.advice) for each in fails]
    if any(final):
        without = {id(each): _silent(each, moot=not last) for each, last in zip(fails, final, strict=True)}
    elif all(each.change for each in fails):
        found = trial.of(" ".join(dict.fromkeys(each.change for each in fails)), judged.place)
        if found.enough:
            return judged
        without = {id(each): _in_vain(each, found.needs_s) for each in fails}
    else:
        return judged
    verdicts = tuple(without.get(id(each), each) for each in judged.candidate.verdicts)
    return judged._replace(candidate=judged.candidate.model_copy(update={"verdicts": verdicts}))


def _silent(verdict: Verdict, *, moot: bool) -> Verdict:
    said = fact(verdict)
    sentence = f"{verdict.sentence[:1]}{said[1:]}."
    return verdict.model_copy(update={"sentence": sentence, "advice": "", "change": "", "moot": moot})


def _in_vain(verdict: Verdict, needs_s: float | None) -> Verdict:
    quiet = _silent(verdict, moot=False)
    if needs_s is None or not verdict.change.startswith("--time "):
        return quiet
    paid = f", which pays for {verdict.change.removeprefix('--time ')} of it" if verdict.rule == "credit" else ""
    sentence = f"{quiet.sentence.removesuffix('.')}{paid}, too short: it needs about {about(needs_s)}."
    return quiet.model_copy(update={"sentence": sentence})


class _Found(NamedTuple):
    """Whether a change lets the job in; ``needs_s`` is how long it runs, where that is longer than it would get."""

    enough: bool
    needs_s: float | None = None


class _Trial(NamedTuple):
    """Changes tried on places. Many places need the same change, so what it makes of the request is kept."""

    envelope: Envelope
    places: dict[tuple[str, str], Place]
    clock: Clock
    world: World
    pinned: bool
    made: dict[str, Bench | _Found]

    def of(self, change: str, place: Place) -> _Found:
        """What the change does at that place, or at the one that it names."""
        made = self.made.get(change)
        if made is None:
            made = self.made[change] = self._made(change)
        if isinstance(made, _Found):
            return made
        asked = made.asked
        named = (asked.site or place.site.name, asked.partition or place.partition)
        if named != _where(place):
            return self._elsewhere(made, self.places.get(named))
        if (asked.account, asked.qos) != (self.envelope.account, self.envelope.qos) and place.record is not None:
            place = place._replace(record=for_envelope(place.record, place.reading, asked, place.site.account))
        return self._judged(made, place)

    def _elsewhere(self, bench: Bench, place: Place | None) -> _Found:
        """It names another place, which says itself what else it needs: unless nothing would let the job in there."""
        if place is None:
            return _Found(enough=False)
        final = [each for each in bench.judge(place) if each.answer == "fail" and not (each.change or each.advice)]
        return _Found(enough=all(each.soft for each in final))

    def _made(self, change: str) -> Bench | _Found:
        try:
            return Bench(changed(self.envelope, change, self.clock), self.clock)
        except InvalidRequest:
            runtime = self.envelope.runtime
            return _Found(enough=False, needs_s=None if runtime is None else fastest(self.envelope, runtime))

    def _judged(self, bench: Bench, place: Place) -> _Found:
        verdicts = bench.judge(place)
        if refused(verdicts):
            return _Found(enough=False)
        if not self._counts(bench.asked, place):
            return _Found(enough=self.pinned or not unmet(verdicts)[0])
        # a queue is simulated only where its answer decides
        candidate = candidate_of(bench.asked, place, verdicts, bench, self.world, rough=bench.asked.deadline is None)
        needs_s = _too_short(candidate.candidate)
        allowed = candidate.candidate.feasible or (self.pinned and not refused(candidate.candidate.verdicts))
        return _Found(allowed and needs_s is None, needs_s)

    def _counts(self, asked: Envelope, place: Place) -> bool:
        """What a size takes there could still refuse it: its end, its charge, or a limit shorter than its run."""
        shorter = asked.runtime is not None and asked.walltime_s != self.envelope.walltime_s
        return bool(
            shorter or asked.deadline or asked.max_charge or place.site.name in self.world.balances or self.world.spent
        )


def _too_short(candidate: Candidate) -> float | None:
    """The run time that a job would need, where its limit ends it before; what is only assumed ends nothing."""
    size, estimate = candidate.size, candidate.estimate
    if size is None or estimate is None or estimate.run_s is None or estimate.run_assumed:
        return None
    return estimate.run_s if estimate.run_s > size.walltime_s else None


def changed(envelope: Envelope, change: str, clock: Clock) -> Envelope:
    """The request with these options in place of its own. Raises InvalidRequest where they contradict the others."""
    said: dict[str, object] = {**said_words(envelope_words(envelope)), **said_words(shlex.split(change))}
    if "site" in said:
        said.pop("sites", None)
    if envelope.env is not None:  # one that was read from a file has no word of its own
        said["env"] = envelope.env
    return read_envelope({name.replace("-", "_"): value for name, value in said.items()}, now=clock.now)
