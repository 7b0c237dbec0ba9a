"""Bringing files here: whole, checked, never twice, and never out of the folder."""

from __future__ import annotations

import hashlib
import threading

import pytest

from jupyter_diamond.errors import InvalidRequest, NotFound, ResultUnavailable
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.receipt import FileList, TaskFile
from jupyter_diamond.notebook.fetching import chosen, fetch
from jupyter_diamond.notebook.receipt_calls import PIECE_BYTES
from jupyter_diamond.notebook.task_files import Files


class Site:
    """Gives pieces of files, and counts them."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content, self.pieces = content, 0

    def piece(self, ref: str, ask: str, offset: int, *, attempt: int | None = None) -> bytes:
        self.pieces += 1
        return self.content[ask][offset : offset + PIECE_BYTES]

    def listing(self, index: int | None = None) -> FileList:
        files = tuple(
            TaskFile(
                kind="kept", path=ask.removeprefix("kept/"), ask=ask, bytes=len(data),
                sha256=hashlib.sha256(data).hexdigest(), mtime=from_epoch(1_700_000_000),
            )
            for ask, data in self.content.items()
        )  # fmt: skip
        return FileList(task="t1", name="fit", index=index, attempt=1, site="far", files=files, note="2: too large")


@pytest.fixture
def site():
    large = bytes(range(256)) * (PIECE_BYTES // 256) + b"end"
    return Site({"kept/ckpt/1.pt": b"one", "kept/ckpt/2.pt": large, "kept/a\nb <i>.csv": b"odd"})


def test_files_come_whole_and_only_once(site, tmp_path):
    wanted = chosen([site.listing()], ["ckpt/*.pt"], tmp_path)
    told = []
    paths = fetch(site, wanted, lambda state: told.append(state.text))
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["ckpt/1.pt", "ckpt/2.pt"]
    assert paths[1].read_bytes() == site.content["kept/ckpt/2.pt"]
    assert paths[1].stat().st_mtime == 1_700_000_000
    assert site.pieces == 3
    assert told[-1] == "2 of 2 files, 4 MB of 4 MB"
    assert fetch(site, wanted) == paths
    assert site.pieces == 3
    paths[0].write_bytes(b"two")
    fetch(site, wanted)
    assert (paths[0].read_bytes(), site.pieces) == (b"one", 4)
    assert sorted(path.name for path in (tmp_path / "ckpt").iterdir()) == ["1.pt", "2.pt"]


def test_a_file_that_is_not_what_its_receipt_says_is_not_kept(site, tmp_path):
    wanted = chosen([site.listing()], ["ckpt/1.pt"], tmp_path)
    for changed in (b"onE", b"on", b"ones"):
        site.content["kept/ckpt/1.pt"] = changed
        with pytest.raises(ResultUnavailable, match=r"ckpt/1\.pt is not what its receipt says"):
            fetch(site, wanted)
        assert list((tmp_path / "ckpt").iterdir()) == []


def test_an_interrupted_fetch_leaves_no_parts(site, tmp_path):
    begun = threading.Event()

    def interrupted(state):
        begun.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(site, chosen([site.listing()], ["**"], tmp_path), interrupted)
    assert begun.is_set()
    assert [path for path in tmp_path.rglob("*part*")] == []  # noqa: C416 - a list to compare


def test_members_have_folders_of_their_numbers(site, tmp_path):
    wanted = chosen([site.listing(3), site.listing(12)], ["*.csv"], tmp_path, by_member=True)
    assert [each.place.relative_to(tmp_path).parts for each in wanted] == [
        ("0003", "a\nb <i>.csv"), ("0012", "a\nb <i>.csv"),
    ]  # fmt: skip


def test_what_no_pattern_names_is_told_with_what_there_is(site, tmp_path):
    with pytest.raises(NotFound, match=r"No file is named by \*\.onnx; it kept ckpt/1\.pt, ckpt/2\.pt"):
        chosen([site.listing()], ["*.onnx"], tmp_path)
    with pytest.raises(NotFound, match="it kept none: say --stage-out"):
        chosen([FileList(task="t", name="fit", attempt=1, site="far")], ["*"], tmp_path)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a//b"])
def test_a_listing_cannot_name_a_place_outside_of_the_folder(tmp_path, path):
    listing = FileList(
        task="t", name="fit", attempt=1, site="far", files=(TaskFile(kind="value", path=path, ask="result/x"),)
    )
    with pytest.raises(InvalidRequest, match="would leave the folder"):
        chosen([listing], [path], tmp_path)


def test_files_show_as_a_table_in_which_their_names_are_data(site):
    files = Files([site.listing()])
    assert [file.path for file in files] == ["ckpt/1.pt", "ckpt/2.pt", "a\nb <i>.csv"]
    assert files[0].bytes == 3
    assert "a\\nb <i>.csv" in repr(files)
    assert repr(files).splitlines()[-1] == "Not among them: 2: too large"
    assert "<i>" not in files._repr_html_()
    table = files.table()
    assert list(table["bytes"]) == [3, PIECE_BYTES + 3, 3]
    assert list(Files([site.listing(3)], of_group=True).table().index) == [3, 3, 3]
