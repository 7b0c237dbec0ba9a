"""A test that fails with something open fails alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
CONFTEST = "from tests.leftovers import pytest_runtest_makereport\n"
TESTS = """
import gc, socket, subprocess

def test_that_fails():
    process = subprocess.Popen(["sleep", "20"])
    line = socket.socket()
    raise AssertionError

def test_after_it():
    gc.collect()
"""


def test_what_a_failed_test_left_open_fails_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_two.py").write_text(TESTS)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path, env={**env, "PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
