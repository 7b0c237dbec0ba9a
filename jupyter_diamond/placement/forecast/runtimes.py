"""How long jobs really run, of what they asked for: learnt from jobs that have ended.

The share of the limit that a job uses is a histogram over 28 logarithmic bins. A group (user, limit, size) starts from
its user's histogram, the user from the site's, so that few jobs say little and many say all:

    p = (H_group + 4 (H_user + 8 H_site) / (n_user + 8)) / (n_group + 4)        (H_site normalised)

Older jobs of a group count less (0.97 for each newer one). A running job has used its elapsed time already: the bins
below are dropped; to others of its group it counts as one that ended somewhere in those that are left. Source of the
form and its constants: replays of public job logs; see tests/benchmarks/placement.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np
from numpy.typing import NDArray

from jupyter_diamond.model.queue import PastJob

_BINS = 28
_EDGES = np.concatenate([[2.0**-11], np.geomspace(2.0**-10, 1.0, _BINS)])
_LOW, _HIGH = np.log(_EDGES[:-1]), np.log(_EDGES[1:])
_GROUP_DECAY, _USER_DECAY, _SITE_DECAY = 0.97, 0.995, 0.9995
_GROUP_PRIOR, _USER_PRIOR = 4.0, 8.0

Floats = NDArray[np.float64]
Group = tuple[str, float, int]
"""(user, limit in seconds, units in all): jobs of a group are likely to be runs of the same thing."""


class Runtimes:
    """What one site's jobs have used of their limits so far."""

    def __init__(self, past: Iterable[PastJob] = ()) -> None:
        self._site = np.full(_BINS, 0.5)
        self._users: dict[str, Floats] = {}
        self._groups: dict[Group, Floats] = {}
        self._fresh: dict[Group, float] = {}
        self._known: dict[Group | str, Floats] = {}
        self.learnt = 0
        for job in past:
            self.learn(job)

    def learn(self, job: PastJob) -> None:
        """Take in one job that has ended. Jobs come in the order in which they ended."""
        share = min(max(job.used_s / job.limit_s, 0.0), 1.0) if job.limit_s > 0 else 1.0
        at = int(np.clip(np.searchsorted(_EDGES, share, side="right") - 1, 0, _BINS - 1))
        group = self._groups.setdefault((job.user, job.limit_s, job.units), np.zeros(_BINS))
        user = self._users.setdefault(job.user, np.zeros(_BINS))
        for histogram, decay in ((group, _GROUP_DECAY), (user, _USER_DECAY), (self._site, _SITE_DECAY)):
            np.multiply(histogram, decay, out=histogram)
            histogram[at] += 1.0
        self._fresh.clear()
        self._known.clear()
        self.learnt += 1

    def beside(self, groups: Sequence[Group], elapsed_s: Sequence[float]) -> Runtimes:
        """Another one, to which jobs that have run for so long count too, each over the bins where it may yet end.

        A burst of long jobs of a new kind is told by those of it that run, long before one of them has ended.
        """
        if not groups:
            return self
        beside, own = dict(self._groups), set(groups)
        bins = _still(_rows([self._shares(group) for group in groups]), _done(groups, elapsed_s))
        for group, each in zip(groups, bins, strict=True):
            ended = beside.get(group)
            beside[group] = each if ended is None else ended + each
        other = copy(self)
        vars(other).update(
            _groups=beside, _known={key: shares for key, shares in self._known.items() if key not in own},
            _fresh={group: mean for group, mean in self._fresh.items() if group not in own},
        )  # fmt: skip
        return other

    def whole(self, group: Group) -> float:
        """The expected run time of a job that has not begun, in seconds."""
        return self.wholes((group,))[0]

    def wholes(self, groups: Sequence[Group]) -> list[float]:
        """The same for many jobs at once."""
        fresh = self._fresh
        new = set(groups).difference(fresh)
        if new:
            alike: dict[
                Group | str, list[Group]
            ] = {}  # most groups have nothing but the bins of their user, or the site's
            for group in new:
                key = group if group in self._groups else group[0] if group[0] in self._users else ""
                same = alike.get(key)
                if same is None:
                    same = alike[key] = []
                same.append(group)
            shares = _rows([self._shares(same[0]) for same in alike.values()])
            for same, mean in zip(alike.values(), _means(shares, np.zeros(len(alike))).tolist(), strict=True):
                fresh.update(dict.fromkeys(same, mean))
        return [fresh[group] * group[1] for group in groups]

    def totals(self, groups: Sequence[Group], elapsed_s: Sequence[float]) -> Floats:
        """The expected run times in all of jobs that have run for so long, in seconds; never less than that."""
        if not groups:
            return np.zeros(0)
        shares = _rows([self._shares(group) for group in groups])
        totals: Floats = _means(shares, _done(groups, elapsed_s)) * np.array([group[1] for group in groups])
        return totals

    def _shares(self, group: Group) -> Floats:
        """How likely each bin is."""
        own = self._groups.get(group)
        if own is None:
            return self._of_user(group[0])
        shares = self._known.get(group)
        if shares is None:
            shares = (own + _GROUP_PRIOR * self._of_user(group[0])) / (own.sum() + _GROUP_PRIOR)
            self._known[group] = shares
        return shares

    def _of_user(self, name: str) -> Floats:
        """The user's bins; the site's where nothing is known of the user."""
        user = self._users.get(name)
        key = name if user is not None else ""
        shares = self._known.get(key)
        if shares is None:
            site: Floats = self._site / self._site.sum()
            shares = site if user is None else (user + _USER_PRIOR * site) / (user.sum() + _USER_PRIOR)
            self._known[key] = shares
        return shares


def _done(groups: Sequence[Group], elapsed_s: Sequence[float]) -> Floats:
    """The share of the limit that is over already."""
    limits = np.array([group[1] for group in groups])
    return _within(np.asarray(elapsed_s, dtype=float) / np.maximum(limits, 1e-9), 0.0, 1.0)


def _still(shares: Floats, done: Floats) -> Floats:
    """How likely each bin is, given the share of the limit that is over already."""
    begun = np.log(np.maximum(done, 1e-9))[:, None]
    left = _within((_HIGH[None, :] - begun) / (_HIGH - _LOW)[None, :], 0.0, 1.0)
    weights = shares * left + 1e-12 * (left > 0)
    total = weights.sum(axis=1, keepdims=True)
    weights = np.where(total > 0, weights / np.maximum(total, 1e-30), 0.0)
    weights[total[:, 0] <= 0, -1] = 1.0
    return weights


def _means(shares: Floats, done: Floats) -> Floats:
    """The mean share of the limit, given the share that is over already."""
    begun = np.log(np.maximum(done, 1e-9))[:, None]
    middles = np.maximum(np.exp((np.maximum(_LOW[None, :], begun) + _HIGH[None, :]) / 2.0), done[:, None])
    return _within((_still(shares, done) * middles).sum(axis=1), done, 1.0)


def _rows(shares: Sequence[Floats]) -> Floats:
    """As ``np.stack``, which takes five times as long for many short rows."""
    return np.concatenate(shares).reshape(len(shares), _BINS)


def _within(values: Floats, low: float | Floats, high: float) -> Floats:
    """As ``np.clip``, which takes longer to begin than a few rows to work out."""
    found: Floats = np.minimum(np.maximum(values, low), high)
    return found
