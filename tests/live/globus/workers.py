"""The stand-in's end of worker.py: one such process for each Python, shared by all stand-ins of a test run."""

from __future__ import annotations

import atexit
import contextlib
import json
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("worker.py")

_workers: dict[str, Worker] = {}
_lock = threading.Lock()


def worker_for(python: str) -> Worker:
    """The living worker of this Python."""
    with _lock:
        worker = _workers.get(python)
        if worker is None or not worker.alive:
            worker = _workers[python] = Worker(python)
        return worker


@atexit.register
def _end() -> None:
    for worker in _workers.values():
        worker.close()


class Worker:
    """A process that runs tasks."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def start(self, job: dict[str, Any]) -> Future[dict[str, Any]]:
        """Run a task; the future gives what worker.py says of it, ``{"lost": True}`` where its process died."""
        answer: Future[dict[str, Any]] = Future()
        with self._lock:
            self._waiting[job["task_id"]] = answer
        self._tell(job)
        return answer

    def kill(self, task_id: str) -> None:
        self._tell({"kill": task_id})

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait(10)

    def _tell(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):  # it is gone: _listen says so
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                said = json.loads(line)
                with self._lock:
                    answer = self._waiting.pop(said["task_id"], None)
                if answer:
                    answer.set_result(said)
        with self._lock:
            left, self._waiting = self._waiting, {}
        for answer in left.values():
            answer.set_result({"lost": True})
