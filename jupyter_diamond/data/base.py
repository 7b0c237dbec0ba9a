"""The seam between a durable transfer and whatever moves its bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from jupyter_diamond.model.data import DataSize, Location
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.transfer import MoverKind, Progress, Transfer, TransferState
from jupyter_diamond.transport.base import Transport


@dataclass(frozen=True)
class End:
    """One end of a movement, as it can be reached from here.

    ``path`` is absolute there. ``transport`` runs shell scripts where the path is (this machine's for ``home``); None
    for a collection that is no configured site's. ``collection`` with ``collection_path`` name the same place to
    Globus; None where it is not reached so.
    """

    location: Location
    path: str
    site: Site | None = None
    transport: Transport | None = None
    collection: str | None = None
    collection_path: str | None = None


@dataclass(frozen=True)
class Move:
    """One movement to be done, or gone on with. ``transfer`` is as it is stored.

    ``keep`` stores fields of the transfer at once: what a second try must know is kept before the remote act.
    ``tell`` says how far it is, as often as is known; ``say`` that it stalls, is paused or needs the user, and goes on.
    """

    transfer: Transfer
    source: End
    destination: End
    keep: Callable[..., Awaitable[None]]
    tell: Callable[[Progress], None]
    say: Callable[[TransferState, str, str], Awaitable[None]]
    """(state, sentence, link). ``active`` with no sentence: it goes on."""


@dataclass(frozen=True)
class Moved:
    """What is at the destination now. ``skipped``: what was there already, and was not sent."""

    size: DataSize
    bytes_sent: int
    files_skipped: int = 0
    log: tuple[str, ...] = ()
    native: dict[str, Any] | None = None


class Mover(Protocol):
    """Moves data one way. Everything may be asked again after a crash at any instant, and then does no harm."""

    kind: MoverKind

    async def move(self, move: Move) -> Moved:
        """Bring source to destination: under a temporary name first, then renamed. Raises DataProblem.

        Called again with the transfer as it was kept, it goes on with what was begun. When it is cancelled it stops
        waiting, and leaves what goes on elsewhere alone: ``cancel`` ends that.
        """

    async def cancel(self, move: Move) -> None:
        """See to it that nothing moves any more, and take away what lies under temporary names of this transfer."""
