"""Processes of this machine: which one a number means, who descends from whom, and what they hold in memory."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

_LINUX = sys.platform == "linux"
_PROC = Path("/proc")
_PR_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGE_SIZE")


def birth(pid: int) -> str | None:
    """When a process started, so that a number used again is not taken for it. None: there is no such process."""
    if _LINUX:
        fields = _stat(pid)
        return None if fields is None or fields[0] in "ZX" else fields[19]
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def adopt_orphans() -> None:
    """Make this process the parent of every descendant that loses its own, so that none can slip away (Linux)."""
    if _LINUX:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> list[int]:
    """All living processes below this one."""
    if not _LINUX:
        import psutil

        try:
            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
        except psutil.Error:
            return []
    try:
        (_PROC / f"{pid}/task/{pid}/children").read_bytes()
    except FileNotFoundError:
        return _descendants_by_scan(pid)
    found: list[int] = []
    todo = [pid]
    while todo:
        children = _children(todo.pop())
        found += children
        todo += children
    return found


def resident_bytes(pids: Iterable[int]) -> int:
    """Resident memory, summed. Pages that processes share count for each of them: an upper bound."""
    return sum(_resident(pid) for pid in pids)


def proportional_bytes(pids: Iterable[int]) -> int | None:
    """Resident memory with shared pages counted once. Slower. None: this kernel cannot say."""
    total, told = 0, False
    for pid in pids:
        with contextlib.suppress(OSError):
            for line in (_PROC / f"{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total, told = total + int(line.split()[1]) * 1024, True
    return total if told else None


def carrying(variable: str) -> list[int]:
    """Our own processes that have this ``NAME=value`` in the environment they were started with (Linux)."""
    wanted = variable.encode()
    found = []
    for pid in _all() if _LINUX else []:
        with contextlib.suppress(OSError):
            if pid != os.getpid() and wanted in (_PROC / f"{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def send(pids: Iterable[int], number: signal.Signals) -> int:
    """Signal each; those that are gone already do not count."""
    sent = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            sent += 1
    return sent


def send_group(group: int, number: signal.Signals) -> bool:
    """Signal a process group; False when it has no member left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def group_exists(group: int) -> bool:
    """The process group has a member that we may signal."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def outside(pids: Iterable[int], group: int) -> list[int]:
    """Those that have left the process group."""
    found = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            if os.getpgid(pid) != group:
                found.append(pid)
    return found


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the name: state first, parent second, start time twentieth."""
    try:
        text = (_PROC / f"{pid}/stat").read_text(errors="replace")
    except (OSError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names, twice a second
            with contextlib.suppress(OSError):
                found += map(int, (_PROC / f"{pid}/task/{task}/children").read_text().split())
    return found


def _descendants_by_scan(pid: int) -> list[int]:
    parents = {each: int(fields[1]) for each in _all() if (fields := _stat(each)) is not None}
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found[1:]


def _all() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names only


def _resident(pid: int) -> int:
    if _LINUX:
        with contextlib.suppress(OSError):
            return int((_PROC / f"{pid}/statm").read_text().split()[1]) * _PAGE
        return 0
    import psutil

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
