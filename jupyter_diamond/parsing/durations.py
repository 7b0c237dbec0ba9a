"""Lengths of time, in seconds: Slurm's six forms and words, and the friendly form that people type.

The six forms are those of ``sbatch --time``: ``minutes``, ``minutes:seconds``, ``hours:minutes:seconds``,
``days-hours``, ``days-hours:minutes``, ``days-hours:minutes:seconds``. ``MM:SS`` read as ``HH:MM`` makes a job sixty
times too long (B16).
"""

from __future__ import annotations

import re

from jupyter_diamond.errors import InvalidRequest, ParseError
from jupyter_diamond.model.snapshot import NO_LIMIT, Limit

from .numbers import whole

MINUTE, HOUR, DAY = 60, 3600, 86400

_NO_LIMIT_WORDS = frozenset({"unlimited", "infinite"})
_UNKNOWN_WORDS = frozenset(
    {"", "partition_limit", "not_set", "n/a", "none", "unknown", "invalid", "(null)", "none assigned"}
)

_WITH_DAYS = re.compile(r"([0-9]{1,6})-([0-9]{1,3})(?::([0-9]{1,3}))?(?::([0-9]{1,3}))?")
_CLOCK = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,3}))?(?:\.[0-9]+)?")
_FRIENDLY = re.compile(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?", re.IGNORECASE)

EXAMPLES = "30=30 minutes, 4:00=4 minutes, 1:00:00=1 hour, 2-12=2 days 12 hours, 2-12:30, 2-00:00:00=2 days"
FRIENDLY_EXAMPLES = "10m, 2h30m, 1d, 90s or 1:00:00"


def parse_slurm(text: str) -> Limit:
    """Seconds of a Slurm time limit or duration; NO_LIMIT for *no limit*; None when Slurm says that it does not know.

    Fractions of a second (``sacct`` writes ``00:24.041``) are cut off: use ``slurm_seconds`` to keep them.
    Raises ParseError for any other form.
    """
    seconds = slurm_seconds(text)
    return int(seconds) if isinstance(seconds, float) else seconds


def slurm_seconds(text: str) -> float | Limit:
    """Like ``parse_slurm``, with the fraction kept."""
    word = text.strip()
    if word.casefold() in _NO_LIMIT_WORDS:
        return NO_LIMIT
    if word.casefold() in _UNKNOWN_WORDS:
        return None
    dated = _WITH_DAYS.fullmatch(word)
    if dated:
        days, hours, minutes, seconds = (int(part or 0) for part in dated.groups())
        return float(days * DAY + hours * HOUR + minutes * MINUTE + seconds)
    clock = _CLOCK.fullmatch(word)
    if clock and ("." not in word or ":" in word):
        fraction = float("0." + word.partition(".")[2]) if "." in word else 0.0
        parts = [int(part) for part in clock.groups() if part is not None]
        if len(parts) == 1:
            return float(parts[0] * MINUTE)
        seconds_of = parts[0] * MINUTE + parts[1] if len(parts) == 2 else parts[0] * HOUR + parts[1] * MINUTE + parts[2]
        return seconds_of + fraction
    raise ParseError(f"{text!r} is not a Slurm time. The six forms are: {EXAMPLES}.")


def parse_minutes(text: str) -> Limit:
    """Seconds of a field that holds whole minutes (``sacct`` TimelimitRaw), or one of the words."""
    minutes = whole(text)
    return parse_slurm(text.strip()) if minutes is None else minutes * MINUTE


def parse_friendly(text: str) -> int:
    """Seconds of what a person typed: ``10m``, ``2h30m``, ``1d``, ``90s``, ``1:00:00``, ``2-12:00:00``.

    A number without a unit, a minus sign and ``4:00`` (minutes or hours?) are refused: raises InvalidRequest.
    """
    word = text.strip()
    if word.isascii() and word.isdigit():
        raise InvalidRequest(f"{word} what? Give the time a unit: {word}m, {word}h or {word}s (or 1d, 2h30m, 1:00:00).")
    if word.startswith("-"):
        raise InvalidRequest(f"A time cannot be negative, got {word!r}. Write for example {FRIENDLY_EXAMPLES}.")
    units = _FRIENDLY.fullmatch(word) if word else None
    if units:
        days, hours, minutes, seconds = (int(part or 0) for part in units.groups())
        return _positive(word, days * DAY + hours * HOUR + minutes * MINUTE + seconds)
    if word.count(":") == 2 or ("-" in word and ":" in word):
        try:
            limit = parse_slurm(word)
        except ParseError:
            limit = None
        if isinstance(limit, int):
            return _positive(word, limit)
    if re.fullmatch(r"[0-9]+:[0-9]+", word):
        raise InvalidRequest(f"{word!r} can be minutes or hours. Write it as 1:00:00 (hours:minutes:seconds) or 2h30m.")
    raise InvalidRequest(f"{text!r} is not a time. Write for example {FRIENDLY_EXAMPLES}.")


def _positive(word: str, seconds: int) -> int:
    if seconds < 1:
        raise InvalidRequest(f"The time {word!r} is zero. Write for example {FRIENDLY_EXAMPLES}.")
    return seconds


def to_slurm(seconds: int) -> str:
    """``D-HH:MM:SS``, the form that every Slurm command reads the same way."""
    days, rest = divmod(seconds, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, left = divmod(rest, MINUTE)
    return f"{days}-{hours:02d}:{minutes:02d}:{left:02d}"


def to_friendly(seconds: int) -> str:
    """What ``parse_friendly`` reads as these seconds: ``2h30m``, ``1d``, ``90s`` is ``1m30s``."""
    amounts = (
        (seconds // DAY, "d"),
        (seconds % DAY // HOUR, "h"),
        (seconds % HOUR // MINUTE, "m"),
        (seconds % MINUTE, "s"),
    )
    return "".join(f"{amount}{unit}" for amount, unit in amounts if amount) or "0s"


def up_to_minutes(seconds: int) -> int:
    """Seconds rounded up to whole minutes: Slurm counts limits in minutes."""
    return -(-seconds // MINUTE) * MINUTE


def to_words(seconds: float) -> str:
    """For people, the two largest units: ``2 h 30 min``, ``1 d 4 h``, ``45 s``."""
    whole = int(seconds)
    parts = [
        (whole // DAY, "d"),
        (whole % DAY // HOUR, "h"),
        (whole % HOUR // MINUTE, "min"),
        (whole % MINUTE, "s"),
    ]
    first = next((place for place, (amount, _) in enumerate(parts) if amount), len(parts) - 1)
    return " ".join(f"{amount} {unit}" for amount, unit in parts[first : first + 2] if amount) or "0 s"


def limit_to_words(limit: Limit) -> str:
    """A limit for people; *no limit* and *unknown* are two different words."""
    if limit is NO_LIMIT:
        return "no limit"
    return "unknown" if limit is None else to_words(limit)
