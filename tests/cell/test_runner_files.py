"""The files that a cell leaves and a pattern names: in the receipt with size, digest and media type."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from pathlib import Path

import pytest

from jupyter_diamond.cell.runner.diamond_runner import KEPT_INLINE, Attempt, Kept
from jupyter_diamond.model.manifest import KeptFile

from .attempts import make_attempt
from .test_runner_end import until


def keeping(root: Path, *patterns: str) -> Kept:
    """What the runner finds in a folder, without a job."""
    folder = root.parent / "attempts" / "dmd-0"
    folder.mkdir(parents=True, exist_ok=True)
    kept = Kept(Attempt(str(folder), "dmd-0"), patterns)
    kept.root = str(root)
    kept.gather()
    return kept


def names(kept: Kept) -> list[str]:
    return [file["path"] for file in kept.files]


def make(root: Path, *paths: str) -> Path:
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(path.encode())
    return root


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["a.pt"], ["a.pt"]),
        (["*.pt"], ["a.pt"]),
        (["./*.pt"], ["a.pt"]),
        (["ckpt/*"], ["ckpt/1.pt"]),
        (["ckpt"], ["ckpt/.hidden", "ckpt/1.pt", "ckpt/deep/2.pt"]),
        (["ckpt/**"], ["ckpt/1.pt", "ckpt/deep/2.pt"]),
        (["**/*.pt"], ["a.pt", "ckpt/1.pt", "ckpt/deep/2.pt"]),
        (["**/2.pt"], ["ckpt/deep/2.pt"]),
        (["*.zarr"], ["x.zarr/.zarray", "x.zarr/0.0"]),
        (["*/[12].pt", "a.*"], ["a.pt", "ckpt/1.pt"]),
        ([".hid*"], [".hid/x"]),
        (["none*"], []),
    ],
)
def test_patterns_name_files_as_a_shell_would(tmp_path, patterns, found):
    root = make(
        tmp_path / "run",
        "a.pt",
        "ckpt/1.pt",
        "ckpt/deep/2.pt",
        "ckpt/.hidden",
        "x.zarr/.zarray",
        "x.zarr/0.0",
        ".hid/x",
    )
    assert names(keeping(root, *patterns)) == found


def test_a_file_says_which_patterns_name_it_and_a_pattern_that_it_names_none(tmp_path):
    kept = keeping(make(tmp_path / "run", "a.pt", "b.txt"), "*.pt", "a.*", "*.csv")
    assert kept.files[0]["patterns"] == [0, 1]
    assert kept.told()["files_unmatched"] == [2]


def test_no_link_leads_out_of_the_folder_and_none_leads_round(tmp_path):
    root = make(tmp_path / "run", "in/real.pt")
    secret = make(tmp_path, "outside/secret.pt") / "outside"
    (root / "out.pt").symlink_to(secret / "secret.pt")
    (root / "away").symlink_to(secret)
    (root / "in" / "round").symlink_to(root)
    (root / "latest").symlink_to("in")
    (root / "link.pt").symlink_to("in/real.pt")
    (root / "gone.pt").symlink_to("nowhere")
    os.mkfifo(root / "fifo.pt")
    kept = keeping(root, "**/*.pt", "away/*", "latest/*.pt")
    assert names(kept) == ["in/real.pt", "latest/real.pt", "link.pt"]
    assert kept.told()["files_left_out"] == 2
    assert "links that lead out" in kept.told()["files_note"]


def test_our_own_files_are_never_among_them(tmp_path):
    root = make(tmp_path, "attempts/dmd-0/key", "attempts/dmd-0/job.sh", "mine")
    kept = Kept(Attempt(str(tmp_path / "attempts" / "dmd-0"), "dmd-0"), ["**", "attempts"])
    kept.root = str(root)
    kept.gather()
    assert names(kept) == ["mine"]


def test_odd_names_are_kept_as_they_are_and_those_that_no_json_holds_are_counted(tmp_path):
    root = make(tmp_path / "run", "new\nline", "<b>'\".html", "ü 1.pt")
    (root / os.fsdecode(b"bad\xff.pt")).touch()
    kept = keeping(root, "*")
    assert sorted(names(kept)) == sorted(["new\nline", "<b>'\".html", "ü 1.pt"])
    assert "not UTF-8" in kept.told()["files_note"]


def test_of_a_folder_that_others_use_only_what_the_job_has_changed_is_listed(tmp_path):
    shared = make(tmp_path / "shared", "old.csv", "new.csv")
    for path in shared.iterdir():
        os.utime(path, (1, 1))
    kept = Kept(Attempt(str(tmp_path), "dmd-0"), ["*.csv"], time.time() + 60)
    kept.begin(str(shared))
    os.utime(shared / "new.csv", (time.time() + 90,) * 2)
    kept.gather()
    assert names(kept) == ["new.csv"]
    assert kept.told()["files_note"] == "1 were there before, and have not changed"
    own = make(tmp_path / "work", "old.csv")
    kept = Kept(Attempt(str(tmp_path), "dmd-0"), ["*.csv"], time.time() + 60)
    kept.begin(str(own))
    kept.gather()
    assert names(kept) == ["old.csv"]


def test_the_time_that_is_over_costs_digests_and_not_the_list(tmp_path):
    root = make(tmp_path / "run", "a", "b")
    kept = Kept(Attempt(str(tmp_path), "dmd-0"), ["*"])
    kept.root = str(root)
    kept.hurry()
    kept.gather()
    assert [file["sha256"] for file in kept.files] == ["", ""]
    assert kept.told()["files_note"].startswith("2 without a digest")


def test_a_receipt_has_the_files_with_size_digest_and_media_type(tmp_path):
    cell = """
import os
os.makedirs("out")
open("out/<i>.csv", "w").write("a,b")
open("out/model.pt", "wb").write(bytes(3_000_000))
open("out/log.txt.gz", "w").close()
1 / 0"""
    attempt = make_attempt(tmp_path, cell)
    attempt.options += ["--keep", "out/*", "--keep", "gone"]
    manifest = attempt.run().manifest
    assert attempt.exit_code == 1
    assert manifest.folder == str(attempt.folder / "work")
    found = {file.path: file for file in manifest.files}
    assert found["out/model.pt"].sha256 == hashlib.sha256(bytes(3_000_000)).hexdigest()
    assert found["out/<i>.csv"].media_type == "text/csv"
    assert found["out/log.txt.gz"].media_type == "application/gzip"
    assert (manifest.files_count, manifest.files_bytes, manifest.files_unmatched) == (3, 3_000_003, (1,))
    assert manifest.files_note == ""


def test_many_files_have_a_file_of_their_own(tmp_path):
    attempt = make_attempt(tmp_path, "for n in range(120): open(f'{n:03}.dat', 'w').write(str(n))")
    attempt.options += ["--keep", "*.dat"]
    manifest = attempt.run().manifest
    lines = (attempt.folder / "files.jsonl").read_bytes()
    assert hashlib.sha256(lines).hexdigest() == manifest.files_sha256
    every = [KeptFile.model_validate(json.loads(line)) for line in lines.splitlines()]
    assert len(every) == manifest.files_count == 120
    assert tuple(every[:KEPT_INLINE]) == manifest.files


def test_a_cell_that_is_ended_by_its_scheduler_still_says_what_it_left(tmp_path):
    attempt = make_attempt(tmp_path, "import time\nopen('a.ckpt', 'w').write('x')\nprint('ready')\ntime.sleep(60)")
    attempt.options += ["--keep", "*.ckpt"]
    process = attempt.start()
    until(lambda: "ready" in (attempt.folder / "job.out").read_text())
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 143
    assert [(file.path, file.bytes) for file in attempt.manifest.files] == [("a.ckpt", 1)]
    assert attempt.error()[0] == "Terminated"
