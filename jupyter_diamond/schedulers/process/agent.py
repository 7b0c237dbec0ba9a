"""The commands that the server runs at this machine: one short-lived process each, one row per fact.

Fields are parted by US (0x1f), free text comes last, and the last row says that the answer is whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import sys
import time
from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from . import machine, processes, supervisor, turns
from .tickets import Job, Queue, QueueUnusable, Ticket, end_record, is_ours, new_id

US = "\x1f"
DONE = "diamond-done"
REFUSED = 64
"""Exit code: the same request can never pass here."""
UNUSABLE = 69
"""Exit code: the queue cannot be used, and a submission surely did not get into it."""
_NOT_FOR_JOBS = {"DIAMOND_PROCESS_QUEUE", "_", "SHLVL", "PWD", "OLDPWD"}


def main(words: list[str]) -> int:
    """Carry out one command; its text arguments follow it."""
    os.umask(0o077)
    command, arguments = words[0], words[1:]
    try:
        queue = Queue(os.environ.get("DIAMOND_PROCESS_QUEUE", ""))
        queue.make()
        return _COMMANDS[command](queue, arguments)
    except (QueueUnusable, OSError) as error:
        print(f"the queue of this machine cannot be used: {error}", file=sys.stderr)  # noqa: T201 - a command's answer
        return UNUSABLE


def _submit(queue: Queue, arguments: list[str]) -> int:
    """Take a ticket, print its id, and start it when it is its turn. The same token always gives the same id."""
    asked: dict[str, Any] = json.loads(arguments[0])
    with queue.locked():
        known = queue.by_token(asked["token"])
        if known is not None:
            _say(known.id)
            return 0
        ticket = Ticket(
            number=0, id="", token=asked["token"], name=asked["name"], folder=str(Path.cwd()), cpus=asked["cpus"],
            gpus=asked["gpus"], memory_bytes=asked["memory_bytes"], walltime_s=asked["walltime_s"],
            login=asked["login"], env={name: text for name, text in os.environ.items() if name not in _NOT_FOR_JOBS},
            host=machine.name(), submitted_at=time.time(),
            warn_before_end_s=asked.get("warn_before_end_s", 0), warn_signal=asked.get("warn_signal", "USR2"),
        )  # fmt: skip
        if ticket["gpus"]:
            machine.gpus()  # says why, when the driver does not answer
        if asked["nodes"] > 1:
            print("this machine is one node; ask for one.", file=sys.stderr)  # noqa: T201
            return REFUSED
        if lack := turns.lacks(ticket, turns.total(with_gpus=bool(ticket["gpus"]))):
            print(f"this machine cannot hold the job: it asks for {lack}.", file=sys.stderr)  # noqa: T201
            return REFUSED
        ticket["number"] = queue.next_number()
        ticket["id"] = new_id(ticket["number"])
        job = queue.add(ticket)
        _say(job.id)
        # the job is in the line: whatever goes wrong from here on is made good by the next question
        with contextlib.suppress(OSError):
            turns.take(queue)
            if ticket["number"] % 100 == 0:
                queue.forget_old(time.time())
    return 0


def _query(queue: Queue, job_ids: list[str]) -> int:
    """The jobs that have not ended; on the way, let in whose turn it is."""
    with queue.locked():
        turns.take(queue)
        wanted = set(job_ids)
        _say_jobs(queue, [job for job in queue.active() if job.id in wanted])
    return _done()


def _accounting(queue: Queue, job_ids: list[str]) -> int:
    """The given jobs, ended or not."""
    with queue.locked():
        turns.take(queue)
        _say_jobs(queue, [job for job_id in job_ids if (job := queue.find(job_id)) is not None])
    return _done()


def _lookup(queue: Queue, tokens: list[str]) -> int:
    """The jobs with these tokens."""
    with queue.locked():
        turns.take(queue)
        _say_jobs(queue, [job for token in tokens if (job := queue.by_token(token)) is not None])
    return _done()


def _cancel(queue: Queue, job_ids: list[str]) -> int:
    """Ask for the end of jobs; those that have ended are none of our business."""
    by = _user()
    with queue.locked():
        for job_id in job_ids:
            job = queue.find(job_id)
            if job is None or job.end() is not None:
                continue
            problem = _cancel_one(queue, job, by)
            if problem:
                _say("cannot", job_id, problem)
        turns.take(queue)
    return _done()


def _withdraw(queue: Queue, job_ids: list[str]) -> int:
    """Take jobs back that wait; those that run or have ended are none of our business."""
    with queue.locked():
        for job_id in job_ids:
            job = queue.find(job_id)
            if job is not None and job.end() is None and not job.was_started():
                job.write("end.json", end_record("CANCELLED", reason="while it waited", cancelled_by=_user()))
                queue.retire(job)
        turns.take(queue)
    return _done()


def _cancel_one(queue: Queue, job: Job, by: str) -> str:
    ticket = job.ticket()
    if ticket is None:
        return "its ticket cannot be read"
    if not job.was_started():
        job.write("end.json", end_record("CANCELLED", reason="while it waited", cancelled_by=by))
        queue.retire(job)
        return ""
    if not is_ours(ticket):
        job.write("cancel.json", {"by": by, "at": time.time()})  # a supervisor there looks for it twice a second
        return f"it is with {ticket['host']}, which will end it if it is alive; from {machine.name()} nobody can say"
    job.write("cancel.json", {"by": by, "at": time.time()})
    run = job.run()
    if run is not None and job.supervised() and processes.birth(run["pid"]) == run["birth"]:
        processes.send([run["pid"]], supervisor.CANCEL)
    return ""  # a supervisor that has not yet written who it is looks for the note itself


def _probe(queue: Queue, _arguments: list[str]) -> int:
    """What this machine has, what of it is free, and how many wait."""
    with queue.locked():
        turns.take(queue)
        line = queue.active()
        mine = [(job, ticket) for job in line if (ticket := job.ticket()) is not None and is_ours(ticket)]
        running = [(job, ticket) for job, ticket in mine if job.was_started()]
    note = ""
    gpus: tuple[machine.Gpu, ...] | None
    try:
        gpus = machine.gpus()
    except OSError as error:
        gpus, note = None, str(error)
    everything = turns.Room(machine.cpus(), machine.memory_bytes(), tuple(gpu.number for gpu in gpus or ()))
    room = turns.left(everything, running)
    free_now = [amount for amount in (room.memory_bytes, machine.memory_free_bytes()) if amount is not None]
    facts = {
        "host": machine.name(),
        "user": _user(),
        "cpus": everything.cpus,
        "cpus_free": max(room.cpus, 0),
        "memory_bytes": everything.memory_bytes,
        "memory_free_bytes": max(min(free_now), 0) if free_now else None,
        "gpus": None if gpus is None else len(gpus),
        "gpus_free": None if gpus is None else len(room.gpus),
        "gpu_model": gpus[0].model if gpus else None,
        "pending": len(mine) - len(running),
        "running": len(running),
        "note": note,
    }
    for name, value in facts.items():
        _say("fact", name, "" if value is None else str(value))
    return _done()


class _Line(NamedTuple):
    """Who waits, by number and in order, and all the room there is."""

    waiting: list[int]
    everything: turns.Room


def _say_jobs(queue: Queue, jobs: list[Job]) -> None:
    waiting = [job.number for job in queue.active() if not job.was_started()]
    tickets = {job.id: job.ticket() for job in jobs}
    gpus = any(ticket is not None and ticket["gpus"] for ticket in tickets.values()) if waiting else False
    line = _Line(waiting, turns.total(with_gpus=gpus))
    for job in jobs:
        _say_job(job, tickets[job.id], line)


def _say_job(job: Job, ticket: Ticket | None, line: _Line) -> None:
    run, end = job.run(), job.end()
    state, reason = _standing(job, ticket, line)
    started = end["started_at"] if end else run["started_at"] if run else None
    fields = (
        ticket and ticket["token"],
        state,
        end and end["exit_code"],
        end and end["signal"],
        ticket and ticket["submitted_at"],
        started,
        end and end["ended_at"],
        ticket and ticket["walltime_s"],
        end and end["max_rss_bytes"],
        end and end["cancelled_by"],
        ticket and ticket["host"],
        *_given(job, ticket, started),
        reason,
    )
    _say("job", job.id, *("" if field is None else str(field) for field in fields))


def _given(job: Job, ticket: Ticket | None, started: float | None) -> tuple[int | None, int | None, int | None]:
    """Cores, GPUs and memory that were set aside for it; nothing before it began."""
    if ticket is None or started is None:
        return None, None, None
    return ticket["cpus"], len(job.gpus()) if ticket["gpus"] else 0, ticket["memory_bytes"]


def _standing(job: Job, ticket: Ticket | None, line: _Line) -> tuple[str, str]:
    """Our word for the job's state, and why it is so."""
    end = job.end()
    if end is not None:
        return end["state"], end["reason"]
    if ticket is None:
        return "UNREADABLE", "its ticket cannot be read"
    if not is_ours(ticket) and not job.supervised():
        return "ELSEWHERE", f"it is with {ticket['host']}; from {machine.name()} nobody can say what became of it"
    if job.was_started():
        return ("STOPPING" if job.cancelled_by() is not None else "RUNNING"), ""
    if lack := turns.lacks(ticket, line.everything):
        return "TOO_LARGE", f"asks for {lack}"
    ahead = bisect_left(line.waiting, job.number)
    return "QUEUED", f"{ahead} ahead in the line" if ahead else "next in the line, waits for room"


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def _say(*fields: str) -> None:
    row = US.join(field.replace("\n", " ") for field in fields)
    print(row, flush=True)  # noqa: T201 - a command's answer


def _done() -> int:
    _say(DONE)
    return 0


_COMMANDS: dict[str, Callable[[Queue, list[str]], int]] = {
    "submit": _submit,
    "query": _query,
    "accounting": _accounting,
    "lookup": _lookup,
    "cancel": _cancel,
    "withdraw": _withdraw,
    "probe": _probe,
}
