"""Where data is, or would come from, for a job at a site. Pure: what was seen of each copy comes in as an argument.

What the data *is* (its version) is told by the first copy that its user named and that is there: names, sizes and times
of its files. A copy that a stage-in makes carries that version in its name, so what has changed since is brought anew,
and what is the same is never brought twice.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from jupyter_diamond.data.listing import Listing
from jupyter_diamond.errors import DataProblem, DiamondError
from jupyter_diamond.model.data import Location, Replica

from .sights import Sight

VERSION = 12
"""So many hex digits of a version are in a copy's name."""


class Seen(NamedTuple):
    """A copy, the listing that it had when it was made or looked at last, and a look at it now."""

    replica: Replica
    listing: str
    sight: Sight

    @property
    def place(self) -> str:
        """Where it lies, without its path."""
        return self.replica.location.place


class Target(NamedTuple):
    """The site that data is wanted at. ``folder`` is where what is brought lies, absolute there.

    ``in_place``: it sees this machine's files, and nobody has said that data is to lie elsewhere.
    """

    site: str
    folder: str
    in_place: bool = False

    @property
    def places(self) -> tuple[str, ...]:
        """What lies at one of these is not brought."""
        return (self.site, "home") if self.in_place else (self.site,)


class Way(NamedTuple):
    """What is to be done for one name. ``here``: it lies at ``path`` already; else it comes from one of ``sources``.

    ``unseen``: nobody could look at its origin, and the copy is as it was left.
    """

    path: str
    here: bool
    sources: tuple[Location, ...] = ()
    version: str = ""
    why: str = ""
    unseen: bool = False


def version_of(origin: Sight) -> str:
    """What tells one state of the data from another; where nobody can look, its place and path."""
    if origin.listing:
        return origin.listing.removeprefix("sha256:")[:VERSION]
    told = origin.found.digest if origin.found is not None else str(origin.location)
    return hashlib.sha256(told.encode()).hexdigest()[:VERSION]


def _suffix(origin: Seen) -> str:
    """What a file's name ends with is kept: programs go by it."""
    found = origin.sight.found
    return PurePosixPath(origin.replica.location.path).suffix if found is not None and found.kind == "file" else ""


def is_version(path: str, version: str) -> bool:
    """Whether a copy that a stage-in made is of this version, by its name."""
    return re.search(rf"-{re.escape(version)}(\.[^/]*)?$", path) is not None


def origin_of(seen: Sequence[Seen]) -> Seen | None:
    """The copy that says what the data is: the first that its user named, and that is not known to be missing."""
    given = [each for each in seen if each.replica.given]
    good = [each for each in given if each.sight.good and each.sight.found is not None]
    unknown = [each for each in given if each.sight.found is None and not isinstance(each.sight.problem, DiamondError)]
    return next(iter([*good, *unknown]), None)


def alike(one: Listing | None, other: Listing | None) -> bool:
    """Whether both hold the same files by names and sizes: times of a copy need not be those of its origin."""
    if one is None or other is None or not (one.whole and other.whole) or one.kind != other.kind:
        return False
    sizes = {path: entry.bytes for path, entry in one.files.items()}
    return sizes == {path: entry.bytes for path, entry in other.files.items()}


def way_to(name: str, at: Target, seen: Sequence[Seen], target: Callable[[str], Sight | None]) -> Way:
    """How ``name`` gets to a site. Raises DataProblem where no copy can be used.

    ``target`` gives the look at a path at the site, for those that were asked about.
    """
    site = at.site
    for each in seen:
        if each.replica.given and each.place in at.places and each.sight.good:
            where = site if each.place == site else f"this machine, whose files {site} sees"
            return Way(each.sight.location.path, here=True, why=f"It lies at {where}, and is used there.")
    origin = origin_of(seen)
    if origin is None:
        return _without_origin(name, site, seen)
    version = version_of(origin.sight)
    path = posixpath.join(at.folder, f"{name}-{version}{_suffix(origin)}")
    if _as_it_was(seen, site, path) or _complete(origin.sight, target(path)):
        return Way(path, here=True, version=version, why=f"It was brought to {site} before.")
    sources = [each.replica.location for each in seen if each is origin or _same(origin, each, version)]
    return Way(path, here=False, sources=tuple(sources), version=version)


def _as_it_was(seen: Sequence[Seen], site: str, path: str) -> bool:
    for each in seen:
        location = each.replica.location
        if not each.replica.given and (location.place, location.path) == (site, path):
            return each.sight.good and bool(each.listing) and each.sight.listing == each.listing
    return False


def _complete(origin: Sight, there: Sight | None) -> bool:
    """A copy of which nothing is written down: it came by a rename, so it was whole, and still is by its sizes."""
    return there is not None and there.good and alike(origin.found, there.found)


def _same(origin: Seen, other: Seen, version: str) -> bool:
    """Whether another copy holds the same: by its name, where a stage-in made it; else by what is seen of it."""
    if not other.sight.good:
        return False
    if other.replica.given:
        return alike(origin.sight.found, other.sight.found)
    return is_version(other.replica.location.path, version) and other.sight.listing == other.listing


def _without_origin(name: str, site: str, seen: Sequence[Seen]) -> Way:
    """No copy that its user named can be looked at: one that was brought here before will do, and it is said."""
    given = [each for each in seen if each.replica.given]
    silent = [each for each in given if not isinstance(each.sight.problem, DataProblem)]
    for each in seen:
        as_left = each.sight.good and bool(each.listing) and each.sight.listing == each.listing
        if silent and not each.replica.given and each.place == site and as_left:
            why = f"It was brought to {site} before; {silent[0].place} could not be asked whether it is still the same."
            return Way(each.sight.location.path, here=True, why=why, unseen=True)
    problems = [each.sight.problem for each in (silent or given) if each.sight.problem is not None]
    if not problems:
        raise DataProblem(
            f"No place of {name} is known.", kind="missing", advice=f"Name one: %diamond data add {name} LOCATION."
        )
    raise problems[0]


def by_rate(sources: Sequence[Location], rates: Mapping[str, float | None], site: str) -> list[Location]:
    """Sources, the best first: one at the site itself, then as fast as their places were seen to be, then in order."""

    def order(at: tuple[int, Location]) -> tuple[bool, float, int]:
        rate = rates.get(at[1].place)
        return (at[1].place != site, -(rate or 0.0), at[0])

    return [location for _, location in sorted(enumerate(sources), key=order)]
