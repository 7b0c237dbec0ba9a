"""How an environment that a task names stands at one site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

There = Literal["named", "built", "to_build", "no_uv", "off", "failed", "absent", "broken", "unknown"]


@dataclass(frozen=True, slots=True)
class EnvironmentAt:
    """How a task's environment stands at one site. ``build_s`` is how long a build takes, where one is needed."""

    there: There
    build_s: float | None = None
    said: str = ""
    """What was said of it there, where something is wrong."""
