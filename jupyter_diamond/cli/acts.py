"""The verbs that act at a site, each within its bounds."""

from __future__ import annotations

import sys
import time
import uuid
from argparse import Namespace
from pathlib import Path

from jupyter_diamond.errors import Conflict, DiamondError, InvalidRequest
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.looks import PUT_BYTES, Accounted, Check, Preflight
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Task
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.timeline import every_event
from jupyter_diamond.notebook.vocabulary import LOOK, place_text

from . import groups
from .grammar import DONE, FAILED
from .looks import print_task
from .output import as_json, complain, say

ACCOUNTING_S = 60.0
"""Accounting learns of a job some seconds after its end."""
MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


def cancel(client: DiamondClient, said: Namespace) -> int:
    """Ask for a task's end."""
    found = groups.of_task_or_group(lambda: client.cancel(said.task), lambda: groups.act(client, said, "cancel"))
    if said.json:
        as_json(found)
    elif isinstance(found, Group):
        say(groups.told(found, "cancel"))
    elif found.phase is Phase.ENDED:
        say(f"{found.name} has ended already: {LOOK[found.state].word}.")
    else:
        say(f"{found.name}: its site is asked to end it. jupyter diamond task {found.id} says when it has.")
    return DONE


def replan(client: DiamondClient, said: Namespace) -> int:
    """Plan a task anew."""
    found = groups.of_task_or_group(
        lambda: client.replan(said.task, unpin=said.unpin), lambda: groups.act(client, said, "replan")
    )
    if said.json:
        as_json(found)
    elif isinstance(found, Group):
        say(groups.told(found, "replan"))
    elif found.attempt is not None and found.attempt.withdrawal is not None:
        say(f"{found.name}: another place is better. jupyter diamond task {found.id} says when it is there.")
    else:
        say(f"{found.name} stays where it is: {every_event(client, found.id)[-1].data.get('why', '')}")
    return DONE


def hold(client: DiamondClient, said: Namespace) -> int:
    """Keep a task from being submitted."""
    found = groups.of_task_or_group(lambda: client.hold(said.task), lambda: groups.act(client, said, "hold"))
    if said.json:
        as_json(found)
    elif isinstance(found, Group):
        say(groups.told(found, "hold"))
    else:
        say(f"{found.name} is held: nothing of it is submitted until jupyter diamond release {found.id}.")
    return DONE


def release(client: DiamondClient, said: Namespace) -> int:
    """Let a held task go on."""
    found = groups.of_task_or_group(lambda: client.release(said.task), lambda: groups.act(client, said, "release"))
    if said.json:
        as_json(found)
    elif isinstance(found, Group):
        say(groups.told(found, "release"))
    else:
        say(f"{found.name} goes on.")
    return DONE


def execute(client: DiamondClient, said: Namespace) -> int:
    """Look around; what the program printed, as it printed it."""
    done = client.execute(said.site, said.command)
    if said.json:
        as_json(done)
    else:
        sys.stdout.write(done.stdout)
        sys.stderr.write(done.stderr)
        sys.stdout.flush()
        if done.cut:
            complain("The output is longer than 32 KiB; the rest was left out.")
        if done.timed_out:
            complain("The command was ended after 20 s.")
    return DONE if done.exit == 0 else FAILED


def put_file(client: DiamondClient, said: Namespace) -> int:
    """Put one file into the work folder."""
    local = Path(said.local).expanduser()
    try:
        size = local.stat().st_size
        if size > PUT_BYTES:
            raise InvalidRequest(
                f"{local} has {size:,} bytes; at most {PUT_BYTES:,} can be put this way. Use scp or Globus for more."
            )
        data = local.read_bytes()
    except OSError as problem:
        raise InvalidRequest(f"{local} cannot be read: {problem.strerror or problem}.") from problem
    done = client.put_file(said.site, said.to or local.name, data, replace=said.replace)
    if said.json:
        as_json(done)
    else:
        say(f"{done.path} at {done.site}: {done.bytes:,} bytes{', replaced' if done.replaced else ''}.")
    return DONE


def preflight(client: DiamondClient, said: Namespace) -> int:
    """Try each site for real."""
    names = said.site or [site.site for site in client.sites().sites]
    found: list[Preflight] = []
    for name in names:
        done = client.preflight(name)
        found.append(done)
        if not said.json:
            print_checks(name, done.checks)
    if said.json:
        as_json(found)
    return FAILED if any(done.answer == "fail" for done in found) else DONE


def print_checks(subject: str, checks: tuple[Check, ...]) -> None:
    """One line a check."""
    for check in checks:
        name = f"{subject}: {check.name}" if subject else check.name
        say(f"{MARKS[check.answer]}  {name.ljust(22)}  {check.sentence}")
    sys.stdout.flush()


def smoke(client: DiamondClient, said: Namespace) -> int:
    """One real job, verified through accounting, and over at the end whatever happened."""
    if not said.yes and not _agreed(said.site):
        say("Nothing was sent.")
        return FAILED
    task = client.smoke(said.site, str(uuid.uuid4())).task
    try:
        task = _wait(client, task, said.wait)
        accounted = _verify(client, task)
    finally:
        task = _over(client, task)
    verdict = _verdict(task, accounted)
    if said.json:
        as_json({"task": task, "accounting": accounted, "verdict": verdict})
    else:
        print_task(task)
        print_checks("", (verdict,))
    return FAILED if verdict.answer == "fail" else DONE


def _agreed(site: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidRequest("smoke submits a real job and asks first; add --yes where nobody can answer.")
    sys.stdout.write(f"Submit a real job of 1 CPU and at most 5 minutes to {site}? It may be charged. [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _wait(client: DiamondClient, task: Task, seconds: float) -> Task:
    """Until it has ended; a job that has not started in time is cancelled."""
    deadline = time.monotonic() + seconds
    cursor = client.events(-1).cursor
    while not (task := client.task(task.id)).state.terminal:
        started = task.attempt is not None and task.attempt.started_at is not None
        if time.monotonic() > deadline and not started:
            return client.cancel(task.id)
        if time.monotonic() > deadline + 420:
            return client.cancel(task.id)
        cursor = client.events(cursor, wait_s=2.0).cursor
    return task


def _verify(client: DiamondClient, task: Task) -> Accounted:
    """What accounting says, once it knows the job's last word, or after a minute what it knows."""
    deadline = time.monotonic() + ACCOUNTING_S
    while True:
        found = client.accounted(task.id)
        settled = any(row.state.terminal for row in found.rows)
        if found.job is None or (found.rows and (settled or not task.state.terminal)) or time.monotonic() > deadline:
            return found
        time.sleep(1.0)


def _over(client: DiamondClient, task: Task) -> Task:
    """No smoke job is left behind."""
    try:
        task = client.task(task.id)
        if not task.state.terminal:
            task = client.cancel(task.id)
            deadline = time.monotonic() + 30
            while not task.state.terminal and time.monotonic() < deadline:
                time.sleep(0.5)
                task = client.task(task.id)
    except Conflict:
        raise
    except DiamondError as problem:
        complain(f"Whether {task.name} has ended is not known: {problem.message} It ends by itself after 5 minutes.")
    return task


def _verdict(task: Task, accounted: Accounted) -> Check:
    where = place_text(accounted.site, task.attempt.partition if task.attempt else None)
    if accounted.job is None:
        return Check(name="smoke", answer="fail", sentence=f"{where} did not take the job: {task.cause or task.next}")
    if not accounted.rows:
        said = " ".join(accounted.notes) or "it does not know the job"
        return Check(name="smoke", answer="fail", sentence=f"Job {accounted.job} was sent; accounting: {said}")
    row = accounted.rows[0]
    if task.state is State.COMPLETED and row.state is State.COMPLETED:
        said = f"Job {accounted.job} ran on {where}, and accounting says {row.raw_state}."
        return Check(name="smoke", answer="ok", sentence=said)
    if task.state is State.CANCELLED or task.cancel_requested_by:
        said = (
            f"Job {accounted.job} is known to accounting ({row.raw_state}) but did not start in time, so it was "
            f"cancelled: {where} is busy. The way there works."
        )
        return Check(name="smoke", answer="warn", sentence=said)
    said = f"Job {accounted.job} ended as {LOOK[task.state].word}, accounting says {row.raw_state}."
    return Check(name="smoke", answer="fail", sentence=f"{said} {task.cause} {task.next}".strip())
