"""Tasks, groups and decisions as a model reads them: what matters, in few words, and what can be done next."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jupyter_diamond.engine.heal.steps import attempts_left, moves_left
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.states import Phase, State
from jupyter_diamond.model.task import Attempt, Task, TaskSummary
from jupyter_diamond.placement import words
from jupyter_diamond.placement.estimate_words import starts_of
from jupyter_diamond.placement.explain_rows import groups as grouped
from jupyter_diamond.placement.explain_rows import next_best, refusals

from .answers import UNKNOWN, age, at, foreign, span_of, time_limit, without_empty, word
from .needs import as_parameters

STATES = {
    "waiting": "it is stored here, and on its way to its site",
    "staging_in": "what it needs is being copied to the site",
    "submitting": "it is being handed to the scheduler",
    "submit_unknown": "the scheduler may have taken it: it is looked for, never sent twice",
    "pending": "it waits in the site's queue",
    "configuring": "its nodes are being made ready",
    "running": "it runs",
    "suspended": "the site has stopped it for a while",
    "completing": "it is over, and not yet at its end for the scheduler: this is no end",
    "staging_out": "its job is over, and its files are being brought away: this is no end",
    "unknown": "nobody can say now; it is being asked. This is not a failure",
    "completed": "it ended well",
    "failed": "it ended badly by its own doing",
    "cancelled": "somebody ended it",
    "timeout": "it was ended at its time limit",
    "out_of_memory": "it was ended for its memory",
    "node_fail": "its node failed",
    "preempted": "it gave way to another job",
    "rejected": "the scheduler did not take it",
    "deadline": "it could not end by its deadline",
    "lost": "no source knows it any more",
}
"""What each state means, for who reads states."""


def size_words(size: Size | None) -> str:
    """Nodes, GPUs, cores and memory; unknown before it was sized."""
    return UNKNOWN if size is None else words.size(size)


def charge_view(charge: Charge | None) -> dict[str, Any] | str:
    """What an attempt is charged; nobody pays on this machine."""
    if charge is None:
        return "nothing is charged there"
    if charge.actual is not None:
        return {"actual": charge.actual, "unit": charge.unit}
    if charge.predicted is None and charge.at_most is None:
        return UNKNOWN
    return {"predicted": charge.predicted, "at_most": charge.at_most, "unit": charge.unit}


def attempt_view(attempt: Attempt, now: datetime) -> dict[str, Any]:
    """One attempt."""
    started = attempt.started_at
    return without_empty({
        "n": attempt.n,
        "step": attempt.step if attempt.step != "first" else None,
        "why": foreign(attempt.why, "why this attempt was made", 300),
        "site": attempt.site,
        "partition": word(attempt.partition) if attempt.partition else None,
        "account": word(attempt.account) if attempt.account else None,
        "job": word(attempt.native) if attempt.native else None,
        "state": attempt.state.value,
        "scheduler_says": word(attempt.raw_state) if attempt.raw_state else None,
        "reason_to_wait": word(attempt.reason, 120) if attempt.reason else None,
        "size": size_words(attempt.size),
        "time_limit": time_limit(attempt.size.walltime_s),
        "submitted_at": at(attempt.submitted_at),
        "expected_start": at(attempt.expected_start_at) if started is None else None,
        "started_at": at(started),
        "ended_at": at(attempt.ended_at),
        "waited": span_of((started - attempt.submitted_at).total_seconds())
        if started and attempt.submitted_at
        else None,
        "ran": span_of(attempt.ran_s) if attempt.ran_s is not None else None,
        "runs_since": age(started, now) if started and attempt.ended_at is None else None,
        "exit_code": attempt.exit_code,
        "signal": attempt.signal,
        "memory_peak_bytes": attempt.max_rss_bytes,
        "failure": attempt.failure,
        "cause": foreign(attempt.cause, "why the attempt ended", 600),
        "trouble": foreign(attempt.trouble, "why the site cannot be asked; it says nothing about the job", 400),
        "charge": charge_view(attempt.charge),
        "last_heard_of": age(attempt.last_seen_at, now) + " ago" if attempt.last_seen_at else None,
    })  # fmt: skip


def task_view(task: Task, now: datetime, *, whole: bool = False) -> dict[str, Any]:
    """One task. ``whole``: with all attempts and what it was asked with."""
    newest = task.attempt
    return without_empty({
        "task": task.id,
        "name": task.name,
        "phase": task.phase.value,
        "state": task.state.value,
        "meaning": STATES[task.state.value],
        "outcome": task.outcome.value if task.outcome else None,
        "cause": foreign(task.cause, "why the task ended", 600),
        "advice": foreign(task.next, "what is advised", 400),
        "asked_by": task.by or "the user",
        "held_by": task.held_by,
        "cancel_requested_by": task.cancel_requested_by,
        "created_at": at(task.created_at),
        "ended_at": at(task.ended_at),
        "why_here": task.why_here,
        "now_at": attempt_view(newest, now) if newest and not whole else None,
        "attempts": [attempt_view(each, now) for each in task.attempts] if whole else len(task.attempts),
        "attempts_left": attempts_left(task),
        "moves_left": moves_left(task),
        "outputs": list(task.outputs) if whole else None,
        "source": task.source[:4000] if whole else None,
        "cursor": task.version,
        "next_actions": next_actions(task),
    })  # fmt: skip


def next_actions(task: Task) -> list[str]:
    """What may be done now, as calls."""
    ref, state = task.id, task.state
    if task.phase is Phase.ENDED:
        if state is State.COMPLETED:
            return [f"get_result_manifest(task='{ref}')"]
        more = {
            State.OUT_OF_MEMORY: ["submit_task(… with a larger memory …)"],
            State.TIMEOUT: ["submit_task(… with a longer time …)"],
        }
        return [f"tail_log(task='{ref}')", *more.get(state, []), f"explain_decision(task='{ref}')"]
    if task.held_by:
        return [f"release_task(task='{ref}')", f"cancel_task(task='{ref}')"]
    if state is State.RUNNING:
        return [
            f"register_continuation(task='{ref}') and end your turn",
            f"tail_log(task='{ref}')",
            f"cancel_task(task='{ref}')",
        ]
    return [
        f"register_continuation(task='{ref}') and end your turn",
        f"replan_task(task='{ref}')",
        f"cancel_task(task='{ref}')",
    ]


def line_view(task: TaskSummary) -> dict[str, Any]:
    """One row of a list."""
    return without_empty({
        "task": task.id, "name": task.name, "member": task.index, "state": task.state.value,
        "site": task.site, "partition": word(task.partition) if task.partition else None,
        "job": word(task.native_id) if task.native_id else None,
        "created_at": at(task.created_at), "started_at": at(task.started_at), "ended_at": at(task.ended_at),
        "time_limit": time_limit(task.walltime_s) if task.walltime_s else None,
        "attempts": task.attempts,
        "cause": foreign(task.cause, "why the task ended", 200),
        "trouble": foreign(task.trouble, "why the site cannot be asked", 200),
    })  # fmt: skip


def group_view(group: Group) -> dict[str, Any]:
    """One group, as its members are counted."""
    return without_empty({
        "group": group.id,
        "name": group.name,
        "phase": group.phase.value,
        "outcome": group.outcome.value if group.outcome else None,
        "members": group.members,
        "states": {state.value: count for state, count in group.states.items()},
        "round": f"{group.round} of {group.rounds}",
        "at_once": group.at_once,
        "params": list(group.params),
        "places": [
            without_empty({
                "site": share.site, "partition": word(share.partition) if share.partition else None,
                "waiting": share.waiting, "running": share.running, "ended": share.ended,
                "first_starts_in": span_of(share.wait_s) if share.wait_s is not None else None,
            })
            for share in group.shares
        ],
        "charges": [charge_view(charge) for charge in group.charges],
        "given_up": [f"{each.condition}: {each.why}" for each in group.relaxed],
        "cause": foreign(group.cause, "why members ended badly", 600),
        "advice": foreign(group.next, "what is advised", 400),
        "held_by": group.held_by,
        "why_here": group.why_here,
        "created_at": at(group.created_at),
        "ended_at": at(group.ended_at),
        "cursor": group.version,
        "next_actions": group_actions(group),
    })  # fmt: skip


def group_actions(group: Group) -> list[str]:
    """What may be done with a group now, as calls."""
    if group.phase is Phase.ENDED:
        return [f"list_tasks(group='{group.id}')", "get_result_manifest(task='<a member>')"]
    return [
        f"register_continuation(task='{group.id}') and end your turn",
        f"list_tasks(group='{group.id}')",
        f"cancel_task(task='{group.id}')",
    ]


def decision_view(decision: Decision, now: datetime, *, candidates: int = 6) -> dict[str, Any]:
    """Where it would go, or went, and why; runners-up; refusals by reason."""
    choice = decision.choice
    best = sorted((each for each in decision.candidates if each.feasible), key=lambda each: each.rank or 10_000)
    return without_empty({
        "feasible": choice is not None,
        "sentence": as_parameters(decision.sentence),
        "made": f"{age(decision.made_at, now)} ago",
        "mode": decision.mode,
        "ranking": as_parameters(decision.ranking),
        "objective": decision.objective,
        "chosen": candidate_view(choice) if choice is not None else None,
        "next_best": [as_parameters(line) for line in next_best(decision)[:5]],
        "candidates": [candidate_view(each) for each in best if each is not choice][:candidates],
        "refused": [as_parameters(line) for line in refusals(decision)[:12]],
        "not_known": [as_parameters(line) for line in grouped(decision, "unknown")[:8]],
        "warnings": [as_parameters(line) for line in decision.warnings],
        "tie_break": decision.tie_break,
    })  # fmt: skip


def candidate_view(candidate: Candidate) -> dict[str, Any]:
    """One place with its estimate."""
    estimate = candidate.estimate
    charge: Any = None
    if estimate is not None:
        charge = UNKNOWN if estimate.charge is None else {"amount": estimate.charge, "unit": estimate.charge_unit}
        charge = charge if estimate.charged else "nothing is charged there"
    return without_empty({
        "place": f"{candidate.site}:{word(candidate.partition)}",
        "account": word(candidate.account) if candidate.account else None,
        "size": size_words(candidate.size),
        "time_limit": time_limit(candidate.size.walltime_s) if candidate.size else None,
        "starts": starts_of(candidate),
        "starts_in_s": estimate.forecast.wait_s if estimate else None,
        "done_in": (span_of(estimate.total_s) if estimate.run_s is not None else UNKNOWN) if estimate else None,
        "charge": charge,
        "facts_are": f"{span_of(candidate.record_age_s)} old",
        "simulated": candidate.simulated or None,
    })  # fmt: skip
