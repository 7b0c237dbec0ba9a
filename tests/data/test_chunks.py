"""Small files to a site that only Globus Compute reaches, and back; what is larger is told what it needs."""

from __future__ import annotations

import time

import pytest

from jupyter_diamond.data.base import End, Move
from jupyter_diamond.data.chunks import ChunkMover
from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.transport.local import LocalTransport
from tests.data.conftest import asked, at, home, read, tree
from tests.transport.conftest import endpoint, far, unmetered  # noqa: F401 - fixtures

pytestmark = [pytest.mark.asyncio, pytest.mark.globus]
FILES = {"a": b"1", "new\nline/b b": bytes(range(256)) * 40, "empty": b""}


def moving(source, destination, shells):
    """A movement between two paths with these shells."""
    now = from_epoch(time.time())
    transfer = Transfer(
        id="x0123456789",
        request=asked(source, destination),
        mover="chunks",
        created_at=now,
        deadline=now,
        state_since=now,
    )
    ends = [End(place, place.path, transport=shell) for place, shell in zip((source, destination), shells, strict=True)]

    async def nothing(*_, **__):
        pass

    return Move(transfer, *ends, keep=nothing, tell=lambda _: None, say=nothing)


@pytest.fixture
def shells(far, endpoint):  # noqa: F811
    return LocalTransport({}), far(endpoint)


async def test_small_files_go_there_and_come_back(shells, tmp_path):
    here, there = shells
    tree(tmp_path / "from", FILES)
    mover = ChunkMover(2 << 20)
    moved = await mover.move(moving(home(tmp_path / "from"), at("delta", tmp_path / "there"), (here, there)))
    assert (moved.size.files, moved.bytes_sent) == (3, sum(map(len, FILES.values())))
    back = moving(at("delta", tmp_path / "there" / "a"), home(tmp_path / "back"), (there, here))
    assert (await mover.move(back)).bytes_sent == 1
    assert (read(tmp_path / "there"), (tmp_path / "back").read_bytes()) == (FILES, b"1")
    await here.close()


async def test_what_is_too_much_says_what_it_needs(shells, tmp_path):
    here, there = shells
    tree(tmp_path / "from", {"x": b"123"})
    with pytest.raises(DataProblem, match="more than goes through Globus Compute") as caught:
        await ChunkMover(2).move(moving(home(tmp_path / "from"), at("delta", tmp_path / "there"), (here, there)))
    assert caught.value.kind == "no_way"
    assert not (tmp_path / "there").exists()
    await here.close()
