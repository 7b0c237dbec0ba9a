"""``jupyter diamond verdict``: whether a task, or a group, did what was asked."""

from __future__ import annotations

from argparse import Namespace

from jupyter_diamond.model.verdict import Answer, GroupVerdict, TaskVerdict
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.verdict_text import group_text, task_text

from .grammar import DONE, FAILED, NOT_YET
from .groups import of_task_or_group
from .output import as_json, say

_STATUS: dict[Answer, int] = {"yes": DONE, "no": FAILED, "unknown": NOT_YET}


def verdict(client: DiamondClient, said: Namespace) -> int:
    """Question by question; the exit status is that of the answer."""
    found: TaskVerdict | GroupVerdict = of_task_or_group(
        lambda: client.verdict(said.task), lambda: client.group_verdict(said.task)
    )
    if said.json:
        as_json(found)
    else:
        say(task_text(found) if isinstance(found, TaskVerdict) else group_text(found))
    return _STATUS[found.correct]
