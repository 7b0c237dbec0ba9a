"""What a card says about a task, as plain data: the same for the live widget, static HTML and plain text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict

from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.states import Phase, ReasonClass, State
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.placement import words
from jupyter_diamond.placement.comparison import blockers
from jupyter_diamond.placement.estimate_words import charge, starts_of

from .charge_text import charge_fact, cost_text
from .staging_view import StagingRow, row_text, staging_rows
from .vocabulary import GLYPH, LOOK, byte_size, clock, part_text, place_text, size_text, span_of_time, wall_clock

_REASON = {
    ReasonClass.WILL_RUN: "will run",
    ReasonClass.WAITS_ON_YOU: "waits on you",
    ReasonClass.NEVER: "will never run",
    ReasonClass.UNKNOWN: "",
}


class CandidateRow(TypedDict):
    """One row of *why here*."""

    place: str
    size: str
    starts: str
    charge: str
    reason: str
    chosen: bool


class CapturedRow(TypedDict):
    """One captured name."""

    name: str
    type: str
    travels: str
    size: str
    detail: str


class CardView(TypedDict):
    """All that a card shows, ready to print. Times that tick are seconds since 1970."""

    task_id: str
    name: str
    state: str
    glyph: str
    tone: str
    word: str
    where: str
    job: str
    size: str
    started_at: float | None
    elapsed_s: float | None
    limit_s: int | None
    charge: str
    timing: str
    sentence: str
    action: str
    trouble: str
    staging: list[StagingRow]
    bound: str
    note: str
    why_here: str
    candidates: list[CandidateRow]
    captured: list[CapturedRow]
    facts: list[list[str]]
    ended: bool
    result_ready: bool
    can_cancel: bool
    cancelling: bool
    simulated: bool
    as_of: str
    now: float


@dataclass(frozen=True)
class KernelSide:
    """What only this kernel knows about a task.

    ``outage`` says that our server does not answer, ``bound`` names what is in the kernel, ``note`` adds a sentence;
    ``transfers`` are those that it was told of, by their ids.
    """

    result_here: bool = False
    outage: str = ""
    bound: tuple[str, ...] = ()
    note: str = ""
    transfers: Mapping[str, Transfer] = field(default_factory=dict)


def card_view(
    task: Task, *, now: datetime, decision: Decision | None = None, here: KernelSide | None = None
) -> CardView:
    """The view of a task."""
    here, attempt = here or KernelSide(), task.attempt
    ended = task.state.terminal
    state = _shown(task, here)
    look, ready = LOOK[state], here.result_here or _ready(task)
    return CardView(
        task_id=task.id,
        name=task.name,
        state=state.value,
        glyph=GLYPH[look.mark],
        tone=look.tone,
        word=_word(task, state, look.word, result_here=ready),
        where=_where(state, attempt),
        job=_job(task, attempt),
        size=size_text(attempt.size) if attempt else "",
        started_at=_started_at(task, attempt),
        elapsed_s=_elapsed(attempt) if ended else None,
        limit_s=attempt.size.walltime_s if attempt else None,
        charge=cost_text(task) if ended else "",
        timing=_timing(task, attempt, now),
        sentence=_sentence(task, attempt, now),
        action=task.next,
        trouble=here.outage or (attempt.trouble if attempt and not ended else ""),
        staging=staging_rows(attempt, here.transfers),
        bound=", ".join(here.bound),
        note=here.note if ended else f"{_again(attempt)} {here.note}".strip(),
        why_here=task.why_here,
        candidates=_candidates(decision),
        captured=_captured(task),
        facts=_facts(task, attempt, now),
        ended=ended,
        result_ready=ready,
        can_cancel=not ended and task.cancel_requested_by is None,
        cancelling=not ended and task.cancel_requested_by is not None,
        simulated=bool(decision and decision.choice and decision.choice.simulated),
        as_of=wall_clock(now, now),
        now=now.timestamp(),
    )


def headline(view: CardView) -> str:
    """The first line as text: ``fit   ✓ succeeded on delta:cpu · job 812 · 4 cores · 00:41``."""
    return f"{view['name']}   {view['glyph']} " + " · ".join((f"{view['word']}{view['where']}", *facts(view)))


def facts(view: CardView) -> list[str]:
    """What follows the state in a card that does not move; a state that may change carries its time."""
    found = (
        view["job"],
        view["size"],
        "" if view["elapsed_s"] is None else clock(view["elapsed_s"]),
        view["charge"],
        f"{view['bound']} in the kernel" if view["bound"] else "",
        "simulated" if view["simulated"] else "",
        "" if view["ended"] else f"as of {view['as_of']}",
    )
    return [fact for fact in found if fact]


def last_line(view: CardView) -> str:
    """The last line as text: what went wrong and what to do, else why it ran here."""
    if view["trouble"]:
        return view["trouble"]
    if view["staging"]:
        return "\n".join(row_text(row) for row in view["staging"])
    if view["ended"] and view["sentence"]:
        return what_and_next(view)
    if view["note"]:
        return view["note"]
    return f"why here: {view['why_here']}" if view["why_here"] else view["timing"]


def what_and_next(view: CardView) -> str:
    """What happened and what to do, as two sentences: a cause may be an error's own words, without a full stop."""
    said = view["sentence"]
    if said and view["action"] and said[-1] not in ".!?:":
        said += "."
    return f"{said} {view['action']}".strip()


def _shown(task: Task, here: KernelSide) -> State:
    """A result may overtake the scheduler's word: nothing runs any more, how it ended is not known yet."""
    overtaken = here.result_here and not task.state.terminal and task.state is not State.STAGING_OUT
    return State.COMPLETING if overtaken else task.state


def _started_at(task: Task, attempt: Attempt | None) -> float | None:
    """When the clock that ticks on the card began; None while none ticks."""
    if task.phase is not Phase.RUNNING or attempt is None or attempt.started_at is None or attempt.ended_at is not None:
        return None
    return attempt.started_at.timestamp()


def _word(task: Task, state: State, word: str, *, result_here: bool) -> str:
    if state is State.CANCELLED and task.cancel_requested_by:
        return f"cancelled by {task.cancel_requested_by}"
    if task.held_by is not None and state is State.WAITING:
        return f"held by {task.held_by}, to be sent"
    if state is State.COMPLETING and result_here:
        return "finishing, the result is here"
    return word


def _again(attempt: Attempt | None) -> str:
    """Why this attempt follows another one."""
    return attempt.why if attempt is not None else ""


def _ready(task: Task) -> bool:
    return bool(task.attempt and task.attempt.result_ready)


def _where(state: State, attempt: Attempt | None) -> str:
    if attempt is None:
        return ""
    joint = {State.SUBMITTING: " to ", State.STAGING_IN: " to ", State.WAITING: " to "}.get(state, " on ")
    return joint + place_text(attempt.site, attempt.partition)


def _job(task: Task, attempt: Attempt | None) -> str:
    """Its job, and which part of the work that is: ``job 812 · segment 2 of 5``."""
    job = f"job {attempt.native.id}" if attempt and attempt.native else ""
    return " · ".join(said for said in (job, part_text(task, attempt)) if said)


def _elapsed(attempt: Attempt | None) -> float | None:
    if attempt is None or attempt.started_at is None or attempt.ended_at is None:
        return None
    return max(0.0, (attempt.ended_at - attempt.started_at).total_seconds())


def _timing(task: Task, attempt: Attempt | None, now: datetime) -> str:
    if attempt is None:
        return ""
    if attempt.started_at is not None:
        since = task.created_at if attempt.n == 1 else attempt.created_at
        waited = (attempt.started_at - since).total_seconds()
        after = f"{span_of_time(waited)} after submit" if waited >= 1 else "at once"
        return f"started {wall_clock(attempt.started_at, now)}, {after}"
    if task.phase is Phase.PENDING:
        said = _REASON[attempt.reason_class] if attempt.reason_class is ReasonClass.WILL_RUN else ""
        reason = f" ({attempt.reason})" if said and attempt.reason else ""
        parts = (_forecast(attempt, now), said + reason, f"since {wall_clock(attempt.state_since, now)}")
        return " · ".join(part for part in parts if part)
    if task.phase is Phase.UNKNOWN:
        return ""  # the sentence says since when
    if task.state.terminal:
        return f"submitted {wall_clock(task.created_at, now)}, never started"
    return f"since {wall_clock(attempt.state_since, now)}"


def _forecast(attempt: Attempt, now: datetime) -> str:
    """The site's own expectation, while it still lies ahead."""
    if attempt.expected_start_at is None or attempt.expected_start_at <= now:
        return ""
    return f"starts in about {span_of_time((attempt.expected_start_at - now).total_seconds())}, says {attempt.site}"


def _sentence(task: Task, attempt: Attempt | None, now: datetime) -> str:
    if task.state.terminal or attempt is None:
        return task.cause if _adds(task) else ""
    if task.state is State.PENDING:
        # That it will run is no news and stands beside the times; what needs the user's eye stands alone.
        if attempt.reason_class is ReasonClass.WILL_RUN:
            return task.cause
        said = _REASON[attempt.reason_class] if attempt.reason_class else ""
        reason = f"{attempt.site} says {attempt.reason}" if attempt.reason else ""
        return task.cause or ": ".join(part for part in (said, reason) if part)
    if task.state is State.STAGING_IN and task.envelope.env is not None and not attempt.staged:
        return task.cause or f"The environment {task.envelope.env.name} is being made ready there."
    if task.state in (State.UNKNOWN, State.SUBMIT_UNKNOWN):
        return task.cause or f"asking {attempt.site} since {wall_clock(attempt.state_since, now)}"
    return task.cause


def _adds(task: Task) -> bool:
    """False when the cause repeats the state's own words."""
    return task.cause.rstrip(".").lower() != f"cancelled by {task.cancel_requested_by}".lower()


def _candidates(decision: Decision | None) -> list[CandidateRow]:
    if decision is None:
        return []
    order = sorted(
        range(len(decision.candidates)),
        key=lambda i: (
            i != decision.chosen,
            not decision.candidates[i].feasible,
            decision.candidates[i].rank or 1 << 30,
        ),
    )
    return [_candidate(decision.candidates[i], chosen=i == decision.chosen) for i in order]


def _candidate(candidate: Candidate, *, chosen: bool) -> CandidateRow:
    against = [verdict.sentence for verdict in blockers(candidate)]
    if not candidate.feasible:
        starts = "not here" if any(v.answer == "fail" for v in candidate.verdicts) else "not known"
    elif candidate.estimate is not None:
        starts = starts_of(candidate)
    elif candidate.starts_now:
        starts = "now"
    elif candidate.queue_ahead is not None:
        starts = f"after {candidate.queue_ahead} others"
    else:
        starts = "later"
    rank = f"feasible, rank {candidate.rank}" if candidate.rank else "feasible"
    return CandidateRow(
        place=place_text(candidate.site, candidate.partition),
        size=_size(candidate.size),
        starts=starts,
        charge="" if candidate.estimate is None or candidate.estimate.charge is None else charge(candidate.estimate),
        reason=against[0] if against else "chosen" if chosen else rank,
        chosen=chosen,
    )


def _size(size: Size | None) -> str:
    return "" if size is None else f"{size_text(size)}, {words.duration(size.walltime_s)}"


def _captured(task: Task) -> list[CapturedRow]:
    return [
        CapturedRow(
            name=item.name,
            type=item.type,
            travels=item.travels,
            size="" if item.bytes is None else byte_size(item.bytes),
            detail=item.detail,
        )
        for item in task.captured
    ]


def _scheduler_word(task: Task, attempt: Attempt) -> str:
    reason = attempt.reason if task.phase is Phase.PENDING else ""
    return " ".join(part for part in (attempt.raw_state, reason) if part)


def _facts(task: Task, attempt: Attempt | None, now: datetime) -> list[list[str]]:
    """Label and text, for the details. Only what is known is listed."""
    rows = [["task", task.id], ["submitted", wall_clock(task.created_at, now)]]
    if attempt is None:
        return rows
    optional = (
        ("started", attempt.started_at and wall_clock(attempt.started_at, now)),
        ("ended", attempt.ended_at and wall_clock(attempt.ended_at, now)),
        ("limit", clock(attempt.size.walltime_s)),
        ("account", attempt.account),
        ("charge", charge_fact(attempt)),
        ("nodes", attempt.nodes),
        ("scheduler says", _scheduler_word(task, attempt)),
        ("exit code", None if attempt.exit_code is None else str(attempt.exit_code)),
        ("signal", None if attempt.signal is None else str(attempt.signal)),
        ("peak memory", None if attempt.max_rss_bytes is None else byte_size(attempt.max_rss_bytes)),
        ("folder at the site", attempt.folder),
        ("attempts", str(len(task.attempts)) if len(task.attempts) > 1 else None),
        ("evidence", "\n".join(attempt.evidence)),
    )
    return rows + [[label, str(text)] for label, text in optional if text]
