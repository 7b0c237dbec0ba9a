"""Whose claim an attempt has: before one ends whose job never ran the cell, no other job of it may begin."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.reconcile import same_job
from jupyter_diamond.engine.stage import claims_script, fence_script, links, read_answer
from jupyter_diamond.errors import TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.task import Attempt
from jupyter_diamond.schedulers.base import Arrays
from jupyter_diamond.transport.base import Completed


class Claims(NamedTuple):
    """Who has the claims of attempts, by the names under which these are asked for: ``others``, or their ``own`` jobs.

    Of one that is in neither there is none, and none will come.
    """

    others: Mapping[str, NativeJob] = {}
    own: frozenset[str] = frozenset()


_CLAIM = re.compile(rf"([0-9]+)/{files.CLAIM} -> (\S+)$", re.MULTILINE)


async def claims_of(link: SiteLink, attempts: Mapping[str, Attempt], *, timeout_s: float) -> Claims:
    """Who made the claims of these attempts; where nobody did, nobody can any more.

    For attempts whose own job is over and has not run the cell; by whatever names they are given. One round trip for
    all of an array. Raises TransportError and SchedulerError where the site does not say it: nothing is to be
    concluded then.
    """
    found: dict[str, NativeJob] = {}
    arrays: dict[str, dict[str, Attempt]] = {}
    for name, attempt in attempts.items():
        if attempt.folder is not None and attempt.array is not None:
            arrays.setdefault(files.array_folder(attempt.folder), {})[name] = attempt
        elif attempt.folder is not None and (job := await _claimed(link, attempt.folder, timeout_s)):
            found[name] = job
    for folder, members in arrays.items():
        found |= await _claimed_in(link, folder, members, timeout_s)
    own = frozenset(name for name, job in found.items() if same_job(attempts[name].native, job.id))
    return Claims({name: job for name, job in found.items() if name not in own}, own)


async def _claimed(link: SiteLink, folder: str, timeout_s: float) -> NativeJob | None:
    answer = read_answer(await link.run(fence_script(folder, k=0, close=True), timeout_s=timeout_s))
    if answer.fate in ("fenced", "no_folder"):
        return None
    if answer.fate != "answered":
        raise _unsaid(link, answer.answer)
    return link.scheduler.parse_submit(answer.answer)


async def _claimed_in(
    link: SiteLink, folder: str, members: Mapping[str, Attempt], timeout_s: float
) -> dict[str, NativeJob]:
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
        if name is None or claimed == files.FENCED:
            continue
        said = Completed(exit=0, stdout=claimed.partition("_")[0].encode(), stderr=b"")
        found[name] = link.scheduler.member(link.scheduler.parse_submit(said), int(at))
    return found


def _unsaid(link: SiteLink, answer: Completed) -> TransportError:
    said = f"{link.name} did not say whether another job runs the cell; it is asked again."
    return TransportError(said, outcome="unknown", evidence=tuple(answer.out.splitlines()[:20]))
