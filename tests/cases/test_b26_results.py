"""B26 Results too large, or fetched too late: they lie complete in the job's folder; only a small receipt travels."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest

from jupyter_diamond.cell.result import load_value
from jupyter_diamond.cell.runner import SOURCE
from jupyter_diamond.cell.spec import Spec
from jupyter_diamond.errors import ResultUnavailable
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.manifest import EndFile, Manifest
from jupyter_diamond.schedulers.batch_script import body, shebang

TOKEN = "dmd-0123456789ab"
KEY = "cd" * 32
BIG = "import numpy as np\nprint('computing')\ntemperature = np.arange(74_000_000 // 8, dtype='f8')\nnote = 'done'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An attempt as the scheduler would have run it, with nobody watching."""
    folder = tmp_path_factory.mktemp("attempt")
    folder.chmod(0o700)
    spec = Spec(
        name="big", language="python", cell=BIG, cell_filename="<cell>", outputs=("temperature", "note"),
        python=tuple(sys.version_info[:3]),
    )  # fmt: skip
    data = spec.model_dump_json().encode()
    bundle = io.BytesIO()
    with tarfile.open(fileobj=bundle, mode="w") as tar:
        member = tarfile.TarInfo("spec.json")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    (folder / "bundle.tar").write_bytes(bundle.getvalue())
    (folder / "runner.py").write_bytes(SOURCE.read_bytes())
    (folder / "key").write_text(KEY)
    command = (
        sys.executable,
        "runner.py",
        "--token",
        TOKEN,
        "--bundle-sha256",
        hashlib.sha256(bundle.getvalue()).hexdigest(),
    )
    job = JobRequest(token=TOKEN, name="big", folder=str(folder), size=Size(walltime_s=60), command=command)
    (folder / "job.sh").write_text(f"{shebang(job)}\n{body(job, native_id='$DIAMOND_JOB_ID')}")
    with (folder / "job.out").open("wb") as log:
        subprocess.run(
            ["bash", "job.sh"],
            cwd=folder,
            env={**os.environ, "DIAMOND_JOB_ID": "1"},
            stdout=log,
            stderr=log,
            check=True,
        )
    return folder


def manifest(folder) -> Manifest:
    data = (folder / "manifest.json").read_bytes()
    assert (
        EndFile.model_validate_json((folder / "end.json").read_bytes()).manifest_sha256
        == hashlib.sha256(data).hexdigest()
    )
    return Manifest.model_validate_json(data)


def test_the_receipt_is_small_and_tells_path_size_digest_and_preview(folder):
    assert (folder / "manifest.json").stat().st_size < 4096
    big = next(file for file in manifest(folder).values if file.name == "temperature")
    assert big.bytes == (folder / big.file).stat().st_size > 74_000_000
    assert big.sha256 == hashlib.sha256((folder / big.file).read_bytes()).hexdigest()
    assert big.preview == "(9250000,) float64"


def test_log_and_result_are_complete_when_the_end_file_is_there(folder):
    assert manifest(folder).outcome == "OK"
    assert (folder / "job.out").read_text() == "computing\n"
    times = [(folder / name).stat().st_mtime_ns for name in ("result/temperature.npy", "manifest.json", "end.json")]
    assert times == sorted(times)


def test_a_result_can_be_fetched_again_and_again_long_after(folder):
    long_ago = 1_500_000_000
    for path in folder.rglob("*"):
        os.utime(path, (long_ago, long_ago), follow_symlinks=False)
    for _ in range(2):
        receipt = manifest(folder)
        for file in receipt.values:
            value = load_value(file, (folder / file.file).read_bytes(), KEY)
            assert value == "done" if file.name == "note" else np.array_equal(value, np.arange(9_250_000.0))


def test_a_result_that_arrives_in_part_is_not_taken(folder):
    big = next(file for file in manifest(folder).values if file.name == "temperature")
    with pytest.raises(ResultUnavailable, match=r"1000 of 74000\d+ bytes.*fetch it again") as refused:
        load_value(big, (folder / big.file).read_bytes()[:1000], KEY)
    assert refused.value.transient
