"""Estimates of a run time that people type: ``2h``, ``2h@1``, and measured ones, ``1:4h,4:80m``; and deadlines."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Runtime

from . import durations

EXAMPLES = "2h, 2h@1 with --serial 0.05, or 1:4h,4:80m"
DEADLINE_EXAMPLES = "18:00, +6h or 2027-01-31T18:00"

_UNITS = re.compile(r"[0-9]{1,9}")
_POINT = re.compile(r"([0-9]+)\s*:\s*(.*[a-zA-Z:].*)")


def parse_runtime(text: str, serial: str | None = None, *, what: str = "--runtime") -> Runtime:
    """``TIME``, ``TIME@UNITS`` or ``UNITS:TIME,UNITS:TIME``, with the serial share where one is said.

    Units are GPUs of the whole job, or cores where it has no GPU. Raises InvalidRequest.
    """
    word = text.strip()
    curved = "," in word or (_POINT.fullmatch(word) and not _is_clock(word))
    try:
        return _curve(word, serial) if curved else _point(word, serial)
    except InvalidRequest as problem:
        raise InvalidRequest(problem.message if problem.message[:2] == "--" else f"{what}: {problem.message}") from None


def _point(word: str, serial: str | None) -> Runtime:
    time, at, units = word.partition("@")
    share = None if serial is None else _share(serial)
    if share is not None and not at:
        raise InvalidRequest(f"--serial needs the number of units at which {word} was taken: write {word}@1.")
    return Runtime(seconds=_seconds(time), units=_units(units) if at else None, serial=share)


def _is_clock(word: str) -> bool:
    return re.fullmatch(r"[0-9]+:[0-9]+(:[0-9]+)?(@.*)?", word) is not None


def _curve(word: str, serial: str | None) -> Runtime:
    if serial is not None:
        raise InvalidRequest(f"--serial and the measured times {word} both say how it scales; leave one of them away.")
    points: dict[int, float] = {}
    for part in word.split(","):
        point = _POINT.fullmatch(part.strip())
        if not point:
            raise InvalidRequest(f"{part.strip()!r} is not UNITS:TIME. Write measured times as 1:4h,4:80m.")
        units = _units(point.group(1))
        if units in points:
            raise InvalidRequest(f"the time on {units} is given twice in {word!r}.")
        points[units] = _seconds(point.group(2))
    if len(points) < 2:
        units, seconds = points.popitem()
        raise InvalidRequest(f"{word!r} is one point of a curve; write {durations.to_friendly(int(seconds))}@{units}.")
    curve = tuple(sorted(points.items()))
    return Runtime(seconds=curve[0][1], units=curve[0][0], curve=curve)


def _seconds(text: str) -> float:
    if not text.strip():
        raise InvalidRequest(f"a time is missing. Write {EXAMPLES}.")
    return float(durations.parse_friendly(text))


def _units(text: str) -> int:
    if not _UNITS.fullmatch(text.strip()) or int(text) < 1:
        raise InvalidRequest(f"{text!r} is no number of GPUs or cores. Write {EXAMPLES}.")
    return int(text)


def _share(text: str) -> float:
    percent = re.fullmatch(r"\s*([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%\s*", text)
    plain = re.fullmatch(r"\s*([0-9]{0,3}(?:\.[0-9]{1,9})?)\s*", text)
    share = float(percent.group(1)) / 100 if percent else float(plain.group(1)) if plain and plain.group(1) else -1.0
    if not 0.0 <= share <= 1.0:
        raise InvalidRequest(
            f"--serial: {text!r} is no share between 0 and 1. Write the part that more units do not speed up: "
            "0.05 or 5%."
        )
    return share


def runtime_words(runtime: Runtime) -> tuple[str, str | None]:
    """What ``parse_runtime`` reads as this, whole seconds."""
    if runtime.curve:
        return ",".join(f"{units}:{durations.to_friendly(round(time))}" for units, time in runtime.curve), None
    at = "" if runtime.units is None else f"@{runtime.units}"
    serial = None if runtime.serial is None else f"{runtime.serial:.9f}".rstrip("0").rstrip(".")
    return f"{durations.to_friendly(round(runtime.seconds))}{at}", serial


def parse_deadline(text: str, now: datetime, zone: tzinfo | None = None, *, what: str = "--deadline") -> datetime:
    """The moment (UTC) by which it must be done: ``18:00``, ``+6h``, ``2027-01-31T18:00``, with or without an offset.

    A time of day is the next such one. ``zone`` None: where this machine is. Raises InvalidRequest, also for one past.
    """
    word = text.strip()
    if word.startswith("+"):
        try:
            return now.astimezone(timezone.utc) + timedelta(seconds=durations.parse_friendly(word[1:]))
        except (InvalidRequest, OverflowError):
            raise _no_moment(what, text) from None
    clock = re.fullmatch(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", word)
    if clock:
        here = now.astimezone(zone).replace(tzinfo=None)
        then = here.replace(hour=int(clock.group(1)), minute=int(clock.group(2)), second=0, microsecond=0)
        return _aware(then if then > here else then + timedelta(days=1), zone)
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", word):
        raise InvalidRequest(f"{what}: {word} is a whole day; write the time, too: {word}T18:00.")
    try:
        moment = _dated(word, zone)
    except (ValueError, OverflowError):
        raise _no_moment(what, text) from None
    if moment <= now:
        raise InvalidRequest(f"{what}: {word} is past. Write for example {DEADLINE_EXAMPLES}.")
    return moment


def _dated(word: str, zone: tzinfo | None) -> datetime:
    if not re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?", word):
        raise ValueError(word)
    moment = datetime.fromisoformat(word.replace("Z", "+00:00"))
    return moment.astimezone(timezone.utc) if moment.tzinfo is not None else _aware(moment, zone)


def _aware(moment: datetime, zone: tzinfo | None) -> datetime:
    there = moment.astimezone() if zone is None else moment.replace(tzinfo=zone)
    return there.astimezone(timezone.utc)


def _no_moment(what: str, text: str) -> InvalidRequest:
    hint = f" For a time from now write +{text.strip()}." if re.fullmatch(r"[0-9]+[dhms]", text.strip()) else ""
    return InvalidRequest(f"{what}: {text!r} is no moment. Write for example {DEADLINE_EXAMPLES}.{hint}")
