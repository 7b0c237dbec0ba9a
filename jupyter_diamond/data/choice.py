"""Which mover brings data from one place to another, and why. Pure: who asks has looked what there is at both ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.transfer import MoverKind

Shell = Literal["here", "ssh", "far"]
"""``here``: this machine's own. ``ssh``: over a connection that carries streams. ``far``: scripts through a queue."""


@dataclass(frozen=True)
class Reach:
    """How one end can be reached. ``name`` is for sentences; ``machine`` is the same for ends that see the same files.

    ``rsync``: whether it is installed there; None: nobody has looked.
    """

    name: str
    machine: str
    shell: Shell | None
    collection: bool = False
    rsync: bool | None = None


def choose(source: Reach, destination: Reach, *, total_bytes: int | None, small_bytes: int) -> tuple[MoverKind, str]:
    """The mover, and the reason in one sentence. Raises DataProblem (``no_way``) with what is missing."""
    small = total_bytes is not None and total_bytes <= small_bytes
    if source.machine == destination.machine and source.shell is not None:
        return "copy", f"Both ends are files of {source.name}: they are copied there."
    shells = source.shell is not None and destination.shell is not None
    if source.collection and destination.collection and not (small and shells):
        return "globus", f"{source.name} and {destination.name} are both reached by Globus Transfer."
    if not shells:
        raise DataProblem(_missing(source, destination), kind="no_way", advice=_ADVICE)
    if "far" in (source.shell, destination.shell):
        return _in_pieces(source, destination, total_bytes, small_bytes)
    if source.shell == destination.shell == "ssh":
        return "stream", (
            f"No collections of both {source.name} and {destination.name} are configured: the data streams through "
            f"this machine, which keeps none of it."
        )
    return _over_ssh(source, destination)


_ADVICE = "Name the Globus collections of the sites in the site catalogue: data: {collections: [{id: UUID}]}."


def _over_ssh(source: Reach, destination: Reach) -> tuple[MoverKind, str]:
    far = source if source.shell == "ssh" else destination
    if source.rsync and destination.rsync:
        return "rsync", f"{far.name} is reached by ssh, and rsync is installed there and here."
    without = [end.name for end in (source, destination) if not end.rsync]
    return "stream", f"{far.name} is reached by ssh; rsync is not found at {' and '.join(without)}."


def _in_pieces(source: Reach, destination: Reach, total_bytes: int | None, small_bytes: int) -> tuple[MoverKind, str]:
    far = source if source.shell == "far" else destination
    most = f"{small_bytes / (1 << 20):.3g} MB"
    if total_bytes is not None and total_bytes <= small_bytes:
        return "chunks", f"It is at most {most}: it goes to {destination.name} through Globus Compute."
    how_much = "nobody can say how much it is" if total_bytes is None else f"it is {total_bytes / (1 << 20):,.1f} MB"
    lacking = " and ".join(end.name for end in (source, destination) if not end.collection)
    raise DataProblem(
        f"{far.name} is reached through Globus Compute, which carries at most {most}, and {how_much}. No Globus "
        f"collection is known for {lacking}.",
        kind="no_way",
        advice=_ADVICE,
    )


def _missing(source: Reach, destination: Reach) -> str:
    why = [
        f"{end.name} has neither a shell nor a collection that is configured"
        if end.shell is None and not end.collection
        else f"no Globus collection is known for {end.name}"
        for end in (source, destination)
        if not end.collection
    ]
    return f"There is no way from {source.name} to {destination.name}: {'; '.join(why)}."
