"""GRES and TRES text: which GPUs, and how many (B17)."""

from __future__ import annotations

import re

from jupyter_diamond.errors import ParseError

_NOTHING = frozenset({"", "(null)", "n/a", "none"})
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_COUNT = re.compile(r"([0-9]{1,15})([KMGTP]?)")
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}

UNTYPED = ""
"""The type of GPUs that were given without one."""


def split(text: str) -> list[str]:
    """Entries of a list: commas inside brackets do not part them (``gpu:a100:8(S:0,2-3),nvme:1``)."""
    if "(" not in text and "[" not in text:
        return text.split(",")
    entries, depth, start = [], 0, 0
    for place, char in enumerate(text):
        if char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            entries.append(text[start:place])
            start = place + 1
    return [*entries, text[start:]]


def gpus_by_type(text: str) -> dict[str, int]:
    """GPUs of a list, by type: ``gpu:a100:4(S:0-1)``, ``gpu:8``, ``gres:gpu:2``, ``gres/gpu=4,gres/gpu:a100=4``.

    Shards, MPS and all else are not GPUs. In TRES text (with ``=``) the typeless amount is the total of all types, so
    it is not added to them. Raises ParseError for text that is no such list.
    """
    counts: dict[str, int] = {}
    total = None
    for entry in _entries(text):
        name, kind, count = _entry(entry, text)
        if name != "gpu":
            continue
        if "=" in entry and kind == UNTYPED:
            total = count
        else:
            counts[kind] = counts.get(kind, 0) + count
    rest = 0 if total is None else total - sum(counts.values())
    if rest > 0 or (total == 0 and not counts):
        counts[UNTYPED] = rest
    return counts


def _entries(text: str) -> list[str]:
    """Each entry without what is in brackets: (S:0-1), (IDX:0,4-5), (6/8,0/8)."""
    if text.strip().casefold() in _NOTHING:
        return []
    return [re.sub(r"\([^()]*\)", "", raw).strip() for raw in split(text)]


SHARED = ("shard", "mps")
"""Names of what is a part of a GPU, and no GPU."""


def shares(text: str) -> dict[str, int]:
    """Shards and MPS of a list, all types together: ``gpu:t4:2,shard:t4:16`` has 16 shards. Raises ParseError."""
    counts: dict[str, int] = {}
    for entry in _entries(text):
        name, _, count = _entry(entry, text)
        if name in SHARED:
            counts[name] = counts.get(name, 0) + count
    return counts


def gpus_in_shares(text: str, gpus: int) -> int:
    """How many of so many GPUs are in use through shards or MPS, which a job can no longer have whole.

    ``shard:t4:6(6/8,0/8)`` says it for each GPU. Without that each share in use may be on a GPU of its own.
    """
    most = 0
    for raw in split(text) if text.strip().casefold() not in _NOTHING else []:
        name, _, count = _entry(re.sub(r"\([^()]*\)", "", raw).strip(), text)
        if name in SHARED and count:
            each = re.findall(r"([0-9]+)/[0-9]+", raw)
            most = max(most, sum(part.strip("0") != "" for part in each) if each else count)
    return min(most, gpus)


def gpus(text: str) -> int:
    """All GPUs of a list."""
    return sum(gpus_by_type(text).values())


def _entry(entry: str, text: str) -> tuple[str, str, int]:
    words = re.split(r"[:=]", re.sub(r"^gres[:/]", "", entry))
    name, rest = words[0], [word for word in words[1:] if word != "no_consume"]
    if not _NAME.fullmatch(name) or "" in rest:
        raise ParseError(f"{entry!r} in {text[:200]!r} is not a GRES entry such as gpu:a100:4.")
    count = 1  # Slurm: no count means one
    number = _COUNT.fullmatch(rest[-1]) if rest else None
    if number:
        count = int(number.group(1)) * _SCALE[number.group(2)]
        rest = rest[:-1]
    return name.casefold(), ":".join(rest), count


def tres(text: str) -> dict[str, str]:
    """A TRES list (``cpu=96,mem=1031000M,gres/gpu=4,gres/gpu:h100=4``) by name; empty when there is none."""
    if text.strip().casefold() in _NOTHING:
        return {}
    items = {}
    for item in text.strip().split(","):
        name, equals, amount = item.partition("=")
        if not equals:
            raise ParseError(f"{item!r} in {text[:200]!r} is not a TRES such as cpu=4.")
        items[name.strip()] = amount.strip()
    return items


def tres_gpus(text: str) -> int | None:
    """GPUs of a TRES list; None when it does not speak of GPUs."""
    speaks = any(name == "gres/gpu" or name.startswith("gres/gpu:") for name in tres(text))
    return gpus(text) if speaks else None
