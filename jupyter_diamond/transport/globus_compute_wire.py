"""What travels to a site behind Globus Compute and back: JSON within the service's limits, never a pickle.

``remote/diamond_scripts.py`` reads what is packed here, and packs what is read here.
"""

from __future__ import annotations

import base64
import binascii
import functools
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files as package_files
from typing import Any, Literal

from pydantic import Field

from jupyter_diamond.errors import TransportError
from jupyter_diamond.model.manifest import ForeignValue

from .base import Completed
from .marks import NOISE_BYTES, Reader, wrap

FUNCTION = "diamond_scripts"
ORDER_BYTES = 7_500_000
"""What one order may hold; the service takes 10 MB."""
ANSWER_BYTES = 7_500_000
"""What one answer may hold, likewise: one that is larger is lost as a whole."""
PIECE_BYTES = 5 << 20
"""A piece of a file, up or down: with base64 it is 7.0 MB."""
SCRIPTS = 16
"""Scripts in one order."""
CARRIED_BYTES = 300_000_000
"""More than the largest cell: what is larger takes minutes, and hundreds of requests."""
_SMALL_BYTES = 4 << 10
_UNPACKED_BYTES = 64 << 20


class FarStream(ForeignValue):
    """One stream of a script: its first bytes, its last ones, and whether there were others between them."""

    head: str
    tail: str = ""
    gap: bool = False


class FarAnswer(ForeignValue):
    """What became of one script, or of one piece of an upload (``kept``)."""

    end: Literal["ended", "overrun", "not_started", "kept"]
    why: str = ""
    code: int | None = None
    seconds: float = 0.0
    out: FarStream = FarStream(head="b")
    err: FarStream = FarStream(head="b")


class FarAnswers(ForeignValue):
    """What the function gave back. ``late``: it came to the site after its time, and did nothing."""

    format: Literal[1]
    now: float
    host: str = ""
    pid: int = 0
    python: str = ""
    late: bool
    answers: tuple[FarAnswer, ...] = Field(max_length=SCRIPTS)


@dataclass(frozen=True)
class Script:
    """One script for a site, as ``run`` was told it. ``upload`` names a file there that is its input."""

    text: str
    stdin: bytes
    timeout_s: float
    max_bytes: int
    upload: str = ""
    upload_bytes: int = 0
    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def size(self) -> int:
        """About how many bytes there are to pack."""
        return len(self.text) + len(self.stdin)

    def packed(self) -> dict[str, Any]:
        """As it travels."""
        upload = {"upload": self.upload, "upload_bytes": self.upload_bytes} if self.upload else {}
        return {
            "script": packed(wrap(self.text, self.mark).encode()), "stdin": packed(self.stdin),
            "timeout_s": self.timeout_s, "max_bytes": self.max_bytes, **upload,
        }  # fmt: skip


@dataclass(frozen=True)
class Piece:
    """A piece of an upload; written twice it is the same."""

    upload: str
    offset: int
    data: bytes
    timeout_s: float = 30.0

    @property
    def size(self) -> int:
        """About how many bytes there are to pack."""
        return len(self.data)

    def packed(self) -> dict[str, Any]:
        """As it travels."""
        return {"upload": self.upload, "offset": self.offset, "data": packed(self.data)}


@functools.cache
def function_source() -> str:
    """The function, as it is registered."""
    return (package_files("jupyter_diamond.transport.remote") / f"{FUNCTION}.py").read_text(encoding="utf-8")


def order(scripts: Sequence[dict[str, Any]], *, env: dict[str, str], folder: str, start_by: float) -> dict[str, Any]:
    """What the function is called with. ``start_by`` is a time by the site's own clock."""
    return {
        "format": 1, "start_by": start_by, "env": env, "folder": folder, "answer_bytes": ANSWER_BYTES,
        "scripts": list(scripts),
    }  # fmt: skip


def packed(data: bytes) -> str:
    """Bytes as text, the smaller way."""
    if len(data) > _SMALL_BYTES:
        small = zlib.compress(data, 1)
        if len(small) < 0.9 * len(data):
            return "z" + base64.b64encode(small).decode()
    return "b" + base64.b64encode(data).decode()


def unpacked(text: str) -> bytes:
    """The bytes again. Raises ValueError for anything else, and for what swells beyond all bounds."""
    try:
        data = base64.b64decode(text[1:], validate=True)
        if text[:1] == "b":
            return data
        if text[:1] != "z":
            raise ValueError("neither plain nor compressed")
        swelling = zlib.decompressobj()
        whole = swelling.decompress(data, _UNPACKED_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(str(error)) from error
    if swelling.unconsumed_tail or not swelling.eof:
        raise ValueError(f"not whole, or more than {_UNPACKED_BYTES} bytes")
    return whole


def completed(where: str, script: Script, answer: FarAnswer) -> Completed:
    """A script's answer, read between its marks. Raises TransportError."""
    try:
        head, tail = unpacked(answer.out.head), unpacked(answer.out.tail or "b")
        stderr = unpacked(answer.err.head)
    except ValueError as error:
        raise unreadable(where, str(error)) from error
    if answer.end == "overrun":
        raise TransportError(
            f"{where} did not finish a command within {script.timeout_s:g} s; it was ended there.",
            outcome="unknown",
            evidence=tuple(stderr.decode("utf-8", "backslashreplace").splitlines()[:20]),
        )
    if answer.end != "ended":
        why = "".join(c if c.isprintable() else " " for c in answer.why)[:300].rstrip(". ") or "no reason given"
        raise TransportError(f"{where} could not start a command: {why}. Nothing was run.", outcome="not_sent")
    # where bytes are missing, the reader must not take the rest for what follows
    reader = Reader(script.mark, max(0, len(head) - 2 * NOISE_BYTES) if answer.out.gap else script.max_bytes)
    reader.feed(head)
    reader.feed(tail)
    done = reader.answer(
        where=where,
        code=answer.code,
        stderr=stderr[: script.max_bytes],
        stderr_cut=answer.err.gap or bool(answer.err.tail.strip("b")) or len(stderr) > script.max_bytes,
        seconds=answer.seconds,
    )
    cut = done.truncated or answer.out.gap or len(done.stdout) > script.max_bytes
    return done.model_copy(update={"stdout": done.stdout[: script.max_bytes], "truncated": cut})


def unreadable(where: str, why: str) -> TransportError:
    """An answer that makes no sense: what happened before it is unknown."""
    return TransportError(
        f"The endpoint of {where} gave back something else than an answer ({why[:200]}). Whether the command ran is "
        f"unknown; it is looked for before anything is tried again.",
        outcome="unknown",
    )
