"""A task's story: one line for each event of note, in plain words and on the reader's own clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from jupyter_diamond.model.attempt_files import EXIT_CONTINUED
from jupyter_diamond.model.event import Event, EventType
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task

from .client import DiamondClient
from .vocabulary import LOOK, clock, part_text, place_text, size_text

_Data = Mapping[str, Any]


PAGE = 500


def every_event(client: DiamondClient, task_id: str) -> list[Event]:
    """All events of one task: there are a few dozen at most, in pages."""
    found: list[Event] = []
    while True:
        page = client.task_events(task_id, found[-1].seq if found else 0, limit=PAGE).events
        found += page
        if len(page) < PAGE:
            return found


def story(task: Task, events: Iterable[Event], now: datetime) -> str:
    """Each attempt with the reason for it, then what happened, oldest first."""
    lines = [line for attempt in task.attempts for line in _attempt_lines(task, attempt, now)]
    told = [(event, said) for event, said in _told(task, events) if said]
    return "\n".join([*lines, "", *(f"{moment(event.at, now)}  {said}" for event, said in told)]).strip()


def _attempt_lines(task: Task, attempt: Attempt, now: datetime) -> list[str]:
    ran = ""
    if attempt.started_at is not None:
        seconds = ((attempt.ended_at or now) - attempt.started_at).total_seconds()
        ran = f"{clock(seconds)} of {clock(attempt.size.walltime_s)}"
    parts = [
        place_text(attempt.site, attempt.partition), f"job {attempt.native.id}" if attempt.native else "",
        part_text(task, attempt), size_text(attempt.size), _word(attempt), ran,
    ]  # fmt: skip
    head = f"attempt {attempt.n}  {'  '.join(part for part in parts if part)}"
    return [head, *(f"    {said}" for said in (attempt.why, attempt.cause) if said)]


def _word(attempt: Attempt) -> str:
    left_off = attempt.exit_code == EXIT_CONTINUED and attempt.state is State.FAILED
    return "left off" if left_off else LOOK[attempt.state].word


def _told(task: Task, events: Iterable[Event]) -> Iterable[tuple[Event, str]]:
    """Events with their sentences; many of them do not say which attempt they are about: the newest one then."""
    n, last = 1, ""
    for event in events:
        if event.type == "decision.made":
            n = int(event.data.get("attempt", n))
        says = _SAYS.get(event.type)
        said = "" if says is None else says(event.data, _Of(task, n))
        if said and said != last:
            last = said
            yield event, said


class _Of:
    """What an event is about, beyond its own words."""

    def __init__(self, task: Task, n: int) -> None:
        self.task = task
        self.attempt = task.attempts[n - 1] if n <= len(task.attempts) else None
        self.who = f"attempt {n}" if len(task.attempts) > 1 else "it"
        self.site = self.attempt.site if self.attempt is not None else "its site"

    def its(self, what: str) -> str:
        """``its data``, ``the data of attempt 2``."""
        return f"its {what}" if self.who == "it" else f"the {what} of {self.who}"


def _by(data: _Data) -> str:
    return str(data.get("by") or "somebody")


def _says_state(data: _Data, of: _Of) -> str:
    if data.get("requeued"):
        return f"{of.site} put {of.who} back into its queue"
    words = {
        State.RUNNING.value: "runs", State.SUSPENDED.value: "is suspended", State.CONFIGURING.value: "gets its nodes",
        State.UNKNOWN.value: f"is known neither to queue nor to accounting of {of.site}; asking again",
    }  # fmt: skip
    word = words.get(str(data.get("state")))
    return f"{of.who} {word}" if word else ""


def _says_staging(data: _Data, of: _Of) -> str:
    if data.get("environment"):
        return f"{of.who} waits until its environment {data['environment']} is built at {of.site}"
    names = ", ".join(str(name) for name in data.get("data", ()))
    if names:
        said = "is on its way to" if data.get("transfers") else "is at"
        return f"{of.its('data')} {said} {of.site}: {names}"
    return f"{of.its('job')} is over, and its files are brought away" if data.get("job") else ""


def _says_end(data: _Data, of: _Of) -> str:
    state = State(data.get("state", State.UNKNOWN.value))
    n = int(data.get("attempt", of.attempt.n if of.attempt is not None else 1))
    attempt = of.task.attempts[n - 1] if n <= len(of.task.attempts) else None
    cause = f": {attempt.cause}" if attempt is not None and attempt.cause else ""
    who = f"attempt {n}" if len(of.task.attempts) > 1 else "it"
    return f"{who} ended: {LOOK[state].word if attempt is None else _word(attempt)}{cause}"


def _says_withdrawal(data: _Data, of: _Of) -> str:
    why = data.get("why") or f"{_by(data)} asked to {data.get('then', 'replan')} it"
    return f"{of.who} is taken back from {of.site}: {why}"


def _says_mismatch(data: _Data, of: _Of) -> str:
    return f"{_by(data)} reported that {data.get('site', of.site)} is wrong for it: {data.get('reason', '')}"


def _why(data: _Data, _of: _Of) -> str:
    return str(data.get("why", ""))


_SAYS: dict[EventType, Callable[[_Data, _Of], str]] = {
    "task.created": lambda _data, of: f"`{of.task.name}` was asked for",
    "decision.made": lambda data, of: f"{of.who} goes to {place_text(str(data.get('site')), data.get('partition'))}",
    "attempt.submitted": lambda data, of: f"{of.who} is job {data.get('job', '?')} at {of.site}",
    "attempt.submit_unknown": lambda data, of: f"whether {of.site} has {of.who} is being looked for: {data.get('why')}",
    "attempt.staging": _says_staging,
    "attempt.state_changed": _says_state,
    "attempt.result_ready": lambda _data, of: f"the result of {of.who} is there",
    "attempt.trouble": _why,
    "attempt.terminal": _says_end,
    "task.cancel_requested": lambda data, _of: f"{_by(data)} asked for its end",
    "task.retry": _why, "task.resize": _why, "task.migrate": _why, "task.segment": _why, "task.replanned": _why,
    "task.not_again": lambda data, _of: f"Nothing follows. {data.get('why', '')} {data.get('next', '')}".strip(),
    "task.held": lambda data, _of: f"{_by(data)} held it: nothing of it is submitted",
    "task.released": lambda data, _of: f"{_by(data)} released it",
    "task.withdrawal": _says_withdrawal,
    "task.stays": _why,
    "task.mismatch": _says_mismatch,
}  # fmt: skip


def moment(at: datetime, now: datetime) -> str:
    """To the second, on the reader's own clock; with its date when it is not today's."""
    local = at.astimezone()
    return f"{local:%H:%M:%S}" if local.date() == now.astimezone().date() else f"{local:%-d %b %H:%M:%S}"
