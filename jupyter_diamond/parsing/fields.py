"""Options as a form has them: each is read by itself, so that what is wrong with one stands beside that one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope

from .envelopes import FLAGS, NEEDS, read_envelope

_FIRST = ("gpus", "cpus", "nodes", "time", "sites", "site", "runtime", "serial", "objective")
_LAST = ("soft",)
_ORDER = (*_FIRST, *(name for name in NEEDS if name not in (*_FIRST, *_LAST)), *_LAST)
"""What others need first: of two that contradict each other, the later one is told so."""
_MEANWHILE = {"gpus": "1", "runtime": "1m@1", "objective": "random"}
"""Stands for one that cannot be read, so that only that one is told of."""


def read_fields(said: Mapping[str, str], *, now: datetime) -> tuple[Envelope | None, dict[str, str]]:
    """The envelope, and a sentence for each option that is wrong; the envelope is None where one is.

    Options by their names without dashes in front. An empty text is not said.
    """
    asked = {name.replace("_", "-"): text.strip() for name, text in said.items() if text.strip()}
    problems = {name: f"There is no option --{name}." for name in asked if name not in NEEDS}
    taken: dict[str, str | bool] = {}
    for name in _ORDER:
        if name in asked:
            key, text = name.replace("-", "_"), asked[name]
            try:
                read_envelope({**taken, key: True if name in FLAGS else text}, now=now)
            except InvalidRequest as no:
                problems[name] = no.message
                if name in _MEANWHILE:
                    taken[key] = _MEANWHILE[name]
            else:
                taken[key] = True if name in FLAGS else text
    return (None, problems) if problems else (read_envelope(taken, now=now), {})
