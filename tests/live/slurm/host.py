"""What this machine offers to a Slurm cluster: its name, a loopback address for it, programs, cgroups, ports."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import random
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sacctmgr", "sbatch", "mariadbd", "mariadb-install-db", "mariadb")
WHERE = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FIRST_PORT, LAST_PORT = 17000, 32000  # below the kernel's own range for outgoing connections
PORTS_PER_TESTBED = 400
CGROUP_V1 = Path("/sys/fs/cgroup")


class TestbedError(Exception):
    """The clusters cannot be brought up, or did not do what was asked; the message says why and where to look."""

    __test__ = False


@dataclass(frozen=True)
class Host:
    """This machine, as the daemons see it.

    ``launch`` goes before a daemon's command. It is empty where the machine's name leads to a loopback address;
    elsewhere it gives the daemon a host name of its own that does, because Slurm binds to nothing else than what the
    host name leads to.
    """

    name: str
    address: str
    launch: tuple[str, ...]
    cgroup: bool
    slurm_version: tuple[int, ...]


def look() -> Host:
    """Find out, or raise TestbedError with what is missing."""
    if os.geteuid() != 0:
        raise TestbedError(
            "The Slurm test clusters need root: slurmd starts jobs as their users, and the fake GPUs are device nodes."
            " Run as root."
        )
    missing = [name for name in PROGRAMS if program(name) is None]
    if missing:
        raise TestbedError(f"Not installed: {', '.join(missing)}. Run tests/live/debian.sh as root.")
    name, address, launch = _loopback_name()
    return Host(
        name=name, address=address, launch=launch, cgroup=cgroup_v1_is_writable(), slurm_version=_slurm_version()
    )


def program(name: str) -> str | None:
    """The path of a program. Debian 13 calls the daemons ``slurmctld-wlm`` and so on."""
    path = os.pathsep.join((os.environ.get("PATH", ""), WHERE))
    return shutil.which(name, path=path) or shutil.which(f"{name}-wlm", path=path)


def cgroup_v1_is_writable() -> bool:
    """Whether jobs can be held to their memory by the kernel; cgroup v2 would need a systemd that delegates."""
    return all(
        (CGROUP_V1 / tree / "cgroup.procs").exists() and os.access(CGROUP_V1 / tree, os.W_OK) and _can_mkdir(tree)
        for tree in ("memory", "freezer", "cpuset")
    )


def _can_mkdir(tree: str) -> bool:
    probe = CGROUP_V1 / tree / f"diamond_probe_{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return False
    return True


def _loopback_name() -> tuple[str, str, tuple[str, ...]]:
    name = socket.gethostname().split(".")[0]
    try:
        address = socket.gethostbyname(name)
    except OSError:
        address = ""
    if address and ipaddress.ip_address(address).is_loopback:
        return name, address, ()
    renamed = ("unshare", "--uts", "sh", "-c", 'echo localhost > /proc/sys/kernel/hostname && exec "$@"', "sh")
    trial = subprocess.run([*renamed, "uname", "-n"], capture_output=True, text=True, check=False)
    if trial.stdout.strip() != "localhost":
        raise TestbedError(
            f"This machine's name {name!r} leads to {address or 'no address'}, and Slurm would listen there: add the"
            f" line '127.0.1.1 {name}' to /etc/hosts. ({trial.stderr.strip()})"
        )
    return "localhost", "127.0.0.1", renamed


def _slurm_version() -> tuple[int, ...]:
    answer = subprocess.run([str(program("slurmctld")), "-V"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in answer.split()[-1].split(".") if part.isdigit())


class PortRange:
    """A run of consecutive free ports on loopback, kept from other testbeds for as long as this process lives."""

    def __init__(self, address: str, first: int | None = None) -> None:
        self.address = address
        self._lock: IO[str] | None = None
        self.first = first if first is not None else self._find()

    def _find(self) -> int:
        starts = list(range(FIRST_PORT, LAST_PORT - PORTS_PER_TESTBED, PORTS_PER_TESTBED))
        random.shuffle(starts)
        for start in starts:
            # Without the lock two testbeds that start together would both find the range free.
            lock = (Path(tempfile.gettempdir()) / f"diamond-ports-{start}.lock").open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            if all(self._is_free(port) for port in range(start, start + PORTS_PER_TESTBED)):
                self._lock = lock
                return start
            lock.close()
        raise TestbedError(
            f"No {PORTS_PER_TESTBED} consecutive free ports between {FIRST_PORT} and {LAST_PORT} on {self.address}."
        )

    def _is_free(self, port: int) -> bool:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free
            try:
                probe.bind((self.address, port))
            except OSError:
                return False
        return True

    def release(self) -> None:
        """Let others have the range."""
        if self._lock is not None:
            self._lock.close()  # the file stays: who removes a lock file takes the lock from those who wait for it
            self._lock = None
