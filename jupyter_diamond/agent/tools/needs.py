"""What a job needs, as a model writes it: the options of a cell's line, each a parameter."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.parsing.envelopes import OBJECTIVES, SOFTENABLE, envelope_words, read_envelope, said_words

from .parameters import Group, Options, Text

RARE = (
    "arch", "qos", "fabric", "container", "preemptible", "unknown_charge", "soft", "seed", "runtime", "serial", "sites",
    "deadline", "max_charge", "objective", "account", "env", "stage_in", "stage_out",
)  # fmt: skip
"""What may stand in ``options`` beside the parameters."""
_FLAGS = ("preemptible", "unknown_charge")


class Needs(Group):
    """Ranges are least viable to most useful: it is sized inside them, and never above."""

    gpus: Text | None = Field(None, description="GPUs per node, or a range: 4, 1-4; default 0")
    cpus: Text | None = Field(None, description="CPU cores per node, or a range: 8, 4-16; default 1")
    memory: Text | None = Field(None, description="memory per node with its unit, or a range: 32G, 16G-64G")
    time: Text | None = Field(None, description="time limit with its unit, or a range: 45m, 1h-4h; default 30m")
    nodes: Text | None = Field(None, description="nodes, or a range; default 1")
    gpu_model: Text | None = Field(None, description="kinds of GPU that will do: a100|h100")
    gpu_memory: Text | None = Field(None, description="the least memory of one GPU: 40G")
    site: Text | None = Field(
        None, description="pinned there and nowhere else: SITE or SITE:PARTITION; default anywhere"
    )
    options: Options | None = Field(
        None,
        description="what is needed seldom, all as text: sites (only these, a,b), account, qos, arch, fabric, "
        "container, env (torch), runtime (2h, 2h@1), serial, "
        "deadline (18:00, 2027-01-31T18:00), max_charge (100), "
        f"objective ({', '.join(OBJECTIVES)}), preemptible (yes), unknown_charge (yes), seed, "
        f"soft (wishes of {','.join(SOFTENABLE)}), stage_in (NAME[=SITE:/path]), "
        "stage_out ('*.pt=>SITE:/path')",
    )

    def envelope(self, now: datetime | None = None) -> Envelope:
        """What these come to. Raises InvalidRequest with the parameter's name and what to write."""
        return envelope_from(self.said(), now)

    def said(self) -> dict[str, str]:
        """What was said, by name."""
        plain = {name: getattr(self, name) for name in type(self).model_fields if name != "options"}
        return {name: value for name, value in plain.items() if value is not None} | dict(self.options or {})


def envelope_from(given: dict[str, str], now: datetime | None = None) -> Envelope:
    """An envelope from options by name, dashes or underscores. Raises InvalidRequest."""
    said: dict[str, Any] = {name.lstrip("-").replace("-", "_"): value for name, value in given.items()}
    known = {*Needs.model_fields, *RARE} - {"options"}
    wrong = next((name for name in said if name not in known), None)
    if wrong is not None:
        raise InvalidRequest(f"A job has no option `{wrong[:40]}`; there are: {', '.join(sorted(known))}.")
    for flag in _FLAGS:
        if flag in said:
            said[flag] = str(said[flag]).strip().lower() in ("yes", "true", "1", "on", "")
    try:
        return read_envelope(said, now=now or datetime.now(timezone.utc))
    except InvalidRequest as problem:
        raise InvalidRequest(as_parameters(problem.message)) from None


def as_parameters(text: str) -> str:
    """A sentence about options of a line as one about parameters: ``--gpu-memory 40G`` is ``gpu_memory=40G``."""
    named = re.sub(r"--([a-z][a-z-]*[a-z])", lambda found: f"--{found[1].replace('-', '_')}", text)
    return re.sub(
        r"--([a-z_]+)(?: (?=[0-9A-Z'+]))?", lambda found: found[1] + ("=" if found[0][-1] == " " else ""), named
    )


def as_options(envelope: Envelope) -> dict[str, str]:
    """The parameters that give this envelope, defaults left out."""
    said = said_words(envelope_words(envelope))
    return {name.replace("-", "_"): "yes" if value is True else str(value) for name, value in said.items()}
