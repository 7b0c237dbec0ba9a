"""What a batch script says, from what was asked for, the site and the attempt."""

from __future__ import annotations

from typing import Any

from jupyter_diamond.engine.batch import Batch, newest
from jupyter_diamond.engine.heal import segments
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.data import data_variable
from jupyter_diamond.model.jobs import Dialect, JobArray, JobRequest
from jupyter_diamond.model.task import TaskRequest

_OWN = ("--token", "--checkpoints")
"""Options that end, for a member of an array, with its place."""


def job_request(request: TaskRequest, batch: Batch, link: SiteLink, *, at_once: int | None = None) -> JobRequest:
    """The job of a batch, whose folder is known. ``at_once``: of an array so many members run at the same time."""
    attempt, site, sees_files = batch.attempt, link.site, link.transport.shares_files
    python = site.python or (request.python.executable if sees_files else "python3")
    options = ["--token", attempt.token, "--bundle-sha256", request.bundle_sha256]
    if sees_files and request.cwd:
        options += ["--cwd", request.cwd]
    options += segments.runner_options(batch.lead, attempt.folder or "")
    for staged in attempt.staged:
        options += ["--data", f"{staged.name}={staged.path}"]
    for out in request.envelope.stage_out:
        options += ["--keep", out.pattern]
    if request.envelope.stage_out and attempt.n > 1:  # what its attempts before left counts, too
        options += ["--since", f"{batch.lead.attempts[0].created_at.timestamp():.0f}"]
    if batch.lead.member is not None and not batch.is_array:
        options += ["--member", str(batch.lead.member.index)]
    partition, qos, dialect = attempt.partition, request.envelope.qos, Dialect()
    if link.machine is not None:
        partition, qos, dialect = link.machine.ask_for(partition, qos)
    return JobRequest(
        token=batch.token, name=request.name, folder=batch.folder, size=attempt.size,
        partition=partition, account=attempt.account, qos=qos, modules=site.modules,
        env={data_variable(staged.name): staged.path for staged in attempt.staged},
        dialect=dialect.model_copy(update={"options": site.options}), **segments.warning(batch.lead),
        **_words(batch, [python, files.RUNNER], options, at_once),
    )  # fmt: skip


def _words(batch: Batch, start: list[str], options: list[str], at_once: int | None) -> dict[str, Any]:
    """The command; in an array, what only a member can say is parted from what all of them do."""
    place = newest(batch.lead).array
    if place is None:
        return {"command": (*start, *options)}
    pairs = list(zip(options[::2], options[1::2], strict=True))
    own = tuple((name, value.removesuffix(f"-{place.at}")) for name, value in pairs if name in _OWN)
    shared = [word for pair in pairs if pair[0] not in _OWN for word in pair]
    return {"command": (*start, *shared), "array": JobArray(ats=batch.ats, at_once=at_once, own=own)}
