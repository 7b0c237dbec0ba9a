"""Amounts as people say them, and as the options take them."""

from __future__ import annotations

from jupyter_diamond.model.envelope import Size, Span

_UNITS = ((86400, "d", "d"), (3600, "h", "h"), (60, "min", "m"), (1, "s", "s"))


def duration(seconds: float) -> str:
    """The two largest units: ``2 h 30 min``, ``45 s``."""
    return " ".join(f"{amount} {word}" for amount, word, _ in _parts(int(seconds))[:2]) or "0 s"


def time_option(seconds: int) -> str:
    """Exactly, as ``--time`` takes it: ``2h30m``."""
    return "".join(f"{amount}{letter}" for amount, _, letter in _parts(seconds)) or "0s"


def _parts(seconds: int) -> list[tuple[int, str, str]]:
    parts = []
    for whole, word, letter in _UNITS:
        amount, seconds = divmod(seconds, whole)
        if amount:
            parts.append((amount, word, letter))
    return parts


def memory(size: int) -> str:
    """Binary units, rounded down to what ``--memory`` takes: ``64G``, ``512M``."""
    for shift, unit in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if size >= 1 << shift:
            tenths = size * 10 >> shift
            return f"{tenths // 10}{unit}" if tenths % 10 == 0 or tenths >= 1000 else f"{tenths / 10:.1f}{unit}"
    return f"{size} bytes"


def span(span: Span) -> str:
    """``2``, ``2-4``."""
    return str(span.min) if span.min == span.max else f"{span.min}-{span.max}"


def count(amount: int, noun: str) -> str:
    """``1 core``, ``2 cores``."""
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def place(site: str, partition: str) -> str:
    """``delta:cpu``, as ``--site`` takes it; the site alone where its partition is not known."""
    return f"{site}:{partition}" if partition else site


def size(size: Size) -> str:
    """``2 nodes x 4 cores, 1 GPU, 8G, for 30 min``."""
    parts = [count(size.cpus, "core")]
    if size.gpus:
        parts.append(count(size.gpus, "GPU"))
    if size.memory_bytes is not None:
        parts.append(memory(size.memory_bytes))
    node = ", ".join(parts)
    return f"{size.nodes} nodes x {node}" if size.nodes > 1 else node


def option(value: str) -> str:
    """A value as a line of options takes it: in quotes where it has a blank."""
    return f"'{value}'" if " " in value else value


def amount(value: float, unit: str) -> str:
    """``12.5 core-hours``, ``1 node-hour``."""
    said = f"{value:,.1f}".removesuffix(".0") if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"
    return f"{said} {unit or 'unit'}" if said == "1" else f"{said} {unit or 'unit'}s"


def charge(value: float, unit: str) -> str:
    """An amount of which sums are made: to the hundredth, ``1,234.57 core-hours``; a small one with two digits."""
    said = f"{value:,.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.2g}"
    said = said.rstrip("0").rstrip(".") if "." in said and "e" not in said else said
    return f"{said} {unit or 'unit'}" if said == "1" else f"{said} {unit or 'unit'}s"


def clause(sentence: str) -> str:
    """A sentence as a part of a longer one."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
