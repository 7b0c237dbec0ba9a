"""Whose claim an attempt has: before one ends whose job never ran the cell, no other job of it may begin."""

from __future__ import annotations

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.reconcile import same_job
from jupyter_diamond.engine.stage import fence_script, read_answer
from jupyter_diamond.errors import TransportError
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.task import Attempt


async def another_job(link: SiteLink, attempt: Attempt, *, timeout_s: float) -> NativeJob | None:
    """The other job of the attempt's token that made its claim. None: there is none, and none will come any more.

    For an attempt whose own job is over and has not run the cell. Raises TransportError and SchedulerError where the
    site does not say it: nothing is to be concluded then.
    """
    if attempt.folder is None:
        return None
    answer = read_answer(await link.run(fence_script(attempt.folder, k=0, close=True), timeout_s=timeout_s))
    if answer.fate in ("fenced", "no_folder"):
        return None
    if answer.fate != "answered":
        said = f"{link.name} did not say whether another job runs the cell; it is asked again."
        raise TransportError(said, outcome="unknown", evidence=tuple(answer.answer.out.splitlines()[:20]))
    job = link.scheduler.parse_submit(answer.answer)
    return None if same_job(attempt.native, job.id) else job
