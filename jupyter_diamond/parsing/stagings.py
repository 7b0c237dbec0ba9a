"""What ``--stage-in`` and ``--stage-out`` say, and back: data by name before a job, files by pattern after it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

from pydantic import ValidationError

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.data import DATA_NAME, StageIn, StageOut

from .locations import location_of

STAGE_IN = "--stage-in imagenet or --stage-in labels=delta:/scratch/me/labels"
STAGE_OUT = "--stage-out 'ckpt/*.pt' or --stage-out 'ckpt/*.pt=>home:/results'"
_ARROW = "=>"


def stagings(said: str | Sequence[str] | None) -> tuple[str, ...]:
    """What was said, one text each: an option that was repeated, or one text in the words of a shell's line."""
    if said is None:
        return ()
    if not isinstance(said, str):
        return tuple(said)
    try:
        return tuple(shlex.split(said))
    except ValueError as fault:
        raise InvalidRequest(f"{said[:80]!r} cannot be read ({fault}): quote it as in a shell.") from None


def stage_in_of(text: str, sites: Collection[str] | None = None) -> StageIn:
    """``NAME`` or ``NAME=LOCATION``. Raises InvalidRequest."""
    name, told, where = text.strip().partition("=")
    if not re.fullmatch(DATA_NAME, name):
        hint = " A location needs a name: NAME=LOCATION." if ":" in name or "/" in name else ""
        raise InvalidRequest(f"--stage-in {text[:80]!r}: {name[:60]!r} is no name of data.{hint} Write {STAGE_IN}.")
    if told and not where.strip():
        raise InvalidRequest(f"--stage-in {text[:80]!r} names no location; write {STAGE_IN}.")
    return StageIn(name=name, source=location_of(where, sites) if told else None)


def stage_out_of(text: str, sites: Collection[str] | None = None) -> StageOut:
    """``PATTERN`` or ``PATTERN=>LOCATION``. Raises InvalidRequest."""
    pattern, told, where = (each.strip() for each in text.partition(_ARROW))
    if told and not where:
        raise InvalidRequest(f"--stage-out {text[:80]!r} names no location; write {STAGE_OUT}.")
    destination = location_of(where, sites) if told else None
    try:
        return StageOut(pattern=pattern, destination=destination)
    except ValidationError as fault:
        why = str(fault.errors()[0]["msg"]).removeprefix("Value error, ") if pattern else "it names no files"
        raise InvalidRequest(f"--stage-out {text[:80]!r}: {why}; write {STAGE_OUT}.") from None


def stage_in_text(wanted: StageIn) -> str:
    """As ``stage_in_of`` reads it."""
    return wanted.name if wanted.source is None else f"{wanted.name}={wanted.source}"


def stage_out_text(wanted: StageOut) -> str:
    """As ``stage_out_of`` reads it."""
    return wanted.pattern if wanted.destination is None else f"{wanted.pattern}{_ARROW}{wanted.destination}"
