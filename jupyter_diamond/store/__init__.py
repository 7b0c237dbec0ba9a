"""The durable store: tasks, attempts, events, and the lease that says who advances work."""

from __future__ import annotations

from .store import Store

__all__ = ["Store"]
