"""End what a testbed left behind: steps and jobs that outlived their slurmd, and testbeds whose test run was killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
from pathlib import Path

from .daemons import started_at, wait_until
from .host import CGROUP_V1


def owner() -> dict[str, object]:
    """This process, in words that tell it from a later one with the same pid."""
    return {"owner": os.getpid(), "owner_started": started_at(os.getpid())}


def pids(root: Path) -> list[int]:
    """Every living process of the testbed in ``root``: its recorded daemons, steps, and whatever runs inside its jobs."""
    found = []
    for path in (root / "pids").glob("*"):
        pid, _, start = path.read_text().partition(" ")
        if pid.isdigit() and started_at(int(pid)) == start:
            found.append(int(pid))
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if _is_step_or_job(folder, root):
                found.append(int(folder.name))
    return sorted(set(found))


def _is_step_or_job(folder: Path, root: Path) -> bool:
    """Steps and jobs know their SLURM_CONF. A user's own shell may know it too, but is in no job."""
    environment = (folder / "environ").read_bytes().split(b"\0")
    ours = any(line.startswith(b"SLURM_CONF=" + bytes(root) + b"/") for line in environment)
    if not ours or started_at(int(folder.name)) is None:
        return False
    in_job = any(line.startswith(b"SLURM_JOB_ID=") for line in environment)
    return in_job or (folder / "comm").read_text().startswith(("slurmstepd", "slurmd", "slurmctld"))


def processes(root: Path) -> list[str]:
    """Every living process of the testbed as ``pid command``."""
    lines = []
    for pid in pids(root):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            lines.append(f"{pid} {command.decode(errors='replace').strip()}")
    return lines


def end(root: Path, job_ids: range) -> None:
    """Kill what still lives, and remove the testbed's cgroups."""
    for pid in pids(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not pids(root), 5, f"Processes of the testbed outlived SIGKILL: {processes(root)}")
    for job in CGROUP_V1.glob("*/slurm_*/uid_*/job_*"):
        if int(job.name.removeprefix("job_")) in job_ids:
            for folder in sorted((job, *job.glob("**/")), key=lambda path: len(path.parts), reverse=True):
                with contextlib.suppress(OSError):
                    folder.rmdir()


def remove(root: Path) -> None:
    """Remove the testbed's folder."""
    shutil.rmtree(root, ignore_errors=True)


def abandoned(folder: Path, prefix: str) -> list[Path]:
    """Roots of testbeds in ``folder`` whose owner is gone."""
    found = []
    for root in folder.glob(f"{prefix}*"):
        try:
            state = json.loads((root / "state.json").read_text())
        except (OSError, ValueError):
            continue
        if started_at(int(state["owner"])) != state["owner_started"]:
            found.append(root)
    return found
