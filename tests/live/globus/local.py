"""Endpoints without an agent: their tasks run in worker.py, one at a time as on a login node, or as many as is asked."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from .tasks import TERMINAL, Endpoint, Task
from .workers import Worker, worker_for

if TYPE_CHECKING:
    from .compute import Compute

WORKER_LOST = """Traceback (most recent call last):
parsl.executors.high_throughput.errors.WorkerLost: Task failure due to loss of worker 0 on host login1
"""


class Local:
    """The backend of one endpoint."""

    def __init__(self, compute: Compute, python: str, workers: int) -> None:
        self._compute, self._python = compute, python
        self._pool = ThreadPoolExecutor(workers)
        self._closing = threading.Event()
        self._running: dict[str, tuple[Worker, bool]] = {}  # task id -> its worker, and whether its result still counts
        worker_for(python)  # it imports while the test sets up
        self._folder = tempfile.mkdtemp(prefix="standin-tasks-")

    def is_online(self, endpoint: Endpoint) -> bool:
        return not endpoint.offline

    def launch(self, endpoint: Endpoint, task: Task) -> None:
        if endpoint.offline:
            task.status = "waiting-for-ep"
            return
        task.status = "waiting-for-nodes"
        self._pool.submit(self._run, endpoint, task)

    def lose_running(self) -> None:
        """Kill what runs, and never say so: the user endpoint died with it."""
        for task_id, (worker, _) in list(self._running.items()):
            self._running[task_id] = (worker, False)
            worker.kill(task_id)

    def kill_running(self) -> None:
        """Kill what runs: the worker died, and the agent says so."""
        for task_id, (worker, _) in list(self._running.items()):
            worker.kill(task_id)

    def close(self) -> None:
        self._closing.set()
        self.lose_running()
        self._pool.shutdown(cancel_futures=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, endpoint: Endpoint, task: Task) -> None:
        if self._closing.wait(endpoint.start_delay) or task.status in TERMINAL:
            return
        worker = worker_for(self._python)
        job = {
            "task_id": task.id,
            "endpoint_id": endpoint.id,
            "buffer": task.buffer,
            "folder": self._folder,
            "result_serializers": task.submission.get("result_serializers"),
            "env": {**os.environ, **endpoint.env},
        }
        said = worker.start(job)
        self._running[task.id] = (worker, True)
        task.status = "running"
        if self._closing.is_set():
            worker.kill(task.id)
        answer = said.result()
        _, counts = self._running.pop(task.id)
        if not counts:
            return
        if answer.get("lost"):
            self._compute.complete(task.id, WORKER_LOST, failed=True)
        else:
            self._compute.complete(
                task.id,
                answer["data"],
                failed=answer["failed"],
                details=answer["details"],
                transitions=answer["transitions"],
            )
