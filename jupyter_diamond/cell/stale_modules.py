"""Whether a module's file is still what the kernel imported."""

from __future__ import annotations

import functools
import importlib.util
import os
import struct
import types
from pathlib import Path

import psutil

from .code_match import plain_function, same_code


def has_changed_since_import(module: types.ModuleType, path: Path) -> bool:
    """True when the file on disk and the module in memory surely differ."""
    stat = path.stat()
    if stat.st_mtime < _kernel_started() - 1:
        return False  # older than this process
    compiled = _compiled_from(module)
    if compiled is not None and compiled != (int(stat.st_mtime) & 0xFFFFFFFF, stat.st_size & 0xFFFFFFFF):
        return True
    return not _functions_match(module, path)


@functools.lru_cache(maxsize=1)
def _kernel_started() -> float:
    return psutil.Process(os.getpid()).create_time()


def _compiled_from(module: types.ModuleType) -> tuple[int, int] | None:
    """(mtime, size) of the source that the newest .pyc was made from; None when there is none."""
    cached = getattr(module, "__cached__", None)
    if not cached or not os.path.exists(cached):  # noqa: PTH110 - a hot path
        return None
    with open(cached, "rb") as file:  # noqa: PTH123
        head = file.read(16)
    if len(head) < 16 or head[:4] != importlib.util.MAGIC_NUMBER or head[4:8] != b"\0\0\0\0":
        return None  # checked by hash, not by time
    mtime, size = struct.unpack("<II", head[8:16])
    return mtime, size


def _functions_match(module: types.ModuleType, path: Path) -> bool:
    """Whether the functions in memory are those of the file: another process may have renewed the .pyc."""
    try:
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    on_disk = {const.co_name: const for const in code.co_consts if isinstance(const, types.CodeType)}
    for name, value in vars(module).items():
        function = plain_function(value)
        if function is None or function.__module__ != module.__name__ or function.__code__.co_name != name:
            continue
        if name in on_disk and not same_code(function.__code__, on_disk[name]):
            return False
    return True
