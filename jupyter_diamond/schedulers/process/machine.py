"""How much of this machine is ours: what the container was given, never what its host has."""

from __future__ import annotations

import functools
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from jupyter_diamond.parsing.numbers import whole

_NO_LIMIT = 1 << 60
"""cgroup v1 writes 'no limit' as a huge number."""
_GPU_TIMEOUT_S = 15.0


class Gpu(NamedTuple):
    """One GPU, by the number that CUDA_VISIBLE_DEVICES takes."""

    number: int
    model: str


def cpus(root: Path = Path("/")) -> int:
    """Cores: the smallest of affinity (which knows cpusets) and every CPU quota above us; at least one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _groups(root, "cpu"):
        quota = _words(folder / "cpu.max") or _words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us")
        most, period = (whole(word) for word in quota) if len(quota) == 2 else (None, None)
        if most is not None and period:
            count = min(count, most // period)
    return max(count, 1)


def memory_bytes(root: Path = Path("/")) -> int | None:
    """Memory that may be used in all: the smallest limit above us, or what the machine has. None: cannot say."""
    limits = [
        limit
        for folder in _groups(root, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (words := _words(folder / name)) and (limit := whole(words[0])) is not None
    ]
    total = _meminfo(root, "MemTotal") or _installed()
    known = [limit for limit in [*limits, total] if limit is not None and limit < _NO_LIMIT]
    return min(known) if known else None


def memory_free_bytes(root: Path = Path("/")) -> int | None:
    """Memory that nobody uses now. None: cannot say."""
    free = _meminfo(root, "MemAvailable")
    for folder in _groups(root, "memory"):
        for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            most, used = _words(folder / limit), _words(folder / usage)
            limit_bytes = whole(most[0]) if most and used else None
            if limit_bytes is not None and limit_bytes < _NO_LIMIT:
                left = max(limit_bytes - int(used[0]) + _cache(folder), 0)
                free = left if free is None else min(free, left)
    return free


def oom_kills(root: Path = Path("/")) -> int:
    """How often the kernel has killed for memory in our cgroup."""
    for folder in _groups(root, "memory"):
        for name in ("memory.events", "memory.oom_control"):
            words = _words(folder / name)
            if "oom_kill" in words:
                return int(words[words.index("oom_kill") + 1])
    return 0


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """NVIDIA GPUs that this container sees; empty without the driver. Raises OSError when the driver is mute."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    import subprocess

    asked = [program, "--query-gpu=index,name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(asked, capture_output=True, timeout=_GPU_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise OSError(f"nvidia-smi did not answer within {_GPU_TIMEOUT_S:g} s") from None
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).decode("utf-8", "backslashreplace").strip()
        if "No devices were found" in said:
            return ()
        raise OSError(f"nvidia-smi failed: {said[:200]}")
    rows = [row.partition(",") for row in answer.stdout.decode("utf-8", "backslashreplace").splitlines()]
    return tuple(Gpu(at, name.strip()) for index, _, name in rows if (at := whole(index)) is not None)


def name() -> str:
    """This machine's name."""
    return os.uname().nodename


def boot() -> str:
    """Names this boot of the machine; empty where the system does not say."""
    words = _words(Path("/proc/sys/kernel/random/boot_id"))
    return words[0] if words else ""


def _groups(root: Path, controller: str) -> list[Path]:
    """Our cgroup and all above it, for v1 and v2; inside a container the upper part of the path may be hidden."""
    found = []
    base = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            mounts = [base, base / "unified"]
        elif controller in controllers.split(","):
            mounts = [base / controllers, base / controller]
        else:
            continue
        own = Path(path.lstrip("/"))
        found += [mount / part for mount in mounts for part in (own, *own.parents)]
    return list(dict.fromkeys(found))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


def _cache(folder: Path) -> int:
    """File cache that the kernel gives back when it is asked to."""
    words = _words(folder / "memory.stat")
    key = "total_inactive_file" if "total_inactive_file" in words else "inactive_file"
    return int(words[words.index(key) + 1]) if key in words else 0


def _meminfo(root: Path, key: str) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    return None


def _installed() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
