"""Which batch system a site speaks."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from jupyter_diamond.model.site import SchedulerKind, Site

from .base import Scheduler

_CLASSES: dict[SchedulerKind, tuple[str, str]] = {
    "process": ("jupyter_diamond.schedulers.process.scheduler", "ProcessScheduler"),
    "simulated": ("jupyter_diamond.schedulers.simulated.scheduler", "SimulatedScheduler"),
    "slurm": ("jupyter_diamond.schedulers.slurm.scheduler", "SlurmScheduler"),
}


def scheduler_for(site: Site) -> Scheduler:
    """A scheduler of the site's kind, loaded when first used: most users need one or two of the kinds."""
    module, name = _CLASSES[site.scheduler]
    return cast("Scheduler", getattr(import_module(module), name)())
