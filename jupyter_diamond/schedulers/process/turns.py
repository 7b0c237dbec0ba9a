"""Whose turn it is: bury what died, then start from the front of the line what fits. Always under the queue's lock."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from typing import NamedTuple

from . import machine, processes, supervisor
from .tickets import Job, Queue, Ticket, end_record, is_ours

_WRITE_OFF_S = 120.0


class Room(NamedTuple):
    """An amount of this machine. ``memory_bytes`` None: unknown, not counted. ``gpus`` are indexes."""

    cpus: int
    memory_bytes: int | None
    gpus: tuple[int, ...]


def total(*, with_gpus: bool) -> Room:
    """All that this machine has for jobs. GPUs are asked for only when somebody needs them: that takes long."""
    gpus: tuple[int, ...] = ()
    # a driver that does not answer now may do so at the next turn: jobs that need no GPU go on
    with contextlib.suppress(OSError):
        gpus = tuple(gpu.number for gpu in machine.gpus()) if with_gpus else ()
    return Room(machine.cpus(), machine.memory_bytes(), gpus)


def left(everything: Room, running: list[tuple[Job, Ticket]]) -> Room:
    """What running jobs of ours leave."""
    memory, taken = everything.memory_bytes, set[int]()
    for job, ticket in running:
        if memory is not None:
            memory -= ticket["memory_bytes"] or 0
        taken.update(job.gpus())
    cpus = everything.cpus - sum(ticket["cpus"] for _, ticket in running)
    return Room(cpus, memory, tuple(index for index in everything.gpus if index not in taken))


def lacks(ticket: Ticket, room: Room) -> str:
    """What of the room is too small for this ticket, in words; empty when it fits."""
    words = []
    if ticket["cpus"] > room.cpus:
        words.append(f"{ticket['cpus']} cores, of which there are {max(room.cpus, 0)}")
    wanted = ticket["memory_bytes"]
    if wanted is not None and room.memory_bytes is not None and wanted > room.memory_bytes:
        words.append(f"{wanted / 2**30:.1f} GiB of memory, of which there are {max(room.memory_bytes, 0) / 2**30:.1f}")
    if ticket["gpus"] > len(room.gpus):
        words.append(f"{ticket['gpus']} GPUs, of which there are {len(room.gpus)}")
    return " and ".join(words)


def take(queue: Queue) -> None:
    """Bury the dead, then start what fits, strictly in order: nobody overtakes, so nobody starves."""
    waiting, running = _sorted_out(queue)
    everything = total(with_gpus=False) if waiting else None
    for job in waiting:
        # tickets are read up to the first that must wait: a line of thousands costs no more than a short one
        ticket = _in_turn(queue, job)
        if ticket is None or everything is None:
            continue
        if ticket["gpus"] and not everything.gpus:
            everything = total(with_gpus=True)
        if lacks(ticket, everything):
            continue  # this machine has become smaller than the job: it must not hold up the others
        room = left(everything, running)
        if lacks(ticket, room):
            return
        _start(queue, job, ticket, room.gpus[: ticket["gpus"]])
        running.append((job, ticket))


def _sorted_out(queue: Queue) -> tuple[list[Job], list[tuple[Job, Ticket]]]:
    """Who waits, and which jobs run on this machine; started jobs that nobody runs leave the line."""
    waiting: list[Job] = []
    running: list[tuple[Job, Ticket]] = []
    for job in queue.active():
        if not job.was_started():
            waiting.append(job)
            continue
        ticket, supervised = job.ticket(), job.supervised()
        if ticket is not None and not is_ours(ticket):
            _write_off(queue, job, ticket)
        elif not supervised:
            _bury(queue, job)
        elif ticket is not None:
            running.append((job, ticket))
    return waiting, running


def _in_turn(queue: Queue, job: Job) -> Ticket | None:
    """The ticket of a waiting job when this machine may start it."""
    ticket = job.ticket()
    if ticket is None and job.end() is None:
        job.write("end.json", end_record("NODE_FAIL", reason="its ticket cannot be read any more"))
    if ticket is None or job.end() is not None:
        queue.retire(job)
        return None
    return ticket if is_ours(ticket) else None


def _start(queue: Queue, job: Job, ticket: Ticket, gpus: tuple[int, ...]) -> None:
    """Fork the job's supervisor; its lock on ``life`` and its GPUs are there before it exists."""
    life = os.open(job.path / "life", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(life, fcntl.LOCK_EX)
    os.write(life, json.dumps(gpus).encode())
    if os.fork() == 0:
        supervisor.run(queue, job, ticket, gpus, life, afterwards=next_turn)
    os.close(life)


def next_turn(queue: Queue, job: Job) -> None:
    """Leave the line and let the next ones in; what an ended job's supervisor does last."""
    with queue.locked():
        queue.retire(job)
        take(queue)


def _bury(queue: Queue, job: Job) -> None:
    """A started job without a supervisor: it ended just now, or its supervisor was killed, or the machine restarted."""
    if job.end() is None:
        run = job.run()
        if run is not None and run["boot"] != machine.boot():
            reason = "the machine restarted while the job ran"
        else:
            killed = _kill_left(job)
            reason = "the process that looked after the job was killed"
            if killed:
                reason += f"; {killed} processes that it left behind were stopped"
        started_at = run["started_at"] if run is not None else None
        job.write("end.json", end_record("NODE_FAIL", reason=reason, started_at=started_at))
    queue.retire(job)


def _write_off(queue: Queue, job: Job, ticket: Ticket) -> None:
    """A job of another machine that nobody runs and that must have ended by its limit, were its machine alive."""
    run = job.run()
    if run is None or job.supervised() or time.time() < run["started_at"] + ticket["walltime_s"] + _WRITE_OFF_S:
        return
    if job.end() is None:
        reason = f"{ticket['host']} ran it and never said how it ended"
        job.write("end.json", end_record("NODE_FAIL", reason=reason, started_at=run["started_at"]))
    queue.retire(job)


def _kill_left(job: Job) -> int:
    """Stop what a dead supervisor left running, and nothing else."""
    run = job.run()
    left_behind = set(processes.carrying(f"DIAMOND_JOB_ID={job.id}"))
    if run is not None and run["group"] and processes.birth(run["group"]) == run["group_birth"]:
        left_behind |= {run["group"], *processes.descendants(run["group"])}
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(run["group"], signal.SIGKILL)
    return processes.send(left_behind, signal.SIGKILL) if left_behind else 0
