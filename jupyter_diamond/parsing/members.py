"""The members of a group as people write them: ``0-9:2``, ``1,3,7-9%4``; ``lr=1e-3,1e-4``; numbers as ranges."""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.group import MOST_MEMBERS

Scalar = bool | int | float | str | None
Point = dict[str, Scalar]

MOST_INDEX = 10_000_000
LONGEST_TEXT = 4096
_ARRAY = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?")
_NUMBER = r"-?(?:0|[1-9][0-9]{0,17})"
_RANGE = re.compile(rf"({_NUMBER})-({_NUMBER})(?::([0-9]{{1,9}}))?")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*\"""")
_PIECE = re.compile(r"""(?:[^,'"]|'[^']*'|"(?:[^"\\]|\\.)*")*""")
_WORDS: dict[str, Scalar] = {"true": True, "True": True, "false": False, "False": False, "None": None}


# --- numbers ------------------------------------------------------------------------------------------------------


def parse_array(text: str) -> tuple[tuple[int, ...], int | None]:
    """Slurm's ``--array``: its numbers, ascending and once each; how many may run at once. Raises InvalidRequest."""
    word = text.replace(" ", "")
    numbers, percent, limit = word.partition("%")
    if percent and (not re.fullmatch(r"[0-9]{1,6}", limit) or int(limit) < 1):
        raise InvalidRequest(f"--array {text}: after % stands how many run at once, 1 or more: --array 0-99%10.")
    found: set[int] = set()
    for piece in numbers.split(","):
        span = _span_of(piece, text)
        if len(span) > MOST_MEMBERS:
            raise _too_many(len(span), "--array")
        found.update(span)
    if len(found) > MOST_MEMBERS:
        raise _too_many(len(found), "--array")
    return tuple(sorted(found)), int(limit) if percent else None


def _span_of(piece: str, text: str) -> range:
    read = _ARRAY.fullmatch(piece)
    if read is None:
        raise InvalidRequest(
            f"--array {text!r} is not a list of numbers; write 0-99, 1,3,7-9 or 0-9:2, and %N for N at once."
        )
    first, last, step = int(read[1]), int(read[2] or read[1]), int(read[3] or 1)
    if last < first:
        raise InvalidRequest(f"--array {text}: {piece} runs backwards; write it as {last}-{first}.")
    if step < 1:
        raise InvalidRequest(f"--array {text}: {piece} has no step; after : stands 1 or more: 0-9:2.")
    if last >= MOST_INDEX:
        raise InvalidRequest(f"--array {text}: {last} is too large a number; the largest is {MOST_INDEX - 1:,}.")
    return range(first, last + 1, step)


def ranges(indices: Iterable[int], most: int | None = None) -> str:
    """``4, 17-18``; with ``most`` parts, what is left is counted: ``4, 17-18 and 12 more``."""
    parts: list[tuple[int, int]] = []
    for index in sorted(set(indices)):
        if parts and index == parts[-1][1] + 1:
            parts[-1] = (parts[-1][0], index)
        else:
            parts.append((index, index))
    shown = parts if most is None or len(parts) <= most else parts[:most]
    left = sum(last - first + 1 for first, last in parts[len(shown) :])
    said = [str(first) if first == last else f"{first}-{last}" for first, last in shown]
    return ", ".join(said) + (f" and {left:,} more" if left else "")


# --- points -------------------------------------------------------------------------------------------------------


def parse_sweep(said: Sequence[str], variables: Mapping[str, Any] | None = None) -> list[Point]:
    """Every point of ``--sweep``, in order: of several the first varies slowest. Raises InvalidRequest.

    Each is ``NAME=VALUES``, or the name of a variable that holds rows: dicts of plain values, or a DataFrame.
    """
    axes = [_axis(text, variables or {}) for text in said]
    seen: dict[str, str] = {}
    for text, axis in zip(said, axes, strict=True):
        for name in axis[0]:
            if name in seen:
                raise InvalidRequest(f"--sweep gives {name} twice, in {seen[name]} and in {text}; give it once.")
            seen[name] = text
    many = math.prod(len(axis) for axis in axes)
    if many > MOST_MEMBERS:
        raise _too_many(many, "--sweep")
    return [{name: value for part in parts for name, value in part.items()} for parts in product(*axes)]


def _axis(text: str, variables: Mapping[str, Any]) -> list[Point]:
    name, equals, values = text.partition("=")
    name = unicodedata.normalize("NFKC", name.strip())
    if not equals:
        return _rows(name, variables)
    _check_name(name, "--sweep")
    return [{name: value} for value in _values(name, values.strip())]


def _check_name(name: str, where: str) -> None:
    if not name.isidentifier():
        raise InvalidRequest(f"{where}: {name!r} is not a variable's name; write --sweep lr=1e-3,1e-4.")
    if keyword.iskeyword(name) or (name.startswith("__") and name.endswith("__")):
        raise InvalidRequest(f"{where}: {name} is a word of Python's own; give what is swept another name.")


def _values(name: str, text: str) -> list[Scalar]:
    if not text:
        raise InvalidRequest(f"--sweep {name}= lists no values; write them with commas: --sweep {name}=1,2,3.")
    found: list[Scalar] = []
    seen: set[tuple[type, Scalar]] = set()
    for piece in _pieces(name, text):
        for value in _spread(name, piece):
            if (type(value), value) in seen:
                raise InvalidRequest(
                    f"--sweep {name} lists {value!r} twice; to run every point several times, sweep one more name: "
                    "--sweep repeat=0-4."
                )
            seen.add((type(value), value))
            found.append(value)
    return found


def _pieces(name: str, text: str) -> list[str]:
    pieces, place = [], 0
    while True:
        read = _PIECE.match(text, place)
        assert read is not None, "it matches nothing, too"
        pieces.append(read[0].strip())
        if read.end() == len(text):
            return pieces
        if text[read.end()] != ",":
            raise InvalidRequest(f"--sweep {name}: a quote is not closed in {text}.")
        place = read.end() + 1


def _spread(name: str, piece: str) -> Sequence[Scalar]:
    """One value, or the whole numbers of a range."""
    if not piece:
        raise InvalidRequest(f"--sweep {name} has an empty value; write '' for an empty text, or one comma less.")
    if _QUOTED.fullmatch(piece):
        return (_checked(_unquoted(piece), name),)
    if piece in _WORDS:
        return (_WORDS[piece],)
    span = _RANGE.fullmatch(piece)
    if span:
        return _whole_numbers(name, piece, int(span[1]), int(span[2]), int(span[3] or 1))
    if re.fullmatch(_NUMBER, piece):
        return (int(piece),)
    if _FLOAT.fullmatch(piece) and not re.fullmatch(r"0[0-9]+", piece):
        return (_checked(float(piece), name),)
    if _NO_NUMBER.fullmatch(piece):
        raise InvalidRequest(f"--sweep {name}: {piece} is no value to run with; in quotes it is a text: '{piece}'.")
    return (_checked(piece, name),)


def _unquoted(piece: str) -> str:
    inner = piece[1:-1]
    return re.sub(r'\\(["\\])', r"\1", inner) if piece[0] == '"' else inner


def _whole_numbers(name: str, piece: str, first: int, last: int, step: int) -> range:
    if last < first:
        raise InvalidRequest(
            f"--sweep {name}: {piece} runs backwards; write {last}-{first}, or in quotes where it is a text."
        )
    if step < 1:
        raise InvalidRequest(f"--sweep {name}: {piece} has no step; after : stands 1 or more: 0-9:2.")
    span = range(first, last + 1, step)
    if last - first >= MOST_MEMBERS * step:
        raise _too_many((last - first) // step + 1, f"--sweep {name}")
    return span


def _checked(value: Scalar, where: str) -> Scalar:
    """A value as it can be stored and sent. ``where`` names it in sentences."""
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidRequest(f"{where}: {value} is no value to run with; every value is a finite number or a text.")
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise InvalidRequest(
                f"{where}: a text of {len(value):,} characters is too long to be swept (at most {LONGEST_TEXT:,}); "
                "sweep a number, and choose the text in the cell."
            )
        if any("\ud800" <= char <= "\udfff" for char in value) or "\0" in value:
            raise InvalidRequest(f"{where}: {value[:40]!r} has characters that cannot be sent.")
    return value


# --- rows ---------------------------------------------------------------------------------------------------------


def _rows(name: str, variables: Mapping[str, Any]) -> list[Point]:
    """A list of dicts, or a DataFrame: one point a row."""
    if not name.isidentifier():
        raise InvalidRequest(
            f"--sweep {name!r} says no values; write --sweep lr=1e-3,1e-4, or the name of a variable with rows."
        )
    if name not in variables:
        raise InvalidRequest(
            f"--sweep {name}: there is no such variable in this notebook. Write --sweep {name}=1,2,3, or make a list "
            f"of dicts or a DataFrame of that name."
        )
    held = variables[name]
    frame = callable(getattr(held, "to_dict", None)) and hasattr(held, "columns")
    rows = _of_frame(held) if frame else held
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        raise InvalidRequest(
            f"--sweep {name}: `{name}` is a {type(held).__name__}, not a list of dicts or a DataFrame: "
            f'{name} = [{{"lr": 1e-3}}, {{"lr": 1e-4}}].'
        )
    if not rows or not rows[0]:
        raise InvalidRequest(f"--sweep {name}: `{name}` is empty; it needs a row for every member.")
    if len(rows) > MOST_MEMBERS:
        raise _too_many(len(rows), f"--sweep {name}")
    names = tuple(rows[0])
    for key in names:
        if not isinstance(key, str):
            raise InvalidRequest(f"--sweep {name}: {key!r} is not a variable's name; the columns become variables.")
        _check_name(key, f"--sweep {name}")
    return [_row(name, number, row, names) for number, row in enumerate(rows)]


def _of_frame(frame: Any) -> list[dict[Any, Any]]:
    """A row each; what a table says is missing is None."""
    if len(set(frame.columns)) != len(frame.columns):
        raise InvalidRequest("--sweep: two columns of the table have the same name; rename one of them.")
    missing = frame.isna()
    columns = {
        key: [None if gone else value for value, gone in zip(frame[key].tolist(), missing[key].tolist(), strict=True)]
        for key in frame.columns
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _row(name: str, number: int, row: Mapping[Any, Any], names: tuple[str, ...]) -> Point:
    if set(row) != set(names):
        odd = sorted(str(key) for key in set(row) ^ set(names))
        raise InvalidRequest(
            f"--sweep {name}: row {number} and row 0 do not have the same names ({', '.join(odd)}); give every row all "
            "of them, None where there is nothing."
        )
    return {
        unicodedata.normalize("NFKC", key): _plain(row[key], f"--sweep {name}, row {number}, {key}") for key in names
    }


def _plain(value: Any, where: str) -> Scalar:
    kind = type(value)
    if kind.__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or type(value) in (bool, int, float, str):
        return _checked(value, where)
    raise InvalidRequest(
        f"{where} is a {kind.__name__}; a member is given numbers, texts, True, False and None. Sweep a number, and "
        "choose the rest in the cell."
    )


def _too_many(many: int, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{what} makes {many:,} members; a group has at most {MOST_MEMBERS:,}. Send it as several, or let each member "
        "do more."
    )
