"""The circuit breaker of one site: when it is asked again, so that a dead one costs others and itself little. Pure.

* *closed*: asked at its tick. A failure or two change nothing but the site's health, for a lost packet is no outage.
* *open*: three failures in a row, or a way that only a login opens. Nobody asks before ``next_at``; the waits double.
* *half-open*: the one try that is made then, or because somebody wants to know now. It closes the breaker, or opens it
  for longer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jupyter_diamond.model.snapshot import Health

OPENS_AFTER = 3
LONGEST_S = 600.0
"""A site that came back is noticed after at most ten minutes; six tries in an hour disturb nobody."""

State = Literal["closed", "open", "half-open"]


@dataclass
class Breaker:
    """``tick_s`` is the wait between two tries of a healthy site. Moments are seconds of one clock, the caller's."""

    tick_s: float
    state: State = "closed"
    failures: int = 0
    next_at: float = 0.0
    reason: str = ""

    def begun(self) -> None:
        """A try has begun."""
        if self.state == "open":
            self.state = "half-open"

    def succeeded(self, begun: float, now: float) -> None:
        """The site answered. It rests at least for as long as its answer took."""
        self.state, self.failures, self.reason = "closed", 0, ""
        self.next_at = max(begun + self.tick_s, now + min(now - begun, self.tick_s))

    def failed(self, now: float, reason: str, *, needs_login: bool = False) -> Health:
        """The try failed; what to call the site now. A login that is missing opens it at once, for the longest time."""
        self.failures += 1
        self.reason = reason
        if needs_login or self.failures >= OPENS_AFTER:
            self.state = "open"
        elif self.state == "half-open":  # a login was missing before: the way is open now, and something else is wrong
            self.state = "closed"
        self.next_at = now + self._wait_s(needs_login)
        if needs_login:
            return "needs_login"
        return "offline" if self.state == "open" else "degraded"

    def _wait_s(self, needs_login: bool) -> float:
        longest = max(LONGEST_S, self.tick_s)
        if needs_login:
            return longest
        if self.state == "closed":
            return self.tick_s
        return float(min(self.tick_s * 2 ** min(self.failures - OPENS_AFTER, 20), longest))

    def resume(self, now: float) -> None:
        """What kept it open may be over: the next try is due."""
        self.next_at = min(self.next_at, now)
