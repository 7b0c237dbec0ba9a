"""Small values of many members in one read of a site: what comes, what is cut, what is not taken."""

from __future__ import annotations

import base64
import gzip
import io
import random
import subprocess
import tarfile
from pathlib import Path

import pytest

from jupyter_diamond.engine.groups import results
from jupyter_diamond.engine.groups.results import archive_script, unpacked

RECEIPT = b'{"format": 1}'


def folders(tmp_path, count):
    """Attempts' folders below an array's, and their tasks."""
    found = {}
    for at in range(count):
        folder = tmp_path / "dmd-1" / str(at)
        (folder / "result").mkdir(parents=True)
        (folder / "manifest.json").write_bytes(RECEIPT)
        (folder / "result" / "x.json").write_bytes(b"%d" % at)
        (folder / "job.out").write_bytes(b"a log")
        found[str(folder)] = f"g1-{at}"
    return found


def asked(tasks, inline_bytes=1000):
    """What the script answers, run as a site's shell would."""
    done = subprocess.run(
        ["/bin/sh", "-c", archive_script(inline_bytes)], input="\n".join(tasks).encode() + b"\n", capture_output=True,
        check=True, timeout=60,
    )  # fmt: skip
    return unpacked(done.stdout, tasks)


def test_receipts_and_small_values_come_and_nothing_else_does(tmp_path):
    tasks = folders(tmp_path, 3)
    first, gone = tmp_path / "dmd-1" / "0", tmp_path / "dmd-1" / "3"
    (first / "result" / "large.npy").write_bytes(b"x" * 1001)
    (first / "result" / "just.npy").write_bytes(b"x" * 1000)
    (first / "result" / "with a line\nbreak.json").write_bytes(b"7")
    (first / "result" / "link.json").symlink_to("/etc/passwd")
    found = asked(tasks | {str(gone): "g1-3"})
    assert (found.cut, found.problem) == (False, "")
    assert found.found["g1-1"] == {"manifest.json": RECEIPT, "result/x.json": b"1"}
    assert set(found.found["g1-0"]) == {
        "manifest.json", "result/x.json", "result/just.npy", "result/with a line\nbreak.json",
    }  # fmt: skip
    assert found.found["g1-3"] == {}


def test_what_does_not_fit_is_left_for_the_next_page_and_no_folder_comes_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "PAGE_BYTES", 4000)
    tasks = folders(tmp_path, 9)
    noise = random.Random(1)
    for folder in tasks:
        Path(folder, "result", "noise.npy").write_bytes(noise.randbytes(900))
    found = asked(tasks)
    assert found.cut
    assert 0 < len(found.found) < 9
    assert {len(parts) for parts in found.found.values()} == {3}
    assert list(found.found) == list(tasks.values())[: len(found.found)]


@pytest.mark.parametrize("answer", [b"?!", base64.b64encode(b"no archive at all")])
def test_an_answer_that_makes_no_sense_is_a_problem_and_no_result(answer):
    found = unpacked(answer, {"/a": "g1-0"})
    assert found.found == {}
    assert "makes no sense" in found.problem


def test_files_outside_the_folders_are_passed_over():
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("/a/manifest.json", "/a/result/../../x", "/b/manifest.json", "/a/other/x", "/a/result/sub/x"):
            entry = tarfile.TarInfo(name)
            entry.size = 2
            tar.addfile(entry, io.BytesIO(b"{}"))
    found = unpacked(base64.b64encode(gzip.compress(buffer.getvalue())), {"/a": "g1-0"})
    assert found.found == {"g1-0": {"manifest.json": b"{}"}}
