"""The smoke job, the smallest real task, sent the ordinary way so that the whole way is tried; and its verification."""

from __future__ import annotations

import re
import sys

from jupyter_diamond.cell.capture import Capture
from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.spec import Spec
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.looks import Accounted
from jupyter_diamond.model.task import Attempt, KernelPython, TaskRequest

SMOKE_S = 300
_CELL = "uname -n && date"


def smoke_name(site: str) -> str:
    """The task's name, one a site."""
    return "smoke_" + re.sub(r"[^A-Za-z0-9_]", "_", site)[:50]


def smoke_job(link: SiteLink, client_token: str) -> tuple[TaskRequest, bytes]:
    """One CPU for at most five minutes, pinned to the site."""
    name = smoke_name(link.name)
    version = (sys.version_info[0], sys.version_info[1], sys.version_info[2])
    spec = Spec(name=name, language="bash", cell=_CELL, cell_filename=f"<smoke {link.name}>", python=version)
    bundle = pack(Capture(captured=(), spec=spec))
    request = TaskRequest(
        client_token=client_token, name=name, language="bash", source=_CELL,
        digest=bundle.digest, bundle_sha256=bundle.sha256,
        python=KernelPython(executable=sys.executable, version=version),
        envelope=Envelope(site=link.name, partition=link.site.partition, walltime_s=Span.exactly(SMOKE_S)),
        healing=Healing(retries=0, moves=0),  # what goes wrong there is what it is sent for
    )  # fmt: skip
    return request, bundle.data


async def accounted(task_id: str, attempt: Attempt, link: SiteLink, *, timeout_s: float) -> Accounted:
    """What the site's accounting says of the attempt's job, asked now. Raises TransportError, SchedulerError."""
    if attempt.native is None:
        return Accounted(task_id=task_id, site=link.name, job=None, notes=("It has no job yet.",))
    script = link.scheduler.accounting_script((attempt.native,), since=attempt.created_at)
    reading = link.scheduler.parse_accounting(await link.run(script, timeout_s=timeout_s))
    rows = tuple(row for row in reading.rows if row.job.id == attempt.native.id)
    return Accounted(task_id=task_id, site=link.name, job=attempt.native, rows=rows, notes=reading.notes)
