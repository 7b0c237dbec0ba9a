"""How an answer looks that a model reads: bounded, with units and ages, unknown said as such, foreign text marked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from jupyter_diamond.model.snapshot import NO_LIMIT, Limit
from jupyter_diamond.parsing import durations, memory

UNKNOWN = "unknown"
"""Never 0, never left out where a model would take its absence for none."""
DEFAULT_KIB, MOST_KIB = 8, 64


@dataclass(frozen=True)
class Foreign:
    """Text that a job or a site wrote: it is wrapped before a model sees it. ``limit`` counts characters."""

    text: str
    source: str
    limit: int = 2000


Wrap = Callable[[Foreign], str]


def foreign(text: str | None, source: str, limit: int = 2000) -> Foreign | None:
    """The same marked as foreign; None where there is none."""
    return Foreign(text, source, limit) if text else None


MOST_WORDS = 4
LEFT_OUT = "(a name that reads as a sentence: left out)"
_SENTENCES = ("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",)
"""Of Slurm's own."""


def odd(text: str) -> bool:
    """Whether a name reads as a sentence, spaces or not: nobody calls a partition so, but who wants to be obeyed."""
    return len(re.findall(r"[^\W\d_]{3,}", text)) > MOST_WORDS and text.strip("()") not in _SENTENCES


def word(text: object, most: int = 64) -> str:
    """A scheduler's word (a partition, a raw state, a host), of which nothing but a word may come through."""
    said = str(text)
    if odd(said):
        return LEFT_OUT
    return re.sub(r"[^\w .:,@+/=\[\]()%-]", "?", said, flags=re.ASCII)[:most]


def label(text: str, source: str, most: int = 64) -> str | Foreign:
    """A name that a job gave: as it is where it is a plain name, else foreign text."""
    plain = re.fullmatch(r"[\w./\[\]-]+", text, re.ASCII) is not None and len(text) <= most
    return text if plain and not odd(text) else Foreign(text, source, 200)


def known(value: Any) -> Any:
    """The value, or that it is not known."""
    return UNKNOWN if value is None else value


def limit(value: Limit) -> Any:
    """A number of a limit, *no limit*, or unknown."""
    return "no limit" if value is NO_LIMIT else known(value)


def time_limit(value: Limit) -> str:
    """``2h30m``, as it may be asked for."""
    return durations.to_friendly(value) if isinstance(value, int) else str(limit(value))


def span_of(seconds: float | None) -> str:
    """``8 min 20 s``; unknown where it is."""
    return UNKNOWN if seconds is None else durations.to_words(max(0.0, seconds))


def size_of(count: int | None) -> str:
    """``40G``, as it may be asked for."""
    return UNKNOWN if count is None else memory.to_words(count)


def age(then: datetime | None, now: datetime) -> str:
    """``12 s``; unknown where it was never read."""
    return UNKNOWN if then is None else durations.to_words(max(0.0, (now - then).total_seconds()))


def at(moment: datetime | None) -> str | None:
    """``2026-11-30T14:02:11Z``."""
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def without_empty(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same without what is None, empty text or an empty list: for what is absent, not for what is unknown."""
    return {name: value for name, value in facts.items() if value is not None and value not in ("", [])}


def without(content: Any, names: Sequence[str]) -> Any:
    """The same without these names, wherever they stand."""
    if isinstance(content, str):
        for name in names:
            content = content.replace(name, LEFT_OUT)
        return content
    if isinstance(content, dict):
        return {name: without(value, names) for name, value in content.items()} if names else content
    return [without(each, names) for each in content] if isinstance(content, list) and names else content


def rendered(content: Any, wrap: Wrap) -> Any:
    """As JSON, foreign text wrapped."""
    if isinstance(content, Foreign):
        return wrap(content)
    if isinstance(content, BaseModel):
        content = content.model_dump(mode="json")
    if isinstance(content, Mapping):
        return {str(name): rendered(value, wrap) for name, value in content.items()}
    if isinstance(content, Sequence) and not isinstance(content, str):
        return [rendered(each, wrap) for each in content]
    return content


def bounded(content: dict[str, Any], most: int, wrap: Wrap) -> dict[str, Any]:
    """As JSON of at most so many bytes: of the longest list the end, of the longest text the middle is left out.

    ``left_out`` then says how much of what is missing.
    """
    shown = rendered(content, wrap)
    if _bytes(shown) <= most:
        return dict(shown)
    kept, told = _thawed(content), dict[str, tuple[int, int]]()
    for _ in range(400):
        notes = [f"{where}: {kept_} of {all_} are shown" for where, (kept_, all_) in told.items()]
        shown = rendered({**kept, "left_out": notes} if notes else kept, wrap)
        if _bytes(shown) <= most:
            return dict(shown)
        if not _halve_longest(kept, told):
            break
    return {"left_out": [f"all of it: it has more than {most >> 10} KiB; ask for less at once, or with answer_kib"]}


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace"))


def _thawed(value: Any) -> Any:
    """The same of dicts and lists that can be changed."""
    if isinstance(value, BaseModel):
        return _thawed(value.model_dump(mode="json"))
    if isinstance(value, Mapping):
        return {str(name): _thawed(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_thawed(each) for each in value]
    return value


def _halve_longest(tree: dict[str, Any], told: dict[str, tuple[int, int]]) -> bool:
    """Cut the list or the text that takes most room; False where nothing can be cut any more."""
    heaviest: tuple[int, str, Any, Any] | None = None
    found = _cuttable(tree, "")
    # the innermost lists first: of each site some partitions, before some sites go missing as a whole
    lists = [where for where, holder, key in found if isinstance(holder[key], list)]
    for where, holder, key in found:
        if isinstance(holder[key], list) and any(other.startswith(f"{where}.") for other in lists):
            continue
        value = holder[key]
        weight = len(value.text) if isinstance(value, Foreign) else _bytes(rendered(value, lambda each: each.text))
        if heaviest is None or weight > heaviest[0]:
            heaviest = (weight, where, holder, key)
    if heaviest is None:
        return False
    _, where, holder, key = heaviest
    value = holder[key]
    if isinstance(value, list):
        told[where] = (len(value) // 2, told.get(where, (0, len(value)))[1])
        holder[key] = value[: len(value) // 2]
    elif isinstance(value, Foreign):
        holder[key] = Foreign(value.text, value.source, min(value.limit, len(value.text)) // 2)
        told[where] = (holder[key].limit, told.get(where, (0, len(value.text)))[1])
    else:
        told[where] = (len(value) // 2, told.get(where, (0, len(value)))[1])
        holder[key] = f"{value[: len(value) // 2]} […]"
    return True


def _cuttable(tree: Any, where: str) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in pairs:
        name = f"{where}.{key}" if where else str(key)
        if isinstance(value, list):
            if len(value) > 1:
                found.append((name, tree, key))
            found += _cuttable(value, name)
        elif isinstance(value, dict):
            found += _cuttable(value, name)
        elif (isinstance(value, Foreign) and min(value.limit, len(value.text)) > 200) or (
            isinstance(value, str) and len(value) > 300
        ):
            found.append((name, tree, key))
    return found
