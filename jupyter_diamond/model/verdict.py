"""Whether an ended task did what was asked of it, with the evidence."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import UtcTime, Value

Answer = Literal["yes", "no", "unknown"]
Question = Literal["accepted", "started", "clean_log", "outputs", "size", "ended_well"]
"""Its scheduler took it; it began; its log has no sign of an error; all outputs are there; it ran at the size that
was asked; its end was good."""


class Finding(Value):
    """One question's answer. ``evidence`` are lines of the log, of accounting, of the receipt: foreign text."""

    question: Question
    answer: Answer
    sentence: str
    evidence: tuple[str, ...] = Field(default=(), max_length=10)


class TaskVerdict(Value):
    """``correct`` is yes only when every finding is; no when one is; else unknown."""

    task: str
    attempt: int
    correct: Answer
    sentence: str
    findings: tuple[Finding, ...]
    attempts_left: int
    """How many further attempts healing may make, whoever asks for them."""
    judged_at: UtcTime
