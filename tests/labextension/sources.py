"""The labextension's sources and its committed bundle, and copies of them to work on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LABEXTENSION = ROOT / "labextension"
BUNDLE = ROOT / "jupyter_diamond" / "labextension"


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=False, cwd=cwd, capture_output=True, text=True, timeout=170)


def module(name: str, *args: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", f"labextension.scripts.{name}", *args, cwd=cwd)


def copy_of_sources(to: Path) -> Path:
    shutil.copytree(
        LABEXTENSION, to / "labextension", ignore=shutil.ignore_patterns("node_modules", "lib", "*.tsbuildinfo")
    )
    shutil.copytree(BUNDLE, to / "jupyter_diamond" / "labextension")
    return to
