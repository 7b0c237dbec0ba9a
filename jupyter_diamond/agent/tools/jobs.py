"""From source text, which no kernel has seen, to a task's request and its sealed bundle."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from jupyter_diamond.cell.capture import capture
from jupyter_diamond.cell.history import TextHistory
from jupyter_diamond.cell.pack import pack
from jupyter_diamond.errors import CaptureRefused, InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.group import Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.task import KernelPython, Language, NotebookCell, TaskRequest
from jupyter_diamond.model.views import Limits

_NOTHING = Path("/nonexistent")
"""No modules beside the source: what it imports must be at the site."""


def request_of(
    name: str,
    source: str,
    language: Language,
    envelope: Envelope,
    *,
    outputs: Sequence[str] = (),
    healing: Healing | None = None,
    notebook: str | None = None,
    members: Sequence[Member] = (),
    again: bool = False,
    by: str | None = None,
) -> tuple[TaskRequest, bytes]:
    """The request and the bundle. The token is one of nobody's: who sends it gives it another.

    Raises InvalidRequest, CaptureRefused (also for a name that the source uses and nothing in it defines).
    """
    if not source.strip():
        raise InvalidRequest("The source is empty; give the Python or the shell script that shall run.")
    version = (sys.version_info[0], sys.version_info[1], sys.version_info[2])
    limits = Limits(value_bytes=0, bundle_bytes=0, inline_result_bytes=0)
    try:
        taken = capture(
            source, {}, name=name, language=language, outputs=tuple(outputs), folder=_NOTHING,
            history=TextHistory(), limits=limits, members=tuple(members),
        )  # fmt: skip
        sealed = pack(taken)
    except CaptureRefused as refused:
        raise CaptureRefused(
            f"{refused.message} The source runs by itself, without the user's notebook: define or import all it uses.",
            evidence=refused.evidence,
        ) from None
    request = TaskRequest(
        client_token=uuid.uuid4().hex, name=name, language=language, envelope=envelope, outputs=tuple(outputs),
        source=source, digest=sealed.digest, bundle_sha256=sealed.sha256,
        python=KernelPython(executable=sys.executable, version=version), captured=taken.captured,
        imports=taken.spec.requires, notebook=NotebookCell(path=notebook), again=again,
        healing=healing or Healing(), by=by,
    )  # fmt: skip
    return request, sealed.data
