"""A verdict as it reads: its sentence, then question by question what was found, and where it is seen."""

from __future__ import annotations

from jupyter_diamond.model.verdict import Answer, Finding, GroupVerdict, Question, TaskVerdict

from .card_text import printable
from .text import Text

_WORD: dict[Answer, str] = {"yes": "yes", "no": "NO", "unknown": "?"}
_QUESTION: dict[Question, str] = {
    "accepted": "accepted", "started": "started", "clean_log": "log clean", "outputs": "outputs there",
    "size": "size as asked", "ended_well": "ended well",
}  # fmt: skip


class Verdict(Text):
    """A text that reads as the verdict; ``correct`` is "yes", "no" or "unknown", ``found`` everything behind it."""

    __slots__ = ("correct", "found")
    found: TaskVerdict | GroupVerdict
    correct: Answer


def shown(found: TaskVerdict | GroupVerdict) -> Verdict:
    """As a notebook shows it."""
    text = Verdict(task_text(found) if isinstance(found, TaskVerdict) else group_text(found))
    text.found, text.correct = found, found.correct
    return text


def task_text(found: TaskVerdict) -> str:
    """All of it."""
    lines = [found.sentence, *(line for each in found.findings for line in _finding(each))]
    if found.attempts_left:
        lines.append(f"{'attempts left'.ljust(13)}  {found.attempts_left}")
    return printable("\n".join(lines))


def _finding(each: Finding) -> list[str]:
    head = f"{_QUESTION[each.question].ljust(13)}  {_WORD[each.answer].ljust(3)}  {each.sentence}"
    return [head, *(f"{' ' * 20}{line}" for line in each.evidence)]


def group_text(found: GroupVerdict) -> str:
    """The counts, and the first members that did not do what was asked."""
    return printable("\n".join([found.sentence, *(f"  {each.sentence}" for each in found.first)]))


def remark(found: TaskVerdict | GroupVerdict) -> str:
    """A line about an ended task that did not surely do what was asked; empty where it did."""
    if found.correct == "yes" or isinstance(found, GroupVerdict):
        return ""
    seen = next((each.evidence[0] for each in found.findings if each.answer == "no" and each.evidence), "")
    return printable(f"{found.sentence} {seen}".strip())
