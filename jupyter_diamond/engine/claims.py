"""Whose claim an attempt has: before one ends whose job never ran the cell, no other job of it may begin."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.reconcile import same_job
from jupyter_diamond.engine.stage import claims_script, fence_script, links, read_answer
from jupyter_diamond.errors import TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.task import Attempt
from jupyter_diamond.schedulers.base import Arrays
from jupyter_diamond.transport.base import Completed

Others = Mapping[str, NativeJob]
_CLAIM = re.compile(rf"([0-9]+)/{files.CLAIM} -> (\S+)$", re.MULTILINE)


async def other_jobs(link: SiteLink, attempts: Mapping[str, Attempt], *, timeout_s: float) -> Others:
    """The other jobs of these attempts' tokens that made their claims. Without one: there is none, and none will come.

    For attempts whose own job is over and has not run the cell; by whatever names they are given. One round trip for
    all of an array. Raises TransportError and SchedulerError where the site does not say it: nothing is to be
    concluded then.
    """
    found: dict[str, NativeJob] = {}
    arrays: dict[str, dict[str, Attempt]] = {}
    for name, attempt in attempts.items():
        if attempt.folder is not None and attempt.array is not None:
            arrays.setdefault(files.array_folder(attempt.folder), {})[name] = attempt
        elif attempt.folder is not None and (job := await _another(link, attempt, attempt.folder, timeout_s)):
            found[name] = job
    for folder, members in arrays.items():
        found |= await _others(link, folder, members, timeout_s)
    return found


async def _another(link: SiteLink, attempt: Attempt, folder: str, timeout_s: float) -> NativeJob | None:
    answer = read_answer(await link.run(fence_script(folder, k=0, close=True), timeout_s=timeout_s))
    if answer.fate in ("fenced", "no_folder"):
        return None
    if answer.fate != "answered":
        raise _unsaid(link, answer.answer)
    job = link.scheduler.parse_submit(answer.answer)
    return None if same_job(attempt.native, job.id) else job


async def _others(link: SiteLink, folder: str, members: Mapping[str, Attempt], timeout_s: float) -> Others:
    places = {attempt.array.at: name for name, attempt in members.items() if attempt.array is not None}
    script, shut = claims_script(folder, sorted(places)), links(places, whole=False)
    answer = read_answer(await link.run(script, stdin=shut, timeout_s=timeout_s))
    if answer.fate == "no_folder":
        return {}
    if answer.fate != "answered" or not isinstance(link.scheduler, Arrays):
        raise _unsaid(link, answer.answer)
    found: dict[str, NativeJob] = {}
    for at, claimed in _CLAIM.findall(answer.answer.out):
        name = places.get(int(at))
        if name is None or claimed == files.FENCED or same_job(members[name].native, claimed):
            continue
        said = Completed(exit=0, stdout=claimed.partition("_")[0].encode(), stderr=b"")
        found[name] = link.scheduler.member(link.scheduler.parse_submit(said), int(at))
    return found


def _unsaid(link: SiteLink, answer: Completed) -> TransportError:
    said = f"{link.name} did not say whether another job runs the cell; it is asked again."
    return TransportError(said, outcome="unknown", evidence=tuple(answer.out.splitlines()[:20]))
