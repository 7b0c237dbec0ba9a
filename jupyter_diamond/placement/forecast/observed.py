"""What two looks at a queue tell of jobs that have ended between them."""

from __future__ import annotations

from jupyter_diamond.model.queue import PastJob, QueuedJob, SiteQueue

from .boards import limit_of

_ROUGHEST = 0.1
"""Where half of the time between two looks is a larger part of a job's limit, they say too little of its run time."""


def ended_between(before: SiteQueue, after: SiteQueue) -> tuple[tuple[QueuedJob, PastJob], ...]:
    """Jobs that ran and are gone, in the order of their ids: they ran half the time between the looks longer than seen.

    A queue that is cut says nothing of what is missing in it. Which jobs are left out depends on their limits alone,
    never on how long they ran: what is learnt would be askew.
    """
    gap = after.read_at - before.read_at
    if gap <= 0 or before.cut or after.cut:
        return ()
    there = {job.id for job in after.running} | {job.id for job in after.pending}
    found = []
    for job in before.running:
        limit = limit_of(job)
        if job.id in there or job.started_at is None or gap / 2 > _ROUGHEST * limit:
            continue
        used = min(max(before.read_at - job.started_at, 0.0) + gap / 2, limit)
        found.append((job, PastJob(job.user, limit, job.units, used, before.read_at + gap / 2)))
    return tuple(sorted(found, key=lambda each: (len(each[0].id), each[0].id)))
