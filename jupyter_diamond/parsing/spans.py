"""Ranges that people type, ``2-4``, ``2G-8G``, ``2-8G``, ``10m-1h``: from the least viable to the most useful."""

from __future__ import annotations

import re
from typing import Literal

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import MOST, Span

from . import durations, memory

Kind = Literal["count", "memory", "duration"]

_LARGEST_COUNT = 10_000_000


def parse_span(text: str, kind: Kind = "count", *, what: str = "the value") -> Span:
    """One amount or ``LEAST-MOST`` as a Span; bytes for memory, seconds for durations.

    In a memory range the first amount may leave its unit to the second (``2-8G``). ``what`` names the option in error
    texts. Raises InvalidRequest.
    """
    word = text.strip()
    try:
        low, high = _ends(word, kind)
        least, most = _amount(low, kind), _amount(high, kind)
    except InvalidRequest as problem:
        raise InvalidRequest(f"{what}: {problem.message}") from problem
    if least > most:
        raise InvalidRequest(f"{what}: the range {word!r} runs backwards; write it as {high}-{low}.")
    return Span(min=least, max=most)


def _ends(word: str, kind: Kind) -> tuple[str, str]:
    # 2-12:30:00 is one Slurm time (two days, …), 10m-1h is a range: what follows the dash decides.
    if kind == "duration" and re.fullmatch(r"[0-9]+-[0-9]+:[0-9]+(:[0-9]+)?", word):
        return word, word
    low, dash, high = word.partition("-")
    if not dash or not low.strip():
        return word, word
    low, high = low.strip(), high.strip()
    if not high:
        raise InvalidRequest(f"the range {word!r} has no end. Write it as {low} or as LEAST-MOST.")
    unit = re.fullmatch(r"[0-9.]+([A-Za-z]+)", high)
    if kind == "memory" and unit and re.fullmatch(r"[0-9.]+", low):
        low += unit.group(1)
    return low, high


def _amount(word: str, kind: Kind) -> int:
    if kind != "count":
        amount = memory.parse_friendly(word) if kind == "memory" else durations.parse_friendly(word)
        if amount > MOST["memory_bytes" if kind == "memory" else "walltime_s"]:
            example = memory.EXAMPLES if kind == "memory" else durations.FRIENDLY_EXAMPLES
            raise InvalidRequest(f"{word} is more than any machine gives. Write what one job needs, such as {example}.")
        return amount
    if re.fullmatch(r"[0-9]{8,4000}", word) and int(word) > _LARGEST_COUNT:
        shown = f"{int(word):,}" if len(word) <= 18 else f"{word[:12]}…"
        raise InvalidRequest(f"{shown} is more than any machine has. Write what one job needs, such as 4 or 2-4.")
    if not re.fullmatch(r"[0-9]{1,8}", word):
        raise InvalidRequest(f"{word!r} is not a count. Write a whole number such as 4, or a range such as 2-4.")
    return int(word)
