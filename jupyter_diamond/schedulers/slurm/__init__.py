"""Slurm, 22.05 to 26.05, through its text commands."""

from .scheduler import SlurmScheduler

__all__ = ["SlurmScheduler"]
