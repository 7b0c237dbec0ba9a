"""Amounts as people write them: ``two``, ``1 to 4``, ``up to 8``, ``90 minutes``, ``half an hour``, ``80 GB``."""

from __future__ import annotations

import re

from jupyter_diamond.parsing.durations import to_friendly

_WORDS = {
    "half an": 0.5, "half a": 0.5, "a couple of": 2, "a pair of": 2, "a single": 1, "a dozen": 12, "a": 1, "an": 1,
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "sixteen": 16, "twenty": 20, "thirty-two": 32, "single": 1, "both": 2,
}  # fmt: skip
NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d{1,9}(?:\.\d{1,3})?|" + "|".join(sorted(_WORDS, key=len, reverse=True)) + ")"
_LIMITS = r"up to|at most|no more than|not more than|at least|a minimum of|a maximum of|exactly|only"
COUNT = rf"(?:(?P<bound>{_LIMITS})\s+)?(?<![\w.-])(?P<low>{NUMBER})(?:\s*(?:-|\u2013|to|or)\s*(?P<high>{NUMBER}))?"
"""How many, or from how many to how many."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_LONG = r"(?:weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?)"
_PART = (
    rf"(?:\d{{1,9}}(?:\.\d{{1,3}})?\s*-?\s*(?:{_LONG}|[hmsd])(?![A-Za-z])"
    rf"|(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?:\s+|-){_LONG}(?![A-Za-z]))"
)
"""One amount of time. A word needs a whole unit behind it: the *an* and *d* of *and* are none."""
DURATION = rf"(?<![\w.:-]){_PART}(?:\s*(?:and\s+)?{_PART})?(?!-)"
_MEMORY = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
MEMORY = r"(?P<amount>\d{1,7}(?:\.\d{1,3})?)\s*-?\s*(?P<unit>[gtm])i?(?:b|bytes?)?"


def number(text: str) -> float:
    """``4``, ``four``, ``1,000``, ``half a``."""
    word = re.sub(r"\s+", " ", text.strip().casefold())
    return float(_WORDS[word]) if word in _WORDS else float(word.replace(",", ""))


def span(found: re.Match[str]) -> str:
    """What ``COUNT`` found, as an option has it: ``2``, ``1-4``."""
    low = max(0, round(number(found["low"])))
    if found["high"]:
        high = max(0, round(number(found["high"])))
        return f"{min(low, high)}-{max(low, high)}"
    bound = re.sub(r"\s+", " ", (found["bound"] or "").casefold())
    if bound in ("up to", "at most", "no more than", "not more than", "a maximum of") and low > 1:
        return f"1-{low}"
    return str(low)


def seconds(text: str) -> int:
    """Of what ``DURATION`` found."""
    every = re.findall(_PART, text, re.IGNORECASE)
    parts = (re.fullmatch(rf"({NUMBER})\s*-?\s*(\w+)", each, re.IGNORECASE) for each in every)
    return max(1, round(sum(number(part[1]) * _UNITS[part[2][0].lower()] for part in parts if part)))


def friendly(length_s: float) -> str:
    """As an option has it, in whole minutes, rounded up: nobody limits a job to a second."""
    return to_friendly(max(60, -(-round(length_s) // 60) * 60))


def memory_bytes(found: re.Match[str]) -> int:
    """Of what ``MEMORY`` found."""
    return int(float(found["amount"]) * _MEMORY[found["unit"].lower()])
