"""Three independent real Slurm clusters with accounting on this machine, for tests, demos and benchmarks.

``python -m tests.live.slurm up`` brings them up by hand; ``Testbed`` is the same for Python.
"""

from __future__ import annotations

from .clusters import CLUSTERS, Cluster
from .daemons import wait_until
from .host import TestbedError
from .testbed import Testbed

__all__ = ["CLUSTERS", "Cluster", "Testbed", "TestbedError", "wait_until"]
