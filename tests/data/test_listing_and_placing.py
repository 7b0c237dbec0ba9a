"""What a site's shell tells of its files, also a poor shell; and what may be put where."""

from __future__ import annotations

import hashlib
import os
import shutil

import pytest
import pytest_asyncio

from jupyter_diamond.data.listing import digests, glance, look, tree_digest
from jupyter_diamond.data.placing import begin, discard, part_of, place
from jupyter_diamond.errors import DataProblem
from jupyter_diamond.transport.local import LocalTransport
from tests.data.conftest import read, tree

pytestmark = pytest.mark.asyncio
NAMES = {"new\nline": b"a", "-n": b"bb", "d/ two  spaces ": b"", "d/\xfc\u2028": b"c" * 9, "*": b"d"}
MARK = "x0123456789"


@pytest_asyncio.fixture
async def shell():
    shell = LocalTransport({})
    yield shell
    await shell.close()


@pytest_asyncio.fixture
async def poor(tmp_path):
    """A shell whose find has no -printf, and whose sha256sum no -z, as BusyBox's."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, option in (("find", "-printf"), ("sha256sum", "-z")):
        real = shutil.which(name)
        (programs / name).write_text(f'#!/bin/sh\nfor a; do [ "$a" != {option} ] || exit 1; done\nexec {real} "$@"\n')
        (programs / name).chmod(0o755)
    shell = LocalTransport({"PATH": f"{programs}:{os.environ['PATH']}"})
    yield shell
    await shell.close()


@pytest.fixture(params=["shell", "poor"])
def any_shell(request):
    return request.getfixturevalue(request.param)


async def test_hostile_names_come_with_size_time_and_digest(any_shell, tmp_path):
    folder = tree(tmp_path / "it's here", NAMES)
    (folder / "link").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    tree(folder, {".diamond-part-x1/half": b"?"})
    found = await look(any_shell, str(folder), where="here", digest=list(NAMES))
    assert {name: entry.bytes for name, entry in found.files.items()} == {
        name: len(data) for name, data in NAMES.items()
    }
    assert all(entry.mtime_s == int((folder / name).stat().st_mtime) for name, entry in found.files.items())
    assert (found.kind, found.folders, found.links, found.whole, found.unread) == ("folder", ("d",), 2, True, ())
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in NAMES.items()}
    assert found.digests == hashes
    assert found.room.bytes > 0
    some = await look(any_shell, str(folder), files=["-n", "d", "no\nsuch"], where="here")
    assert (set(some.files), some.missing) == ({name for name in NAMES if name[0] in "-d"}, ("no\nsuch",))
    assert await digests(any_shell, str(folder), ["*"], total_bytes=1, where="here") == {"*": hashes["*"]}
    one = await look(any_shell, str(folder / "-n"), where="here", digest=[""])
    assert (one.kind, one.files[""].bytes, one.digests) == ("file", 2, {"": hashes["-n"]})
    assert tree_digest(one.digests) == f"sha256:{hashes['-n']}"


async def test_a_listing_tells_what_changed_without_reading_it(shell, tmp_path):
    folder = tree(tmp_path / "d", {"x": b"1", "y": b"2"})
    first = (await look(shell, str(folder), where="here")).digest
    assert first == (await look(shell, str(folder), where="here")).digest
    os.utime(folder / "x", ns=(1, 1))
    assert first != (await look(shell, str(folder), where="here")).digest


async def test_what_is_not_there_is_told_from_what_is_something_else(shell, tmp_path):
    assert (await glance(shell, str(tmp_path / "no" / "where"), where="here")).kind == "missing"
    assert (await glance(shell, "/dev/null", where="here")).kind == "other"


@pytest.mark.parametrize(
    ("program", "row", "left"),
    [
        ("lfs", "{path} 900 0 1000 - 5 0 9 -", (100 * 1024, 4)),
        ("quota", "header\n{device} 900 950 1000 0 5 7 0 0", (100 * 1024, 2)),
        ("quota", "elsewhere 900 950 1000 0 5 7 0 0", None),
    ],
    ids=["lustre", "quota", "of another file system"],
)
async def test_room_is_what_the_users_quota_leaves(shell, tmp_path, program, row, left):
    device = (await shell.run(f"df -P {tmp_path} | awk 'NR==2{{print $1}}'", timeout_s=30)).out.strip()
    said = row.format(path=tmp_path, device=device)
    (tmp_path / program).write_text(f"#!/bin/sh\nprintf '%s\\n' '{said}'\n")
    (tmp_path / program).chmod(0o755)
    limited = LocalTransport({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    free = (await glance(shell, str(tmp_path / "data"), where="here")).room
    room = (await glance(limited, str(tmp_path / "data"), where="here")).room
    await limited.close()
    assert (room.bytes, room.inodes) == left if left is not None else room.bytes > 100 * 1024 and free.bytes
    with pytest.raises(DataProblem, match="could not be read to make its digest"):
        await digests(shell, str(tmp_path), ["no"], total_bytes=1, where="here")


async def test_a_folder_goes_into_one_that_is_there_and_goes_on_after_a_crash(shell, tmp_path):
    target = tree(tmp_path / "to", {"kept": b"k", "d/old": b"o", "d/same": b"1"})
    part = part_of(str(target), MARK, inside=True)
    await begin(shell, str(target), where="here", part=part, folders=("hollow",))
    tree(tmp_path / "to" / f".diamond-part-{MARK}", {"new\nname": b"n", "d/same": b"2", "d/e/f": b"f", ".h": b"h"})
    (target / ".h").write_bytes(b"h")
    (target / f".diamond-part-{MARK}" / ".h").unlink()  # as if it was renamed, and the server killed then
    lines = await place(shell, part, str(target), where="here")
    assert read(target) == {"kept": b"k", "d/old": b"o", "d/same": b"2", "new\nname": b"n", "d/e/f": b"f", ".h": b"h"}
    assert (target / "hollow").is_dir()
    assert lines == (f"Renamed into place: {target}; replaced 1 files: d/same",)
    assert await place(shell, part, str(target), where="here") == (f"Renamed into place: {target}",), "asked again"


@pytest.mark.parametrize("stands", ["a link to a folder", "a file", "a folder"])
async def test_nothing_is_put_through_a_link_or_in_place_of_something_else(shell, tmp_path, stands):
    outside, target = tree(tmp_path / "outside", {"x": b"safe"}), tree(tmp_path / "to", {"other": b"o"})
    name = "d" if stands == "a folder" else "d/x"
    part = tree(tmp_path / "to" / f".diamond-part-{MARK}", {name: b"new"})
    if stands == "a link to a folder":
        (target / "d").symlink_to(outside)
    elif stands == "a file":
        (target / "d").write_bytes(b"file")
    else:
        tree(target, {"d/y": b"y"})
    with pytest.raises(DataProblem, match="is to come there") as caught:
        await place(shell, str(part), str(target), where="here")
    assert caught.value.kind == "refused"
    assert (read(outside), (part / name).read_bytes()) == ({"x": b"safe"}, b"new")


async def test_only_its_own_parts_are_taken_away(shell, tmp_path):
    parts = [tmp_path / f".diamond-part-{mark}" for mark in (MARK, MARK + "0", "y")]
    for part in parts:
        tree(part, {"x": b"x"})
    await discard(shell, str(tmp_path / "to"), MARK)
    assert [part.exists() for part in parts] == [False, True, True]


async def test_a_destination_that_cannot_be_made_is_said(shell, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DataProblem, match="Nothing can be written beside"):
        await begin(shell, str(tmp_path / "file" / "to"), where="here")
