"""What tests ask of a task that runs at a site: its state, its value, its story. Delta is the testbed's site."""

from __future__ import annotations

import base64
import hashlib
import json

from jupyter_diamond.model.data import StageOut
from jupyter_diamond.model.envelope import Envelope, Span

from .conftest import until

MIB = 1 << 20


def at_delta(**fields):
    """A small job at delta."""
    return Envelope(site="delta", walltime_s=Span.exactly(600), memory_bytes=Span.exactly(500 * MIB), **fields)


async def in_state(service, task, *states, seconds=60.0):
    """The task, once it is in one of these states."""

    async def check():
        now = await service.task(task.id)
        return now if now.state in states else None

    return await until(check, seconds)


async def value(service, task):
    """The first value that came back."""
    view = await service.result(task.id)
    return json.loads(base64.b64decode(view.inline[view.manifest.values[0].file]))


async def types(service, task):
    """What happened to it, oldest first."""
    return [event.type for event in (await service.task_events(task.id)).events]


async def reading(service, site="delta"):
    """One site's newest reading."""
    (found,) = (each for each in (await service.sites()).sites if each.site == site)
    return found


async def one_job_was_found(service, done, runs):
    """Of a submission whose answer was lost: it ran once, and was looked for before it was known."""
    assert done.state.name == "COMPLETED", done.cause
    assert runs.read_text() == "run "
    assert done.attempt.submissions == 1
    story = await types(service, done)
    assert story.index("attempt.submit_unknown") < story.index("attempt.submitted")


LEAVES = """
import os
os.mkdir('left')
for n in range(60):
    open(f'left/{n:02}.bin', 'wb').write(bytes([n]) * 100)
open("left/odd '$(touch owned)\\n;.bin", 'w').write('odd')
open('left/large.bin', 'wb').write(bytes(5_000_000))
"""
"""More files than a receipt has room for, one with a name that no shell may read, one that comes in two pieces."""


def leaving():
    return at_delta().model_copy(update={"stage_out": (StageOut(pattern="left"),)})


async def all_is_fetched(service, task):
    """Whatever was left, piece by piece, as the receipt says it."""
    listing = await service.receipts.files(task.id)
    kept = {each.path: each for each in listing.files if each.kind == "kept"}
    assert (len(kept), listing.note) == (62, "")
    for path in ("left/59.bin", "left/odd '$(touch owned)\n;.bin", "left/large.bin"):
        whole = b"".join([piece async for piece in service.receipts.pieces(task.id, kept[path].ask)])
        assert hashlib.sha256(whole).hexdigest() == kept[path].sha256
