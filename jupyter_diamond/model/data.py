"""Data by name: where it lies, which copies of it there are, and what a task wants of it before and after it runs."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field, field_validator, model_validator

from .base import UtcTime, Value

DATA_NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$"


def data_variable(name: str) -> str:
    """The environment variable that holds a dataset's path in a job: ``DIAMOND_DATA_IMAGENET``."""
    return "DIAMOND_DATA_" + name.upper().replace("-", "_").replace(".", "_")


PlaceKind = Literal["site", "globus", "home"]


class Location(Value):
    """One place of a file or a folder. ``str`` gives it as it is written: ``delta:/scratch/x``, ``globus://UUID/path``.

    ``site``: a path at a configured site, ``~`` allowed. ``globus``: a path of a collection. ``home``: a path on the
    machine of the Jupyter server.
    """

    kind: PlaceKind
    site: str | None = None
    collection: UUID | None = None
    path: str = Field(min_length=1, max_length=4096)

    @field_validator("path")
    @classmethod
    def _plain(cls, path: str) -> str:
        if any(ord(c) < 32 or ord(c) == 127 for c in path):
            raise ValueError("a path holds no control characters")
        if not path.startswith(("/", "~/")) and path != "~":
            raise ValueError(f"{path!r} must begin with / or ~/")
        if ".." in path.split("/"):
            raise ValueError(f"{path!r} must not go up with ..")
        return path

    @model_validator(mode="after")
    def _whole(self) -> Location:
        if (self.kind == "site") != (self.site is not None) or (self.kind == "globus") != (self.collection is not None):
            raise ValueError("a location names a site, a collection or this machine, and one of them")
        return self

    @property
    def place(self) -> str:
        """Without its path: ``delta``, ``globus://UUID`` or ``home``."""
        return self.site or (f"globus://{self.collection}" if self.collection is not None else "home")

    def __str__(self) -> str:
        return f"{self.place}/{self.path.lstrip('/')}" if self.kind == "globus" else f"{self.place}:{self.path}"


class SiteCollection(Value):
    """A Globus collection through which a part of a site's files is reached.

    What lies below ``folder`` at the site lies below ``path`` of the collection.
    """

    id: UUID
    folder: str = "/"
    path: str = "/"


class SiteData(Value):
    """How data gets to a site, as configured. ``folder`` is where staged data lies, ``~`` allowed.

    ``purge_days``: the site deletes there what nobody has touched for so long; None: not that it is known.
    """

    collections: tuple[SiteCollection, ...] = ()
    folder: str | None = None
    """None: ``data`` below the site's workdir."""
    purge_days: int | None = Field(default=None, ge=1)


class DataSize(Value):
    """How much a file or a folder holds. ``digest`` is ``sha256:…`` over the whole of it; None: nobody has made it."""

    bytes: int = Field(ge=0)
    files: int = Field(default=1, ge=0)
    digest: str | None = None


ReplicaState = Literal["here", "missing", "changed", "unreadable", "unknown"]


class Replica(Value):
    """One copy of a dataset. ``given``: the user named it; else a stage-in made it, and it may be made again."""

    location: Location
    given: bool = False
    state: ReplicaState = "unknown"
    size: DataSize | None = None
    checked_at: UtcTime | None = None
    purge_at: UtcTime | None = None
    """When the site deletes it at the earliest unless somebody touches it; None where that is not known."""
    problem: str = ""


class ListedFile(Value):
    """One file of a listing. ``path`` is below the place that was listed; ``.`` where that is the file itself."""

    path: str
    bytes: int | None = None
    modified_at: UtcTime | None = None


class Listing(Value):
    """What lies at a place, as it was read there. ``digest`` is of all names, sizes and times: another one, other data.

    ``files`` are the first ones of ``size.files``.
    """

    location: Location
    size: DataSize
    digest: str
    files: tuple[ListedFile, ...] = ()


class Dataset(Value):
    """A logical name with its copies. What is staged where is decided by name, so a cell says no site's path."""

    name: str = Field(pattern=DATA_NAME)
    note: str = ""
    size: DataSize | None = None
    """Of the copy that was looked at last; None: none could be looked at."""
    replicas: tuple[Replica, ...] = ()
    created_at: UtcTime


class StageIn(Value):
    """Data that must be at the site before the job is submitted: a dataset by its name, or a location with one."""

    name: str = Field(pattern=DATA_NAME)
    source: Location | None = None
    """None: the dataset of that name. Else where it comes from, with no dataset of it."""


class StageOut(Value):
    """Files that a task leaves. ``pattern`` is relative to the folder that its cell runs in.

    ``destination`` None: they stay where they are, and the manifest names them.
    """

    pattern: str = Field(min_length=1, max_length=1024)
    destination: Location | None = None

    @field_validator("pattern")
    @classmethod
    def _inside(cls, pattern: str) -> str:
        if pattern.startswith(("/", "~", "-")) or ".." in pattern.split("/"):
            raise ValueError(f"{pattern!r} must name files below the folder that the cell runs in")
        if any(ord(c) < 32 or ord(c) == 127 for c in pattern):
            raise ValueError("a pattern holds no control characters")
        return pattern


class Staged(Value):
    """What became of one stage-in of an attempt. ``path`` is where the cell finds it, absolute at the site."""

    name: str
    path: str
    transfer: str | None = None
    """The transfer that brings it; None: it was there, and nothing is moved."""
    why: str = ""
