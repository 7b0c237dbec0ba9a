"""The batch script of a task that is only planned: as it would be sent, but for its token, which nobody has yet."""

from __future__ import annotations

from datetime import datetime

from jupyter_diamond.engine.batch import Batch
from jupyter_diamond.engine.job_request import job_request
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.attempt_files import attempt_folder
from jupyter_diamond.model.decision import Candidate
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task, TaskRequest

NOBODY = "dmd-00000000"
"""The token of no attempt."""


def planned_attempt(choice: Candidate, folder: str, at: datetime) -> Attempt:
    """The attempt that a task would begin with there."""
    return Attempt.model_validate({
        "n": 1, "token": NOBODY, "site": choice.site, "partition": choice.partition or None, "account": choice.account,
        "size": choice.size, "folder": folder, "created_at": at, "state_since": at,
    })  # fmt: skip


def planned_script(request: TaskRequest, choice: Candidate, link: SiteLink, at: datetime) -> str:
    """What its batch script would say. Asks nobody: the work folder stands there as the site catalogue writes it."""
    attempt = planned_attempt(choice, attempt_folder(link.site.workdir, NOBODY), at)
    task = Task(
        id="t0000000000", name=request.name, language=request.language, state=State.WAITING,
        phase=State.WAITING.phase, created_at=at, healing=request.healing, source=request.source,
        digest=request.digest, envelope=request.envelope, attempts=(attempt,),
    )  # fmt: skip
    return link.scheduler.job_script(job_request(request, Batch((task,)), link))
