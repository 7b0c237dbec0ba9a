"""The source paper's method on the real clusters: the same task to every feasible site at the same instant.

``background`` keeps the clusters loaded, ``federation`` speaks to them, ``rounds`` plays, ``report`` prints.
"""

from __future__ import annotations

from .background import Background
from .federation import SCALE, Federation
from .report import line, table
from .rounds import POLICIES, Round, Rounds

__all__ = ["POLICIES", "SCALE", "Background", "Federation", "Round", "Rounds", "line", "table"]
