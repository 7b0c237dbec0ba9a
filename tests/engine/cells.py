"""Small sealed cells for tests of the engine, made without a kernel."""

import hashlib
import io
import json
import sys
import tarfile
import uuid
from pathlib import Path

from jupyter_diamond.cell.spec import Spec
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.task import KernelPython, TaskRequest

VERSION = (sys.version_info[0], sys.version_info[1], sys.version_info[2])


def bundle(source: str, *, name: str = "fit", outputs: tuple[str, ...] = (), language: str = "python") -> bytes:
    """A sealed cell that captures nothing."""
    spec = Spec(
        name=name, language=language, cell=source, cell_filename=f"<cell {name}>", outputs=outputs, python=VERSION
    )
    data = json.dumps(spec.model_dump(mode="json")).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        member = tarfile.TarInfo("spec.json")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def held(gate: Path, then: str) -> str:
    """Python that waits for a file before it goes on: what a test does meanwhile, it does to a running job."""
    return f"import pathlib, time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.05)\n{then}"


def request(source: str, data: bytes, *, name: str = "fit", outputs: tuple[str, ...] = (), **fields) -> TaskRequest:
    """The request that goes with a bundle; ``fields`` are those of TaskRequest, ``envelope`` may be a dict of them."""
    envelope = fields.pop("envelope", None) or Envelope(walltime_s=Span.exactly(600))
    return TaskRequest(
        client_token=fields.pop("client_token", str(uuid.uuid4())), name=name, outputs=outputs, source=source,
        digest=hashlib.sha256(source.encode()).hexdigest(), bundle_sha256=hashlib.sha256(data).hexdigest(),
        python=KernelPython(executable=sys.executable, version=VERSION), envelope=envelope, **fields,
    )  # fmt: skip
