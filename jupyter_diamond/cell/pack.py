"""The bundle: one tar with all that a cell needs. Equal inputs give equal bytes."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass

from .capture import Capture
from .preflight import preflight
from .spec import MODULES, SPEC, VALUES, PackedValue


@dataclass(frozen=True)
class Bundle:
    """``data`` is the tar and ``sha256`` its digest.

    ``digest`` says what would run: it stays the same in another kernel, where cells have other numbers.
    """

    data: bytes
    sha256: str
    digest: str


def pack(capture: Capture) -> Bundle:
    """Seal what was captured. Raises CaptureRefused when there are refusals."""
    preflight(capture)
    spec = capture.spec.model_dump_json().encode("utf-8")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add(tar, SPEC, spec)
        for path, data in sorted(capture.modules.items()):
            _add(tar, f"{MODULES}/{path}", data)
        for file, data in sorted(capture.values.items()):
            _add(tar, f"{VALUES}/{file}", data)
    data = buffer.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest(), _digest(capture))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)  # mtime 0, uid 0, no user names
    member.size = len(data)
    member.mode = 0o600
    tar.addfile(member, io.BytesIO(data))


def _digest(capture: Capture) -> str:
    """Over the meaning only: where a definition stood (``In[7]``, line 3) does not count."""
    spec = capture.spec
    prelude = [
        [item.name, item.codec, item.sha256] if isinstance(item, PackedValue) else [item.name, item.source]
        for item in spec.prelude
    ]
    modules = [[path, hashlib.sha256(data).hexdigest()] for path, data in sorted(capture.modules.items())]
    meaning: list[object] = [spec.format, spec.language, spec.cell, spec.outputs, prelude, modules, spec.python[:2]]
    if spec.members:
        meaning.append([[index, list(params.items())] for index, params in spec.members.items()])
    return hashlib.sha256(json.dumps(meaning).encode("ascii")).hexdigest()
