"""What a probe tells by the way: a clock that is wrong, start-up files that print."""

from __future__ import annotations

from datetime import datetime

from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.placement import words

SKEW_S = 30.0


def clock_note(reading: SiteReading, *, sent: datetime, heard: datetime) -> tuple[str, ...]:
    """A warning when the site's clock cannot have been right while we asked, by more than 30 s.

    The site looked at its clock between ``sent`` and ``heard``, both by ours: only what lies outside is surely wrong.
    """
    if reading.clock_at is None:
        return ()
    ahead, behind = (reading.clock_at - heard).total_seconds(), (sent - reading.clock_at).total_seconds()
    if max(ahead, behind) <= SKEW_S:
        return ()
    off = words.duration(max(ahead, behind))
    which = "ahead of" if ahead > behind else "behind"
    return (f"The clock of {reading.site} is {off} {which} this server's; all ages here are by this server's.",)


def noise_note(noise: bytes) -> tuple[str, ...]:
    """A warning about start-up files that print (B21): it is harmless to us, and breaks scp and rsync."""
    lines = [line.strip() for line in noise.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    if not lines:
        return ()
    return (f"Start-up files there print {lines[0][:100]!r}; make them silent for shells that are not interactive.",)
