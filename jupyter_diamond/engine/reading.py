"""From a probe's answer to a site's reading: with what is known of its machine, its GPUs and the user's limits."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.limits import SiteLimits
from jupyter_diamond.model.policy import Drift
from jupyter_diamond.model.queue import SiteQueue
from jupyter_diamond.model.snapshot import SiteReading
from jupyter_diamond.placement import words
from jupyter_diamond.placement.caps import with_caps
from jupyter_diamond.placement.gpu_memory import with_gpu_memory
from jupyter_diamond.placement.merge import merge
from jupyter_diamond.schedulers.base import Adapting
from jupyter_diamond.sites import gpus
from jupyter_diamond.transport.base import Completed

SKEW_S = 30.0


class Heard(NamedTuple):
    """What one answer gave. ``queue`` None: it tells of no jobs to forecast from."""

    reading: SiteReading
    drifts: tuple[Drift, ...] = ()
    queue: SiteQueue | None = None


def read(link: SiteLink, done: Completed, limits: SiteLimits | None, *, sent: datetime, heard: datetime) -> Heard:
    """An answer as a reading, where site and profile disagree, and the queue. Takes a while for a large site.

    ``limits`` are those of before, for an answer that was not asked for them. Raises SchedulerError.
    """
    reading = link.scheduler.parse_probe(link.name, done, read_at=heard)
    drifts: tuple[Drift, ...] = ()
    if link.machine is not None:
        reading, drifts = merge(reading, link.machine)
    reading = with_gpu_memory(reading, gpus.table())
    known = link.scheduler.capabilities if isinstance(link.scheduler, Adapting) else None
    notes = (
        *reading.notes, *clock_note(reading, sent=sent, heard=heard), *noise_note(done.noise),
        *(known.notes if known is not None else ()),
    )  # fmt: skip
    changes = {
        "transport": link.site.transport, "tried_at": sent, "problem": "", "notes": notes,
        "failing_since": None, "next_try_at": None, "simulated": link.site.simulated,
        "health": "online" if reading.health == "unknown" else reading.health,
        "limits": limits if reading.limits is None else reading.limits,
    }  # fmt: skip
    queue = link.scheduler.parse_jobs(link.name, done, read_at=heard)
    return Heard(with_caps(reading.model_copy(update=changes), link.site.account), drifts, queue)


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
