"""What is asked of transfers, and how they are driven: refused at once, taken in turns, tried again, cancelled, late."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_diamond.data.base import Moved
from jupyter_diamond.errors import DataProblem, InvalidRequest, NotFound, TransportError
from jupyter_diamond.model.data import DataSize, Location
from jupyter_diamond.model.transfer import Progress
from tests.data.conftest import asked, home, read, tree

pytestmark = pytest.mark.asyncio


class Scripted:
    """Moves as a test says: errors are raised in turn, then it waits for ``go``."""

    kind = "copy"

    def __init__(self, *problems):
        self.problems, self.go = list(problems), asyncio.Event()
        self.moves, self.now, self.most, self.cancelled, self.seen = [], 0, 0, [], []
        self.begun, self.refusals = asyncio.Event(), []

    async def move(self, move):
        self.moves.append(move)
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.set()
        try:
            if self.problems:
                raise self.problems.pop(0)
            move.tell(Progress(bytes_total=2 << 20, bytes_done=1 << 20))
            await self.go.wait()
        finally:
            self.now -= 1
        return Moved(DataSize(bytes=2 << 20, files=2), bytes_sent=2 << 20, log=("done",))

    async def cancel(self, move):
        if self.refusals:
            raise self.refusals.pop()
        self.cancelled.append(move.transfer.id)


@pytest.fixture
def begin(room, tmp_path):
    """Open a desk with a scripted mover: ``await begin(mover)``."""
    tree(tmp_path / "from", {"x": b"1"})

    async def begin(mover, **data):
        desk = await room.open(**data)
        desk.movers["copy"] = mover
        return desk

    return begin


def request(tmp_path, **fields):
    return asked(home(tmp_path / "from"), home(tmp_path / "to"), **fields)


async def events(room, kind):
    page = await room.services[0].events(0)
    return [event.data for event in page.events if event.type == kind]


async def test_what_cannot_be_is_refused_when_it_is_asked(room, tmp_path):
    desk = await room.open()
    tree(tmp_path, {"from/x": b"1", "file": b"f"})
    for source, files, kind in ((tmp_path / "no", (), "missing"), (tmp_path / "from", ("x", "y"), "missing")):
        with pytest.raises(DataProblem) as caught:
            await desk.start(asked(home(source), home(tmp_path / "to"), files=files))
        assert caught.value.kind == kind
        assert str(source) in caught.value.message
    with pytest.raises(DataProblem, match="a folder is to come there"):
        await desk.start(asked(home(tmp_path / "from"), home(tmp_path / "file")))
    with pytest.raises(InvalidRequest, match="both source and destination"):
        await desk.start(asked(home(tmp_path), home(tmp_path)))
    with pytest.raises(InvalidRequest, match="does not name a file below"):
        await desk.start(asked(home(tmp_path), home(tmp_path / "to"), files=("../x",)))
    with pytest.raises(NotFound, match="no site"):
        await desk.start(asked(Location(kind="site", site="nope", path="/x"), home(tmp_path / "to")))
    assert await desk.list() == ()


async def test_a_file_that_is_sent_to_a_folder_gets_its_name_there_and_a_list_comes_below(room, tmp_path):
    desk = await room.open()
    tree(tmp_path, {"from/a": b"1", "from/d/b": b"2", "from/c": b"3", "to/old": b"o"})
    first = await desk.start(asked(home(tmp_path / "from/a"), home(tmp_path / "to")))
    second = await desk.start(asked(home(tmp_path / "from"), home(tmp_path / "to2"), files=("d/b", "c")))
    assert [(await desk.wait(each.id)).state for each in (first, second)] == ["succeeded"] * 2
    assert read(tmp_path / "to") == {"old": b"o", "a": b"1"}
    assert read(tmp_path / "to2") == {"d/b": b"2", "c": b"3"}
    assert await desk.rate("home", "home") is None, "so little tells nothing"


async def test_the_same_token_is_the_same_transfer_and_again_is_another(begin, tmp_path):
    mover = Scripted()
    desk = await begin(mover)
    wanted = request(tmp_path, task=None)
    first = await desk.start(wanted)
    assert (await desk.start(wanted)).id == first.id
    with pytest.raises(InvalidRequest, match="still goes on"):
        await desk.again(first.id, "user")
    mover.go.set()
    done = await desk.wait(first.id[:6])
    assert (done.state, done.log[-1], done.progress.bytes_done, done.link) == ("succeeded", "done", 2 << 20, "")
    other = await desk.again(first.id, "user")
    assert other.id != first.id
    assert (await desk.wait(other.id)).state == "succeeded"
    assert await desk.rate("home", "home") > 0
    assert [each.id for each in await desk.list()] == [other.id, first.id]
    assert await desk.list(active=True) == ()


async def test_what_may_pass_is_tried_again_and_what_needs_the_user_says_so(begin, room, tmp_path):
    mover = Scripted(
        TransportError("delta is away.", outcome="not_sent"),
        DataProblem("Log in.", kind="needs_you", link="https://example.org/login"),
    )
    desk = await begin(mover)
    begun = await desk.start(request(tmp_path))
    mover.go.set()
    done = await desk.wait(begun.id)
    assert (done.state, done.progress.faults, len(mover.moves)) == ("succeeded", 2, 3)
    told = [(each["state"], each["why"]) for each in await events(room, "transfer.trouble")]
    assert told == [("active", "delta is away."), ("needs_you", "Log in.")]
    assert [move.transfer.link for move in mover.moves] == ["", "", "https://example.org/login"]


async def test_what_cannot_pass_ends_it_with_what_to_do(begin, tmp_path):
    mover = Scripted(DataProblem("No room.", kind="no_space", advice="Make room.", evidence=("ENOSPC",)))
    mover.refusals = [TransportError("delta is away.", outcome="not_sent")]
    desk = await begin(mover)
    done = await desk.wait((await desk.start(request(tmp_path))).id)
    assert (done.state, done.fault, done.cause, done.evidence) == ("failed", "no_space", "No room.", ("ENOSPC",))
    assert done.next == f"Make room. Then: %diamond transfer again {done.id}"
    assert mover.cancelled == [done.id], "nothing is left under its temporary name"


async def test_a_defect_of_a_mover_ends_its_transfer_alone(begin, tmp_path, caplog):
    mover = Scripted(ZeroDivisionError("oops"))
    desk = await begin(mover)
    done = await desk.wait((await desk.start(request(tmp_path))).id)
    assert (done.state, done.fault) == ("failed", "broken")
    mover.go.set()
    assert (await desk.wait((await desk.start(request(tmp_path))).id)).state == "succeeded"


async def test_it_is_cancelled_while_it_moves_and_before_its_turn(begin, tmp_path):
    mover = Scripted()
    desk = await begin(mover, at_once=1)
    first, second = [await desk.start(request(tmp_path)) for _ in range(2)]
    await mover.begun.wait()
    for each in (second, first):
        await desk.cancel(each.id, "you")
        done = await desk.wait(each.id)
        assert (done.state, done.cause) == ("cancelled", "Cancelled by you.")
    assert (mover.cancelled, len(mover.moves)) == ([first.id], 1)
    assert (await desk.cancel(first.id, "me")).cancel_requested_by == "you"


async def test_where_nothing_moves_that_is_said_until_something_does(begin, tmp_path, monkeypatch):
    monkeypatch.setattr("jupyter_diamond.engine.transfers.driver._TOLD_S", 0.1)
    mover = Scripted()
    desk = await begin(mover)
    desk.driver.stalled_s = 0.1
    begun = await desk.start(request(tmp_path))

    async def until(state):
        while (now := await desk.get(begun.id)).state != state:  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.02)
        return now

    assert (await until("stalled")).trouble.startswith("Nothing has moved for")
    mover.moves[0].tell(Progress(bytes_total=2 << 20, bytes_done=2 << 20))
    assert (await until("active")).trouble == ""


async def test_so_many_move_at_once_between_two_places(begin, tmp_path):
    mover = Scripted()
    desk = await begin(mover, at_once=2)
    begun = [await desk.start(request(tmp_path)) for _ in range(5)]
    while mover.now < 2:
        mover.begun.clear()
        await mover.begun.wait()
    mover.go.set()
    assert [(await desk.wait(each.id)).state for each in begun] == ["succeeded"] * 5
    assert mover.most == 2


async def test_a_deadline_ends_it_whatever_it_waits_for(begin, tmp_path):
    mover = Scripted()
    desk = await begin(mover)
    done = await desk.wait((await desk.start(request(tmp_path, deadline_s=0.2))).id)
    assert (done.state, done.fault, mover.cancelled) == ("failed", "late", [done.id])


async def test_another_server_goes_on_with_what_the_first_had_begun(begin, room, tmp_path):
    mover = Scripted()
    desk = await begin(mover)
    begun = await desk.start(request(tmp_path))
    await mover.begun.wait()
    await room.services[0].stop()
    later = Scripted()
    later.go.set()
    second = await room.open()
    second.movers["copy"] = later
    done = await second.wait(begun.id)
    assert (done.state, len(mover.moves)) == ("succeeded", 1)
    assert mover.cancelled == [], "what moves elsewhere is left alone"
