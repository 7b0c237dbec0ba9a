"""What would be moved for a task, said before it is sent. Pure but for the one who asks for datasets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.data import Dataset, StageIn
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.placement.estimate_words import about

from .data_words import short_place, size_words


def staging_plan(envelope: Envelope, decision: Decision, dataset: Callable[[str], Dataset]) -> list[str]:
    """A line for each name and pattern: ``imagenet: 145 GB from globus://… to delta``; then how long in all."""
    choice = decision.choice
    site = choice.site if choice is not None else "the site"
    seconds = choice.estimate.transfer_s if choice is not None and choice.estimate is not None else None
    there = seconds == 0
    said = [(_there(each, site, dataset), False) if there else _in(each, site, dataset) for each in envelope.stage_in]
    lines = [line for line, _ in said]
    if any(moves for _, moves in said):
        how_long = "How long that takes is not known" if seconds is None else f"That takes about {about(seconds)}"
        lines.append(f"{how_long}, before the job is sent.")
    for each in envelope.stage_out:
        where = "stay there, and be named" if each.destination is None else f"go to {short_place(each.destination)}"
        lines.append(f"{each.pattern}: what the job leaves of it will {where}.")
    return lines


def _there(wanted: StageIn, site: str, dataset: Callable[[str], Dataset]) -> str:
    """The placement found that nothing has to be moved."""
    size = ""
    if wanted.source is None:
        with suppress(DiamondError):
            size = f"{size_words(dataset(wanted.name).size)}, "
    return f"{wanted.name}: {size}at {site} already; nothing is moved."


def _in(wanted: StageIn, site: str, dataset: Callable[[str], Dataset]) -> tuple[str, bool]:
    """The line, and whether anything moves."""
    if wanted.source is not None:
        if wanted.source.site == site:
            return f"{wanted.name}: it is at {site} already.", False
        return f"{wanted.name}: from {short_place(wanted.source)} to {site}.", True
    try:
        found = dataset(wanted.name)
    except DiamondError as problem:
        return f"{wanted.name}: {problem.message}", False
    good = [each for each in found.replicas if each.state in ("here", "unknown")]
    if any(each.location.site == site and each.state == "here" for each in good):
        return f"{wanted.name}: {size_words(found.size)}, at {site} already; nothing is moved.", False
    source = next((each for each in good if each.given), next(iter(good), None))
    if source is None:
        return f"{wanted.name}: no copy of it can be read now: %diamond data check {wanted.name}.", False
    return f"{wanted.name}: {size_words(found.size)} from {short_place(source.location)} to {site}.", True
