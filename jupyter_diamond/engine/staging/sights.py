"""What is seen of a copy: whether it is there, how much it holds, whether it is still what it was, and until when."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import NamedTuple

from jupyter_diamond.data.listing import Listing
from jupyter_diamond.engine.transfers.desk import TransferDesk
from jupyter_diamond.errors import DataFault, DataProblem, DiamondError, GlobusProblem, TransportError
from jupyter_diamond.model.data import Location, Replica
from jupyter_diamond.model.site import Site
from jupyter_diamond.store.datasets import Copy

LOOK_S = 75.0
"""So long a look at a place may take: a path that is missing is to be told within about a minute."""
WARN = timedelta(days=7)
_FAULTS: dict[str, DataFault] = {"missing": "missing", "unreadable": "permission"}


class Sight(NamedTuple):
    """A look at a location. ``found`` None: nobody could look, and ``problem`` says why."""

    location: Location
    found: Listing | None
    problem: DiamondError | None = None

    @property
    def good(self) -> bool:
        """It is there, and all of it can be read."""
        return self.found is not None and self.problem is None

    @property
    def listing(self) -> str:
        """What tells whether anything has changed since; empty where that is not known."""
        return self.found.digest if self.found is not None and self.good and self.found.whole else ""


def plain(location: Location) -> Location:
    """The location without a slash at its end: one place has one name."""
    return location.model_copy(update={"path": location.path.rstrip("/") or "/"})


def may_pass(problem: DiamondError) -> bool:
    """Whether it is worth to wait: nothing was said about the data itself."""
    if isinstance(problem, GlobusProblem):
        return problem.transient or problem.outcome == "needs_login"
    return isinstance(problem, DataProblem) and (problem.transient or problem.kind == "needs_you")


async def look(transfers: TransferDesk, location: Location) -> Sight:
    """Look at a location, and let no problem out: it is part of what is seen."""
    looking = asyncio.ensure_future(transfers.look(location))
    try:
        await asyncio.wait({looking}, timeout=LOOK_S)
        if not looking.done():
            raise TransportError(
                f"{location.place} did not say within {LOOK_S:.0f} s what is there.", outcome="unknown"
            )
        found = looking.result()
    except DiamondError as problem:
        return Sight(location, None, problem)
    finally:
        looking.cancel()
    return Sight(location, found, trouble_of(location, found))


def trouble_of(location: Location, found: Listing | None) -> DataProblem | None:
    """Why what was found there cannot be used; None where it can, or where nobody can look before it is moved."""
    if found is None or (found.kind in ("file", "folder") and not found.unread):
        return None
    if found.kind == "missing":
        said, advice = "is not there", "Mend the path, or put the data there."
    elif found.kind == "other":
        said, advice = "is neither a file nor a folder", "Name the file or the folder that holds the data."
    else:
        said, advice = "cannot be read", "Give yourself the right to read it."
    kind = _FAULTS.get(found.kind, "permission" if found.unread else "refused")
    return DataProblem(f"{location} {said}.", kind=kind, advice=advice, evidence=found.unread[:20])


def replica_of(
    sight: Sight, *, given: bool, now: datetime, before: Copy | None = None, site: Site | None = None
) -> Copy:
    """The copy as it is kept after a look at it."""
    found, problem = sight.found, sight.problem
    known = before.replica if before is not None else Replica(location=sight.location, given=given)
    if problem is not None and not isinstance(problem, DataProblem):  # the place is silent: that says nothing of it
        return Copy(known.model_copy(update={"problem": problem.message}), before.listing if before is not None else "")
    if found is None:
        said = problem.message if problem is not None else f"Nobody can look at {sight.location} before it is moved."
        return Copy(known.model_copy(update={"problem": said, "checked_at": now, "state": "unknown"}), "")
    if problem is not None:
        state = "missing" if found.kind == "missing" else "unreadable"
        seen = {"state": state, "problem": problem.message, "checked_at": now, "purge_at": None}
        return Copy(known.model_copy(update=seen), "")
    changed = before is not None and before.listing and sight.listing and before.listing != sight.listing
    digest = None if changed or known.size is None else known.size.digest
    seen = {
        "state": "changed" if changed and not given else "here", "problem": "", "checked_at": now,
        "size": found.size.model_copy(update={"digest": digest}),
    }  # fmt: skip
    if changed and not given:
        seen["problem"] = "Its files are no longer those that were brought there."
        return Copy(known.model_copy(update=seen), before.listing if before is not None else "")
    return Copy(known.model_copy(update={**seen, "purge_at": purge_at(known, site, now)}), sight.listing)


def purge_at(replica: Replica, site: Site | None, now: datetime) -> datetime | None:
    """When its site deletes it at the earliest: so many days after we had to do with it last; None: not known.

    Of data that the user named, and nobody touched through us, nobody knows when it was touched last.
    """
    days = site.data.purge_days if site is not None else None
    if days is None:
        return None
    if replica.purge_at is not None:
        return replica.purge_at
    return None if replica.given else now + timedelta(days=days)


def used(replica: Replica, site: Site, now: datetime) -> Replica:
    """The copy, after a job was given it: to read it is to touch it."""
    days = site.data.purge_days
    return replica if days is None else replica.model_copy(update={"purge_at": now + timedelta(days=days)})


def purge_warning(name: str, replica: Replica, now: datetime) -> str:
    """A sentence where its site may delete the copy within a week; else empty."""
    when = replica.purge_at
    if when is None or when - now > WARN or replica.state in ("missing", "unreadable"):
        return ""
    where = replica.location.place
    if when <= now:
        return f"{name} at {where} may have been deleted since {when:%Y-%m-%d}: the site deletes what nobody touches."
    return f"{name} at {where} may be deleted from {when:%Y-%m-%d} on: the site deletes what nobody touches."
