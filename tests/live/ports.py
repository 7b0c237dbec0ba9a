"""Ports for servers that are told their port: no other test process is given the same, and no client takes it."""

from __future__ import annotations

import contextlib
import os
import random
import socket

FIRST, LAST = 10000, 17000  # below the Slurm clusters' ports, and below the kernel's own range for outgoing connections
PROCESSES = 16
_given: set[int] = set()


def free_port() -> int:
    """A port on loopback that nobody uses now. The processes that share the tests have every 16th port each."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    ours = [port for port in range(FIRST + int(worker) % PROCESSES, LAST, PROCESSES) if port not in _given]
    random.shuffle(ours)
    for port in ours:
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            _given.add(port)
            return port
    raise OSError(f"No free port between {FIRST} and {LAST}.")
