"""Chats that several people write in at once are told, too: in a process with the packages of that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[2]


def test_under_real_time_collaboration_a_chat_is_told_open_or_left(tmp_path):
    over = tmp_path / "over"
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile")
    wanted = ("--requirement", HERE / "realtime.txt", "--target", over)
    subprocess.run([sys.executable, "-m", "pip", "install", *quiet, *wanted], check=True, timeout=150)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env["PYTHONPATH"] = os.pathsep.join((str(over), str(REPOSITORY)))
    options = ("-q", "-o", "filterwarnings=", "-p", "no:cacheprovider", "--basetemp", tmp_path / "inner")
    command = [sys.executable, "-m", "pytest", HERE / "realtime.py", *options]
    done = subprocess.run(command, env=env, cwd=REPOSITORY, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "1 passed" in done.stdout
