"""Whether an ended task did what was asked of it, with the evidence."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import UtcTime, Value
from .states import State

Answer = Literal["yes", "no", "unknown"]
Question = Literal["accepted", "started", "clean_log", "outputs", "size", "ended_well"]
"""Its scheduler took it; it began; its log has no sign of an error; all outputs are there; it ran at the size that
was asked; its end was good."""
LogSign = Literal[
    "traceback", "mpi", "gpu_memory", "gpu", "memory", "crash", "not_found", "nan_loss", "disk", "scheduler", "killed",
    "error",
]  # fmt: skip
"""A class of words in a log that tell of an error. ``not_found``: a command, a library, an environment module;
``scheduler``: its own daemons say so; ``error``: a line that calls itself one."""


class Finding(Value):
    """One question's answer. ``evidence`` are lines of the log, of accounting, of the receipt: foreign text."""

    question: Question
    answer: Answer
    sentence: str
    evidence: tuple[str, ...] = Field(default=(), max_length=10)
    signs: tuple[LogSign, ...] = ()
    """Of ``clean_log``: the classes that were seen."""


class TaskVerdict(Value):
    """Of the newest attempt. ``correct`` is yes only when every finding is; no when one is; else unknown."""

    task: str
    name: str
    state: State
    attempt: int
    correct: Answer
    sentence: str
    findings: tuple[Finding, ...]
    attempts_left: int
    """How many further attempts healing may make, whoever asks for them; 0 once it has ended for good."""
    moves_left: int
    """How many times it may still change its site by itself."""
    judged_at: UtcTime

    def finding(self, question: Question) -> Finding:
        """The answer to one question."""
        return next(each for each in self.findings if each.question == question)


class GroupVerdict(Value):
    """Of a group: how many of its members did what was asked, and the first ones that did not, or may not have."""

    group: str
    name: str
    members: int
    answers: dict[Answer, int]
    """Members by answer; one that has not begun counts as unknown."""
    correct: Answer
    sentence: str
    first: tuple[TaskVerdict, ...] = Field(default=(), max_length=10)
    judged_at: UtcTime
