"""When a site's scheduler is asked about our jobs. Pure: moments are seconds of one clock, the caller's.

*Files first.* A job says itself that it starts and that it has ended, by files in its folder: they are heard of within
milliseconds where they are in reach, and one round trip later over ssh, by one script that waits there for all jobs
(``far_look``). That costs the scheduler nothing, however many jobs there are, so the queue is asked for the rest alone:

=============================================================  ========================================================
what only the queue tells                                      how soon it must be known
=============================================================  ========================================================
why a job waits, when it should start, that it is held, that   once a minute: that is how often a scheduler looks at its
somebody cancelled it while it waited                          own queue; in 2, 4, 8 s after a submission
that a running job's node died, that it was requeued or        every three minutes: Slurm itself takes five to call a
suspended                                                      node dead, so we double nothing
that it was ended at its limit, or by somebody's ``scancel``   at once where the scheduler writes it into the job's log,
                                                               which is looked at, too; around its limit where it does
                                                               not
=============================================================  ========================================================

*No waiting for the queue at the site.* Slurm has no subscription for its users. A script of ours that slept there and
compared ``squeue`` with itself would cost the controller the same questions, or more of them, only out of our sight.

*Bursts, not storms.* What comes up between two questions is asked for at once, a few times. Whatever goes on at a site,
in the long run it is asked no more often than an ``Allowance`` gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from jupyter_diamond.engine.pace import Pace
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt

FIRST_S, WAITING_S, RUNNING_S = 2.0, 60.0, 180.0
"""The first question after a change; the longest time between two while a job waits; and while all of them run."""
_QUEUE_BURST, _QUEUE_EACH_S = 6, 15.0
_ACCOUNTING_BURST = 8
_AFTER_LIMIT_S = (2.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0)
"""Slurm looks for jobs beyond their limit every 30 s, and may grant them some minutes."""
_LIMITS_APART_S = 10.0


class Allowance:
    """So many questions at once, and one more in every ``each_s``.

    The few ends of an afternoon are each asked for as they come; those of an array that ends within seconds together.
    """

    def __init__(self, burst: int, each_s: float) -> None:
        self._burst, self._each_s = float(burst), each_s
        self._left, self._at = self._burst, -math.inf

    def ready_at(self, now: float) -> float:
        """When the next question may be asked."""
        missing = 1.0 - self._left_at(now)
        return now if missing <= 0.0 else now + missing * self._each_s

    def take(self, now: float) -> None:
        """A question is asked."""
        self._left, self._at = self._left_at(now) - 1.0, now

    def _left_at(self, now: float) -> float:
        gained = (now - self._at) / self._each_s if self._each_s > 0 else math.inf
        return min(self._burst, self._left + gained)


def accounting_allowance(floor_s: float, *, shared: bool = True) -> Allowance:
    """For the last words on jobs: each question costs a site's database a tenth of a second, and may come too early.

    An end is worth some questions at any site; in the long run they keep to its floor as well. Not ``shared`` is what
    only we ask: this machine's own queue, which looks into a few files.
    """
    if not shared:
        return Allowance(_ACCOUNTING_BURST, 0.25)
    return Allowance(_ACCOUNTING_BURST, max(3.0, floor_s))


class QueueClock:
    """When a site's queue is asked next, never sooner after the last time than its floor."""

    def __init__(self, floor_s: float) -> None:
        self._floor_s = floor_s
        self._pace = Pace(FIRST_S, RUNNING_S, floor=floor_s)
        self._allowance = Allowance(_QUEUE_BURST, _QUEUE_EACH_S)
        self._asked_at = -math.inf
        self._wanted_at = math.inf

    def due_at(self, now: float) -> float:
        """When the next question is due."""
        return max(self._wanted_at, self._asked_at + self._floor_s, self._allowance.ready_at(now))

    def asked(self, now: float, attempts: Iterable[Attempt], *, at: float, tells: bool) -> None:
        """It is asked now, ``at`` by the calendar's clock, about these attempts.

        ``tells``: their files say that they were ended, too.
        """
        attempts = tuple(attempts)
        self._allowance.take(now)
        self._asked_at = now
        wait = min(self._pace.next(), longest_s(attempts, tells=tells))
        limit = min((each for attempt in attempts if (each := _after_limit(attempt, at)) is not None), default=wait)
        self._wanted_at = now + min(wait, max(limit, _LIMITS_APART_S, self._floor_s))

    def stirred(self, now: float) -> None:
        """A job was submitted, or the queue told a change that nothing else had: more may follow soon."""
        self._pace.reset()
        self.wanted(now + self._pace.next())

    def wanted(self, at: float) -> None:
        """There is a reason to ask at a moment: one before the next question, or that very one."""
        self._wanted_at = min(self._wanted_at, at)

    def idle(self) -> None:
        """There is no job to ask about; what was planned for those that are over is no reason to ask for the next."""
        self._wanted_at = math.inf

    def opened(self, now: float) -> None:
        """The way to the site is open again: what its silence earned is not waited out."""
        self._pace.reset()
        self.wanted(now)

    def failed(self, now: float) -> None:
        """A question was not answered."""
        self._wanted_at = max(self._wanted_at, now + self._pace.next())


def longest_s(attempts: Iterable[Attempt], *, tells: bool) -> float:
    """The longest time between two questions about these attempts."""
    runs = (each.state is State.RUNNING and each.started_at is not None for each in attempts)
    return RUNNING_S if tells and all(runs) else WAITING_S


def _after_limit(attempt: Attempt, at: float) -> float | None:
    """How long until a job's limit gives a reason to ask; None where it gives none (any more)."""
    if attempt.started_at is None or attempt.state is not State.RUNNING:
        return None
    left = attempt.started_at.timestamp() + attempt.size.walltime_s - at
    return next((left + after for after in _AFTER_LIMIT_S if left + after > 0), None)
