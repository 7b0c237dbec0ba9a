"""What is read from requests about data by name and transfers, and wrapped around their answers."""

from __future__ import annotations

from pydantic import Field

from jupyter_diamond.model.base import Value
from jupyter_diamond.model.data import DATA_NAME, Dataset
from jupyter_diamond.model.transfer import Filter, SyncLevel, Transfer

Place = Field(min_length=1, max_length=4200)
"""A location as it is written: ``delta:/scratch/x``, ``globus://UUID/path``, ``home:/path``, a bare path for home."""


class DataForm(Value):
    """A name for data, and where a copy of it lies."""

    name: str = Field(pattern=DATA_NAME)
    location: str = Place
    note: str = Field(default="", max_length=500)


class DatasetList(Value):
    """Data by name."""

    data: tuple[Dataset, ...]


class ListingQuery(Value):
    """Which copy: the one at a site, or at a location where there are several."""

    site: str | None = None
    location: str | None = Field(default=None, min_length=1, max_length=4200)


class DropForm(Value):
    """Which copy is deleted, with the digest of the listing that was looked at: a copy that has another one stays."""

    location: str = Place
    listing: str = Field(min_length=1, max_length=200)


class TransferForm(Value):
    """From where to where; the same ``client_token`` always gives the same transfer. The rest as in TransferRequest."""

    client_token: str = Field(pattern=r"^[0-9a-z-]{16,80}$")
    source: str = Place
    destination: str = Place
    files: tuple[str, ...] = Field(default=(), max_length=10_000)
    filters: tuple[Filter, ...] = Field(default=(), max_length=100)
    sync: SyncLevel | None = "checksum"
    verify: bool = True
    deadline_s: float = Field(default=86_400.0, gt=0, le=30 * 86_400)


class TransferList(Value):
    """Transfers, newest first."""

    transfers: tuple[Transfer, ...]


class TransfersQuery(Value):
    """Which transfers: those under way, or that have ended; those of a task."""

    active: bool | None = None
    task: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)


class TransferPlanQuery(Value):
    """Between which two places."""

    source: str = Place
    destination: str = Place
