"""Bytes that change, sources that change, lines that are cut, dotfiles that print: nothing wrong is put in place."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from jupyter_diamond.data.copy import CopyMover
from jupyter_diamond.data.rsync import RsyncMover
from tests.data.conftest import asked, at, home, read, tree

pytestmark = pytest.mark.asyncio


class Meddling(CopyMover):
    """A copy whose bytes somebody meddles with after they came, as often as it is told."""

    def __init__(self, *acts):
        self.acts = list(acts)

    async def fetch(self, work):
        sent = await super().fetch(work)
        if self.acts:
            self.acts.pop(0)(work)
        return sent


def flipped(work):
    (Path(work.part) / "x").write_bytes(b"2")


def more(work):
    (Path(work.part) / "y").write_bytes(b"2")


def written(work):
    (Path(work.move.source.path) / "x").write_bytes(b"longer")


@pytest.mark.parametrize(("act", "said", "arrives"), [
    (flipped, "did not arrive at home as they were sent", b"1"),
    (more, "did not arrive at home as they were sent", b"1"),
    (written, "was changed while it was moved", b"longer"),
])  # fmt: skip
async def test_what_came_wrong_is_never_put_in_place_and_fetched_anew(room, tmp_path, act, said, arrives):
    desk = await room.open()
    desk.movers["copy"] = Meddling(act)
    tree(tmp_path, {"from/x": b"1"})
    done = await desk.wait((await desk.start(asked(home(tmp_path / "from"), home(tmp_path / "to")))).id)
    assert (done.state, done.progress.faults, read(tmp_path / "to")) == ("succeeded", 1, {"x": arrives})
    assert any(said in line for line in done.log)


async def test_what_comes_wrong_each_time_is_given_up(room, tmp_path, monkeypatch):
    monkeypatch.setattr("jupyter_diamond.engine.transfers.driver._TRIES", 2)
    desk = await room.open()
    desk.movers["copy"] = Meddling(flipped, flipped)
    tree(tmp_path, {"from/x": b"1"})
    done = await desk.wait((await desk.start(asked(home(tmp_path / "from"), home(tmp_path / "to")))).id)
    assert (done.state, done.fault, (tmp_path / "to").exists()) == ("failed", "corrupt", False)


async def test_what_was_found_the_same_is_read_again_only_when_it_may_have_changed(room, tmp_path):
    desk = await room.open()
    tree(tmp_path, {"from/x": b"1", "from/y": b"y"})
    wanted = (home(tmp_path / "from"), home(tmp_path / "to"))
    first = await desk.wait((await desk.start(asked(*wanted))).id)
    assert first.compared is not None
    there = tmp_path / "to" / "x"
    when = there.stat().st_mtime_ns
    there.write_bytes(b"2")
    os.utime(there, ns=(when, when))
    unread = await desk.wait((await desk.start(asked(*wanted))).id)
    assert (unread.progress.bytes_sent, there.read_bytes()) == (0, b"2"), (
        "no program that writes leaves the time as it was"
    )
    os.utime(there, ns=(when, when + 1))
    again = await desk.wait((await desk.start(asked(*wanted))).id)
    assert (again.progress.bytes_sent, there.read_bytes()) == (1, b"1")


@pytest.mark.sshd
@pytest.mark.parametrize("kind", ["rsync", "stream"])
async def test_a_line_that_is_cut_costs_only_what_was_under_way(far, nodes, tmp_path, kind):
    desk = await far.open()
    content = os.urandom(6 << 20)
    tree(tmp_path, {"from": content})
    source = home(tmp_path / "from") if kind == "rsync" else at("anvil", tmp_path / "from")
    await desk.look(at("delta", tmp_path))  # the connection is open
    nodes["delta"].line.cut_after = 3 << 20
    done = await desk.wait((await desk.start(asked(source, at("delta", tmp_path / "to")))).id)
    assert (done.state, done.mover, done.progress.faults) == ("succeeded", kind, 1)
    assert (tmp_path / "to").read_bytes() == content
    assert any("connection to delta was lost" in line for line in done.log)
    assert len(content) <= done.progress.bytes_sent < 2 * len(content)


@pytest.mark.sshd
@pytest.mark.parametrize("kind", ["rsync", "stream"])
async def test_cancelled_in_the_middle_it_leaves_nothing_behind(far, nodes, tmp_path, kind):
    desk = await far.open()
    tree(tmp_path, {"from": os.urandom(6 << 20)})
    source = home(tmp_path / "from") if kind == "rsync" else at("anvil", tmp_path / "from")
    (tmp_path / "to").mkdir()
    nodes["delta"].line.delay_s = 0.01
    try:
        begun = await desk.start(asked(source, at("delta", tmp_path / "to" / "x")))
        part = tmp_path / "to" / f".diamond-part-{begun.id}"
        while not part.exists():  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
        await desk.cancel(begun.id, "you")
    finally:
        nodes["delta"].line.delay_s = 0.0
    done = await desk.wait(begun.id)
    assert (done.state, done.log[-1]) == ("cancelled", "What had come so far was taken away")
    assert list((tmp_path / "to").iterdir()) == []


@pytest.mark.sshd
async def test_where_dotfiles_print_rsync_cannot_talk_and_a_stream_does(far, nodes, tmp_path):
    bashrc = nodes["delta"].folder / "home" / ".bashrc"
    before = bashrc.read_text()
    bashrc.write_text(before + "echo Welcome to delta; echo purge notice >&2\n")
    try:
        desk = await far.open()
        tree(tmp_path, {"from/a": b"1", "from/b/c": b"2"})
        done = await desk.wait((await desk.start(asked(at("delta", tmp_path / "from"), home(tmp_path / "to")))).id)
    finally:
        bashrc.write_text(before)
    assert isinstance(desk.movers["rsync"], RsyncMover)
    assert (done.state, done.mover, read(tmp_path / "to")) == ("succeeded", "rsync", {"a": b"1", "b/c": b"2"})
