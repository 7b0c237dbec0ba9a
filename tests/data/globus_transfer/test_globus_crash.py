"""Killed at any instant, a transfer by Globus goes on with what was begun: one task, and nothing left behind."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.globus import COMPUTE, TRANSFER

pytestmark = pytest.mark.asyncio

KILLED = -9
INSTANTS = ["before submission_id", "after submission_id", "before native_id", "after native_id", "moving", "placing",
            "moved"]  # fmt: skip


@pytest.fixture(scope="module")
def crashing():
    """Run one process after the other; each ends as it says."""
    repository = Path(__file__).parents[3]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.data.globus_transfer.crashing"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(repository)}, cwd=repository,
    ) as parent:  # fmt: skip

        def run(order):
            parent.stdin.write(json.dumps(order) + "\n")
            parent.stdin.flush()
            return int(parent.stdout.readline())

        yield run
        parent.stdin.close()


@pytest.mark.parametrize(
    ("at", "shell"),
    [*((at, True) for at in INSTANTS), *((at, False) for at in ("before native_id", "placing", "moved"))],
)
async def test_a_kill_at_any_instant_leaves_one_task(between_of, crashing, globus_services, tmp_path, at, shell):
    between = between_of()
    between.write(**{"in/x": "x" * 3000, "in/y": "y"})
    between.b.rate = 30_000 if at == "moving" else None
    kept = tmp_path / "kept.json"
    kept.write_text(between.transfer().model_dump_json())
    order = {
        "kept": str(kept), "root": str(between.b.root), "shell": shell, "services": globus_services.environment,
        "environ": {"JUPYTER_DIAMOND_TOKENS": json.dumps(globus_services.auth.issue([COMPUTE, TRANSFER]))},
    }  # fmt: skip
    assert await asyncio.to_thread(crashing, {**order, "at": at}) == KILLED
    assert await asyncio.to_thread(crashing, {**order, "at": ""}) == 0
    (task,) = between.submitted
    assert task.document["status"] == "SUCCEEDED"
    assert between.found() == {"x": b"x" * 3000, "y": b"y"}
    assert between.parts == []
