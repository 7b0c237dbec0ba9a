"""Every mover, over real shells and real ssh: what arrives is what was sent, and the second time nothing moves."""

from __future__ import annotations

import os

import pytest

from tests.data.conftest import asked, at, home, read, tree

pytestmark = pytest.mark.asyncio

HOSTILE = {
    "plain": b"1", "with space/and 'quotes'": b"2", "new\nline": b"3", "-rf": b"4", ".hidden": b"5", "$(touch x)": b"6",
    "deep/er/est/\u00fcml\u00e4ut": b"7", "@PART@": b"8", "empty": b"", "back\\slash": b"9", "big": os.urandom(3 << 20),
    "*": b"star",
}  # fmt: skip

WAYS = [
    pytest.param("copy", home, home, id="copy here"),
    pytest.param("rsync", home, lambda path: at("delta", path), marks=pytest.mark.sshd, id="rsync there"),
    pytest.param("rsync", lambda path: at("delta", path), home, marks=pytest.mark.sshd, id="rsync back"),
    pytest.param("copy", *[lambda path: at("delta", path)] * 2, marks=pytest.mark.sshd, id="copy at a site"),
    pytest.param(
        "stream", lambda path: at("delta", path), lambda path: at("anvil", path), marks=pytest.mark.sshd, id="stream"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "source", "destination"), WAYS)
async def test_folders_and_files_arrive_as_they_are_and_move_once(far, tmp_path, kind, source, destination):
    desk = await far.open()
    there, here = tmp_path / "to" / "there", tree(tmp_path / "from", HOSTILE)
    (here / "hollow" / "inside").mkdir(parents=True)
    (here / "out").symlink_to("/etc")
    done = await desk.wait((await desk.start(asked(source(here), destination(there)))).id)
    assert (done.state, done.mover, done.cause) == ("succeeded", kind, "")
    assert read(there) == HOSTILE
    assert (there / "hollow" / "inside").is_dir()
    assert not (there / "out").exists()
    assert any("Left out: 1 symbolic link" in line for line in done.log)
    assert done.progress.bytes_done == done.progress.bytes_sent == sum(map(len, HOSTILE.values()))
    assert done.digest is not None
    (here / "plain").write_bytes(b"other")
    again = await desk.wait((await desk.start(asked(source(here), destination(there)))).id)
    assert (again.state, again.progress.bytes_sent, again.progress.files_skipped) == ("succeeded", 5, len(HOSTILE) - 1)
    assert read(there) == {**HOSTILE, "plain": b"other"}
    assert again.log[-1].endswith("replaced 1 files: plain")
    third = await desk.wait((await desk.start(asked(source(here), destination(there), sync="mtime"))).id)
    assert (third.state, third.progress.bytes_sent) == ("succeeded", 0)
    (tmp_path / "alias").symlink_to(here / "with space" / "and 'quotes'")
    single = await desk.wait(
        (await desk.start(asked(source(tmp_path / "alias"), destination(tmp_path / "to" / "x")))).id
    )
    assert (single.state, single.mover, single.cause) == ("succeeded", kind, "")
    assert (tmp_path / "to" / "x").read_bytes() == HOSTILE["with space/and 'quotes'"]
    assert {path.name for path in (tmp_path / "to").iterdir()} == {"there", "x"}
