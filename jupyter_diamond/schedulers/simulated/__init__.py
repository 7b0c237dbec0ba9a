"""A site that is not there: recorded snapshots, replayed for demonstrations. Nothing can be submitted to it."""

from .scheduler import SimulatedScheduler

__all__ = ["SimulatedScheduler"]
