"""What staging wants of transfers: to look at a place, and to have something moved."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from jupyter_diamond.model.data import DataSize, Location
from jupyter_diamond.model.transfer import MoverKind, Transfer, TransferRequest


class Found(Protocol):
    """What lies at a location; a listing of it."""

    @property
    def kind(self) -> str:
        """``file``, ``folder``, ``missing``, ``unreadable`` or ``other``."""

    @property
    def files(self) -> Mapping[str, Any]:
        """By path below it; of a file under the empty path."""

    @property
    def whole(self) -> bool:
        """Whether everything was counted."""

    @property
    def unread(self) -> tuple[str, ...]:
        """What could not be looked into, in the site's own words."""

    @property
    def size(self) -> DataSize:
        """Bytes and files."""

    @property
    def digest(self) -> str:
        """Over names, sizes and times: tells cheaply whether anything has changed."""


class Transfers(Protocol):
    """``service.transfers``."""

    async def look(self, location: Location, files: Collection[str] = ()) -> Found | None:
        """What lies there now; None where nobody can look. Raises DataProblem, TransportError, NotFound."""

    async def start(self, request: TransferRequest) -> Transfer:
        """Begin one; the same client token gives the same. Raises DataProblem, TransportError."""

    async def get(self, ref: str) -> Transfer:
        """A transfer by its id."""

    async def cancel(self, ref: str, by: str) -> Transfer:
        """Ask for its end."""

    async def plan(self, source: Location, destination: Location) -> tuple[MoverKind, str]:
        """Which mover would bring it, and why. Raises DataProblem where none can."""

    async def rate(self, source_place: str, destination_place: str) -> float | None:
        """Bytes a second that were seen between two places."""
