"""The rule about the data that a task needs: it lies at the site, or can be brought there; and how long that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jupyter_diamond.model.decision import Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.transfer import MoverKind

from . import words
from .data_at import DataAt
from .estimate_words import about
from .place import NO_CHANGE, Change, Place, verdict
from .world import World

RULE = "data"
_HOW: Mapping[MoverKind, str] = {
    "globus": "Globus Transfer", "rsync": "rsync", "stream": "ssh", "copy": "a copy", "chunks": "Globus Compute",
}  # fmt: skip


def with_data(world: World, known: Mapping[str, Sequence[DataAt]]) -> World:
    """The world of a task that needs data: all that a site lacks has to get there before its job is sent.

    Where nobody can say how long one of them takes, nobody can say how long all do.
    """
    transfer_s = dict(world.transfer_s)
    for site, each in known.items():
        seconds = [one.seconds for one in each]
        if None not in seconds:
            transfer_s[site] = sum(one for one in seconds if one is not None)
    return replace(world, transfer_s=transfer_s, data=known)


def data(envelope: Envelope, place: Place, world: World) -> tuple[Verdict, ...]:
    """Whether what a task needs is at the place's site, or can get there; nothing where it needs nothing."""
    if not envelope.stage_in:
        return ()
    required = ", ".join(each.name for each in envelope.stage_in)
    known = world.data.get(place.site.name) or [DataAt(each.name, "unknown") for each in envelope.stage_in]
    for there in ("no_way", "unknown"):
        for each in known:
            if each.there == there == "no_way":
                said, change = (
                    f"{each.name} cannot get here: {words.clause(each.said)[:300]}.",
                    _elsewhere(place, world),
                )
                return (verdict(RULE, "fail", "no way", required, said, change=change),)
            if each.there == there:
                why = f" ({words.clause(each.said)[:300]})" if each.said else ""
                said = f"Whether {each.name} can get here is not known{why}."
                return (verdict(RULE, "unknown", "unknown", required, said),)
    moved = [each for each in known if each.there == "comes"]
    sentence = " ".join(map(_sentence, moved)) if moved else f"What it needs lies here already: {required}."
    return (verdict(RULE, "pass", "brought" if moved else "there", required, sentence),)


def _sentence(known: DataAt) -> str:
    size = "" if known.bytes is None else f" ({words.memory(known.bytes)})"
    how = "" if known.mover is None else f" by {_HOW[known.mover]}"
    if known.seconds is None:
        took = "how long that takes is not known"
    elif known.rate is None:
        took = f"in about {about(known.seconds)}, as is assumed: nobody has seen how fast that way is"
    else:
        took = f"in about {about(known.seconds)}, as fast as that way was seen to be"
    return f"{known.name}{size} comes from {known.source}{how}, {took}."


def _elsewhere(place: Place, world: World) -> Change:
    """A site where all of it lies."""
    there = sorted(
        site
        for site, known in world.data.items()
        if site != place.site.name and all(each.there == "there" for each in known)
    )
    return Change(f"--site {there[0]}", f"choose {there[0]}, where it lies") if there else NO_CHANGE
