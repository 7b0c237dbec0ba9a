"""What ended tasks brought back, and small files to a site. Large ones are named, never sent."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.errors import InvalidRequest, ResultUnavailable
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.looks import PUT_BYTES
from jupyter_diamond.model.manifest import Manifest, ResultFile
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.receipt import Receipt
from jupyter_diamond.model.views import ResultView
from jupyter_diamond.placement import words

from .acts import needs_approval, through_guard
from .answers import UNKNOWN, Foreign, at, foreign, label, size_of, span_of, without_empty, word
from .parameters import Ref, SiteName
from .registry import tool
from .tasks import Intent, task_or_group

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk

_INLINE = 400
_NUMBERS = re.compile(r"[\[\]\s,0-9.eE+-]+|true|false|null")
"""JSON without any text: nobody can say anything in it."""


@tool("read", "data", first=True, long=True)
async def get_result_manifest(desk: AgentDesk, _speaker: Speaker, *, task: Ref) -> dict[str, Any]:
    """The receipt of an ended task: how it ended, which values came back (size, digest), what it printed, what failed.

    Use it when a task has ended, before you report; it is there for what failed or still runs, too. Large values and
    files are named, not sent: list_output names them, fetch_file gives a piece of a small one.

    Args:
        task: id or name; of a group: what each member brought back
    """
    found = await task_or_group(desk, task)
    if isinstance(found, Group):
        results = await desk.service.groups.results(found.id)
        return without_empty({
            "group": found.id,
            "members": [
                {"member": each.index, "task": each.task_id, **receipt(each.manifest)} for each in results.members
            ],
            "missing": [
                {"member": each.index, "why": foreign(each.why, "why there is none", 200)} for each in results.missing
            ],
        })  # fmt: skip
    known = await desk.service.receipts.receipt(found.id)
    try:
        result = await desk.service.result(found.id)
    except ResultUnavailable:
        result = None
    values = result.manifest.values if result is not None else ()
    return provenance(known) | without_empty({
        **(receipt(result.manifest, result) if result is not None else {}),
        "next_actions": [f"fetch_file(task='{found.id}', path='{each.file}')" for each in values[:5]]
        + ([f"list_output(task='{found.id}')"] if known.files_count else [])
        or [f"tail_log(task='{found.id}')"],
    })  # fmt: skip


def provenance(known: Receipt) -> dict[str, Any]:
    """Where it ran, how it ended, what it was charged, from what, and what it kept: facts, and large things by name."""
    where, ended, took = known.where, known.ended, known.took
    return without_empty({
        "task": known.task, "attempt": known.attempt, "state": ended.state.value,
        "site": where.site, "partition": word(where.partition) if where.partition else None,
        "job": word(where.job) if where.job else None, "exit_code": ended.exit_code, "failure": ended.failure,
        "cause": foreign(ended.cause, "why the task ended", 400),
        "core_hours": took.core_hours, "gpu_hours": took.gpu_hours,
        "charge": None if took.charge is None or took.charge.actual is None
        else words.charge(took.charge.actual, took.charge.unit),
        "env": known.ran_in.env, "code_digest": known.code.digest,
        "decision": known.decided.id if known.decided is not None else None,
        "inputs": [{"name": each.name, "digest": each.digest or UNKNOWN} for each in known.inputs[:10]],
        "files_kept": {"count": known.files_count, "bytes": known.files_bytes} if known.files_count else None,
        "files_note": foreign(known.files_note, "what was left out of the files", 300),
        "attempts_before": [
            without_empty({"n": each.n, "site": each.site, "state": each.state.value, "failure": each.failure})
            for each in known.before[-5:]
        ],
        "not_known_now": [foreign(each, "what could not be read", 200) for each in known.unknown],
    })  # fmt: skip


def receipt(manifest: Manifest, result: ResultView | None = None) -> dict[str, Any]:
    """A manifest in few words; all text of the job is foreign."""
    error = manifest.error
    trace = "\n".join(error.traceback[-15:]) if error else ""
    return without_empty({
        "outcome": manifest.outcome,
        "host": word(manifest.host),
        "python": word(manifest.python),
        "started_at": at(from_epoch(manifest.started_at)),
        "ended_at": at(from_epoch(manifest.ended_at)),
        "ran": span_of(manifest.ended_at - manifest.started_at),
        "memory_peak": size_of(manifest.max_rss_bytes),
        "params": dict(manifest.params) or None,
        "values": [_value(each, result) for each in manifest.values],
        "not_brought_back": [
            {"name": label(each.name, "the name of a value"), "why": foreign(each.why, "the runner's reason", 200)}
            for each in manifest.missing
        ],
        "error": foreign(f"{error.ename}: {error.evalue}\n{trace}" if error else "", "the exception of the job", 2500),
        "printed": _printed(result),
    })  # fmt: skip


def _value(each: ResultFile, result: ResultView | None) -> dict[str, Any]:
    inline = result.inline.get(each.file) if result is not None and each.codec == "json" else None
    text = base64.b64decode(inline).decode("utf-8", "backslashreplace") if inline else each.preview
    value = text if each.codec == "json" and len(text) <= _INLINE and _NUMBERS.fullmatch(text) else None
    return without_empty({
        "name": label(each.name, "the name of a value"), "type": label(each.type, "the type of a value"),
        "codec": each.codec, "file": label(each.file, "the name of a file", 200),
        "bytes": each.bytes, "sha256": each.sha256,
        "value": value or foreign(text, f"value of {word(each.name)}", _INLINE),
    })  # fmt: skip


def _printed(result: ResultView | None) -> Foreign | None:
    """The text of the cell's outputs."""
    told: list[str] = []
    for output in result.outputs if result is not None else ():
        text = output.get("text") or output.get("data", {}).get("text/plain") or ""
        told.append("".join(text) if isinstance(text, list) else str(text))
    return foreign("".join(told).strip(), "what the cell printed and showed", 2000)


@tool("act", "data", destroys=True)
async def put_file(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    site: SiteName,
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")],
    text: Annotated[str, Field(max_length=PUT_BYTES)],
    replace: bool = False,
    reason: Intent = "",
) -> dict[str, Any]:
    """Put one small text file (at most 2 MB) into the work folder of a site, and nowhere else.

    It needs the user's approval. For more, or for data, use the user's own transfer.

    Args:
        site: which site
        name: the file's name there, without a folder
        text: what it holds
        replace: write over a file of that name
        reason: what for, shown to the user
    """
    data = text.encode("utf-8")
    if len(data) > PUT_BYTES:
        raise InvalidRequest(f"The file has {len(data):,} bytes; at most {PUT_BYTES:,} can be put this way.")
    given = {"name": name, "replace": "true" if replace else "false"}
    proposal, done = await through_guard(
        desk, speaker, "put_file", bundle=data, subject=site, arguments=given, intent=reason
    )
    if not done:
        return needs_approval(proposal)
    return {"done": True, "proposal": proposal.id, "site": site, "file": name, "bytes": len(data)}
