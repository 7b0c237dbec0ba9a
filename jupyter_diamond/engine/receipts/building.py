"""The receipt of an attempt from what was read of it. Pure."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.data import Dataset
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.manifest import Manifest
from jupyter_diamond.model.receipt import (
    Code,
    Decided,
    Earlier,
    Ended,
    Input,
    LogTail,
    Moved,
    RanIn,
    Receipt,
    Took,
    Where,
)
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.model.task import Attempt, Task, TaskRequest
from jupyter_diamond.model.transfer import Transfer

from .kept import Left, values_of

FIRST = 20
"""So many kept files are in a receipt itself."""
_PACKAGES = 200


@dataclass(frozen=True)
class Found:
    """What was read for a receipt; None and empty where there is nothing, and ``unknown`` says what is not known."""

    request: TaskRequest
    decision: Decision | None = None
    left: Left | None = None
    log: LogTail = field(default_factory=LogTail)
    transfers: tuple[Transfer, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    unknown: tuple[str, ...] = ()


def receipt_of(task: Task, attempt: Attempt, found: Found, *, now: datetime) -> Receipt:
    """All that is known of it."""
    left = found.left
    manifest = left.manifest if left is not None else None
    kept = left.kept if left is not None else ()
    return Receipt(
        task=task.id, name=task.name, attempt=attempt.n, attempts=len(task.attempts), by=task.by, member=task.member,
        outcome=attempt.state.outcome or (attempt.job_state.outcome if attempt.job_state is not None else None),
        params=manifest.params if manifest is not None else task.member.params if task.member is not None else {},
        where=_where(attempt, left), ended=_ended(attempt, manifest), took=_took(attempt, manifest),
        ran_in=_ran_in(found.request, manifest), code=_code(task, found.request),
        decided=_decided(task, attempt, found.decision), asked=task.envelope, inputs=_inputs(task, attempt, found),
        transfers=tuple(_moved(each) for each in found.transfers),
        values=tuple(values_of(manifest)) if manifest is not None else (),
        missing=tuple(f"{each.name}: {each.why}" for each in manifest.missing) if manifest is not None else (),
        files=kept[:FIRST], files_count=len(kept), files_bytes=sum(each.bytes for each in kept),
        files_note=_note(task, left), log=found.log, before=_before(task, attempt),
        actions=actions(task, attempt, left, found.transfers), unknown=found.unknown, made_at=now,
    )  # fmt: skip


def _where(attempt: Attempt, left: Left | None) -> Where:
    return Where(
        site=attempt.site, partition=attempt.partition, account=attempt.account, size=attempt.size,
        job=attempt.native.id if attempt.native is not None else "", nodes=attempt.nodes, folder=attempt.folder or "",
        host=left.manifest.host if left is not None else "", run_folder=(left.folder or "") if left is not None else "",
    )  # fmt: skip


def _ended(attempt: Attempt, manifest: Manifest | None) -> Ended:
    return Ended(
        state=attempt.state, job=attempt.job_state, raw=attempt.raw_state, exit_code=attempt.exit_code,
        signal=attempt.signal, failure=attempt.failure, cause=attempt.cause, next=attempt.next,
        evidence=attempt.evidence, error=manifest.error if manifest is not None else None,
    )  # fmt: skip


def _took(attempt: Attempt, manifest: Manifest | None) -> Took:
    ran_s = attempt.ran_s
    if ran_s is None and attempt.started_at is not None and attempt.ended_at is not None:
        ran_s = (attempt.ended_at - attempt.started_at).total_seconds()
    waited = None
    if attempt.submitted_at is not None and attempt.started_at is not None:
        waited = max(0.0, (attempt.started_at - attempt.submitted_at).total_seconds())
    size, rss = attempt.size, attempt.max_rss_bytes
    if rss is None and manifest is not None:
        rss = manifest.max_rss_bytes
    hours = None if ran_s is None else ran_s * size.nodes / 3600.0
    return Took(
        created_at=attempt.created_at, submitted_at=attempt.submitted_at, started_at=attempt.started_at,
        cell_started_at=from_epoch(manifest.started_at) if manifest is not None else attempt.cell_started_at,
        cell_ended_at=from_epoch(manifest.ended_at) if manifest is not None else None, ended_at=attempt.ended_at,
        waited_s=waited, ran_s=ran_s, max_rss_bytes=rss,
        core_hours=None if hours is None else hours * size.cpus,
        gpu_hours=None if hours is None or not size.gpus else hours * size.gpus, charge=attempt.charge,
    )  # fmt: skip


def _ran_in(request: TaskRequest, manifest: Manifest | None) -> RanIn:
    env = request.envelope.env
    digest = ""
    if env is not None and env.requirements is not None:
        digest = f"sha256:{hashlib.sha256(env.requirements.encode()).hexdigest()}"
    said: dict[str, Any] = {}
    if manifest is not None:
        packages = dict(list(manifest.packages.items())[:_PACKAGES])
        said = {"python": manifest.python, "packages": packages, "modules": manifest.modules}
    return RanIn(env=env.name if env is not None else "", digest=digest, **said)


def _code(task: Task, request: TaskRequest) -> Code:
    python = ".".join(map(str, request.python.version))
    return Code(
        language=task.language, source=task.source, digest=task.digest, kernel_python=python, notebook=task.notebook
    )


def _decided(task: Task, attempt: Attempt, decision: Decision | None) -> Decided | None:
    if decision is None:
        return None
    return Decided(
        id=f"{task.id}/{attempt.n}", made_at=decision.made_at, sentence=decision.sentence, mode=decision.mode,
        objective=decision.objective, candidates=len(decision.candidates), snapshot_id=decision.snapshot_id,
        feasible=sum(each.feasible for each in decision.candidates),
    )  # fmt: skip


def _inputs(task: Task, attempt: Attempt, found: Found) -> tuple[Input, ...]:
    """What was staged, with where it came from and its digest where that is known."""
    asked = {each.name: each for each in task.envelope.stage_in}
    datasets = {each.name: each for each in found.datasets}
    moved = {each.id: each for each in found.transfers}
    inputs = []
    for each in attempt.staged:
        dataset, transfer = datasets.get(each.name), moved.get(each.transfer or "")
        source = asked[each.name].source if each.name in asked else None
        if transfer is not None:
            source = transfer.request.source
        elif source is None and dataset is not None and dataset.replicas:
            source = next((copy for copy in dataset.replicas if copy.given), dataset.replicas[0]).location
        size = dataset.size if dataset is not None else None
        digest = (size.digest if size is not None else None) or (transfer.digest if transfer is not None else None)
        inputs.append(Input(
            name=each.name, path=each.path, source=source, digest=digest or "", transfer=each.transfer, why=each.why,
            bytes=size.bytes if size is not None else None,
        ))  # fmt: skip
    return tuple(inputs)


def _moved(each: Transfer) -> Moved:
    return Moved(
        id=each.id, purpose=each.request.purpose, source=each.request.source, destination=each.request.destination,
        mover=each.mover, state=each.state, bytes_done=each.progress.bytes_done, files_done=each.progress.files_done,
        cause=each.cause, digest=each.digest or "",
    )  # fmt: skip


def _note(task: Task, left: Left | None) -> str:
    if left is None:
        return ""
    patterns = [each.pattern for each in task.envelope.stage_out]
    none = [patterns[at] for at in left.manifest.files_unmatched if at < len(patterns)]
    nothing = f"nothing is named by {', '.join(none)}" if none else ""
    return "; ".join(part for part in (left.note, nothing) if part)


def _before(task: Task, attempt: Attempt) -> tuple[Earlier, ...]:
    return tuple(
        Earlier(
            n=each.n, site=each.site, partition=each.partition, job=each.native.id if each.native is not None else "",
            step=each.step, why=each.why, state=each.state, failure=each.failure, cause=each.cause,
            started_at=each.started_at, ended_at=each.ended_at, charge=each.charge,
        )
        for each in task.attempts if each.n < attempt.n
    )  # fmt: skip


def ref_of(task: Task) -> str:
    """As a notebook names it: ``fit``, ``fit[3]``."""
    return task.name if task.member is None else f"{task.member.name}[{task.member.index}]"


def actions(task: Task, attempt: Attempt, left: Left | None, transfers: tuple[Transfer, ...] = ()) -> tuple[str, ...]:
    """What can be done next, the most useful first, as lines of a notebook."""
    ref = shlex.quote(ref_of(task))
    lines = [f"%diamond transfer again {each.id}" for each in transfers if each.state == "failed"][:2]
    lines += [f"%diamond transfer {each.id}" for each in transfers if not each.ended][:2]
    if attempt.state.outcome not in (None, Outcome.OK):
        lines.append(f"%diamond logs {ref}")
    if left is not None and left.manifest.values:
        lines.append(f"%diamond result {ref}")
    if left is not None and left.kept:
        patterns = [each.pattern for each in task.envelope.stage_out]
        named = [at for each in left.kept for at in each.patterns if at < len(patterns)]
        lines.append(f"%diamond fetch {ref} {shlex.quote(patterns[named[0]] if named else '**')}")
        lines.append(f"%diamond files {ref}")
    if not attempt.state.terminal and attempt.state is not State.STAGING_OUT:
        lines.append(f"%diamond task {ref}")
    lines += [f"%diamond explain {ref}", f"%diamond export {ref}"]
    return tuple(lines[:8])
