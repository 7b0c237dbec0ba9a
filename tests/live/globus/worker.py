"""Runs tasks for the stand-in, each in a fork of this process, by the real agent's own ``execute_task``.

A script of its own: stdin takes one JSON line for each task (or ``{"kill": id}``), stdout gives one for each that ended.
It imports the agent once, so a task costs a fork. It ends when stdin does, and its tasks with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import sys
import uuid
from typing import Any

from globus_compute_common import messagepack
from globus_compute_common.messagepack.message_types import Task
from globus_compute_endpoint.engines.helper import execute_task

Job = dict[str, Any]


def run(job: Job) -> Job:
    """Run one task, in the process that is made for it."""
    task_id, endpoint_id = uuid.UUID(job["task_id"]), uuid.UUID(job["endpoint_id"])
    body = messagepack.pack(Task(task_id=task_id, task_buffer=job["buffer"]))
    packed = execute_task(
        body, task_id, endpoint_id, run_dir=job["folder"], result_serializers=job["result_serializers"]
    )
    result = messagepack.unpack(packed)
    return {
        "data": result.data,
        "failed": result.error_details is not None,
        "details": {name: str(value) for name, value in (result.details or {}).items()},
        "transitions": {change.state.value: change.timestamp / 1e9 for change in result.task_statuses or ()},
    }


class Running:
    """A task's process, and what it has said until now."""

    def __init__(self, job: Job) -> None:
        self.task_id = job["task_id"]
        self.said = b""
        self.pipe, far = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            self._be_the_task(job, far)
        os.close(far)

    def _be_the_task(self, job: Job, pipe: int) -> None:
        code = 70
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os.environ.clear()
            os.environ.update(job["env"])
            with os.fdopen(pipe, "w") as out:
                json.dump(run(job), out)
            code = 0
        finally:
            os._exit(code)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):  # it has not come as far as a group of its own
            os.kill(self.pid, signal.SIGKILL)

    def ended(self) -> Job:
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        with contextlib.suppress(ValueError):
            return {"task_id": self.task_id, **json.loads(self.said)}
        return {"task_id": self.task_id, "lost": True}


def serve() -> None:
    ready = selectors.DefaultSelector()
    ready.register(0, selectors.EVENT_READ, None)
    running: dict[str, Running] = {}
    asked = b""
    while True:
        for key, _ in ready.select():
            data = os.read(key.fd, 1 << 20)
            if key.data is None:
                if not data:
                    for task in running.values():
                        task.kill()
                    return
                *lines, asked = (asked + data).split(b"\n")
                for line in lines:
                    obey(json.loads(line), running, ready)
            elif data:
                key.data.said += data
            else:
                ready.unregister(key.fd)
                del running[key.data.task_id]
                sys.stdout.write(json.dumps(key.data.ended()) + "\n")
                sys.stdout.flush()


def obey(order: Job, running: dict[str, Running], ready: selectors.DefaultSelector) -> None:
    if "kill" in order:
        if order["kill"] in running:
            running[order["kill"]].kill()
        return
    task = running[order["task_id"]] = Running(order)
    ready.register(task.pipe, selectors.EVENT_READ, task)


if __name__ == "__main__":
    serve()
