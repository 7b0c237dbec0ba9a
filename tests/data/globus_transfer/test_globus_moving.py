"""What Globus Transfer brings, and how: once, under a temporary name, compared where it is there already."""

import asyncio
import os

import pytest

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.transfer import Filter

from .between import Between

pytestmark = pytest.mark.asyncio

TREE = {"in/x.bin": os.urandom(300_000), "in/sub/y.txt": "hello\n", "in/skip.tmp": "z", "in/sp ace/ü.txt": "ü"}


def tree(without=()):
    return {
        name.removeprefix("in/"): text if isinstance(text, bytes) else text.encode()
        for name, text in TREE.items()
        if name not in without
    }


@pytest.fixture(params=[True, False], ids=["shell", "collection"])
def between(request, between_of):
    """With a shell at the destination, and without: then Globus itself renames."""
    return between_of(shell=request.param)


async def test_a_folder_comes_under_a_temporary_name_and_is_renamed(between):
    between.write(**TREE)
    moved = await between.move()
    assert between.found() == tree()
    (task,) = between.submitted
    (item,) = task.asked["DATA"]
    assert (item["source_path"], item["destination_path"]) == ("/in/", "/.diamond-part-x0123456789/")
    assert between.parts == []
    assert (moved.size.files, moved.bytes_sent) == (4, 300_009)
    assert moved.size.bytes == 300_009
    assert between.states == ["active", "placing"]
    assert moved.native["task"] == task.id
    assert any("Renamed into place" in line for line in moved.log)
    assert between.told[-1].files_done == between.told[-1].files_total == 4


async def test_a_file_goes_onto_a_file(between):
    between.write(**TREE)
    (between.b.root / "deep").mkdir()
    (between.b.root / "deep" / "y").write_text("old and longer")
    moved = await between.move(between.transfer("/in/sub/y.txt", "/deep/y"))
    assert between.found("deep") == {"y": b"hello\n"}
    assert (moved.size.bytes, moved.size.files) == (6, 1)
    assert "replaced" in " ".join(moved.log)
    assert between.told[-1].bytes_total == between.told[-1].bytes_done == 6


async def test_folders_above_the_destination_are_made(between):
    between.write(**TREE)
    await between.move(between.transfer("/in/sub", "/new/and/deep"))
    assert between.found("new/and/deep") == {"y.txt": b"hello\n"}


async def test_only_the_files_that_were_asked_for(between):
    between.write(**TREE)
    await between.move(between.transfer(files=("sub/y.txt", "x.bin")))
    assert between.found() == tree(without=("in/skip.tmp", "in/sp ace/ü.txt"))


async def test_filters_leave_names_out(between):
    between.write(**TREE)
    without = (Filter(method="exclude", name="*.tmp", type="file"), Filter(method="exclude", name="sp*", type="dir"))
    await between.move(between.transfer(filters=without))
    assert between.found() == tree(without=("in/skip.tmp", "in/sp ace/ü.txt"))


@pytest.mark.parametrize("sync", ["exists", "size", "mtime", "checksum"])
async def test_the_second_time_nothing_moves(between, sync):
    between.write(**TREE)
    await between.move()
    stamps = {path: path.stat().st_mtime_ns for path in between.b.root.rglob("*")}
    between.kept = {}
    moved = await between.move(between.transfer(sync=sync))
    assert (moved.bytes_sent, moved.files_skipped, between.found()) == (0, 4, tree())
    assert {path: path.stat().st_mtime_ns for path in between.b.root.rglob("*")} == stamps
    assert between.parts == []


async def test_what_differs_is_sent_and_what_is_more_stays(between):
    between.write(**TREE)
    await between.move()
    (between.b.root / "out" / "of his own").write_text("stays")
    between.write(**{"in/sub/y.txt": "longer than it was\n", "in/new": "new"})
    between.kept = {}
    moved = await between.move()
    assert between.found() == {
        **tree(), "sub/y.txt": b"longer than it was\n", "new": b"new", "of his own": b"stays"
    }  # fmt: skip
    assert (moved.bytes_sent, moved.files_skipped) == (22, 3)
    assert between.parts == []


async def test_the_same_size_is_not_the_same_content(between):
    between.write(**TREE)
    await between.move()
    between.write(**{"in/sub/y.txt": "jello\n"})
    for sync, sent in (("size", 0), ("checksum", 6)):
        between.kept = {}
        assert (await between.move(between.transfer(sync=sync))).bytes_sent == sent
    assert between.found()["sub/y.txt"] == b"jello\n"


@pytest.mark.parametrize("source", ["/in", "/in/sub/y.txt"])
async def test_what_was_found_the_same_is_read_again_only_after_a_change(between_of, source):
    between = between_of()
    between.write(**TREE)
    await between.move(between.transfer(source=source))
    tasks, compared = len(between.submitted), between.kept["compared"]
    between.kept = {"compared": compared}
    moved = await between.move(between.transfer(source=source))
    assert (moved.bytes_sent, len(between.submitted), between.parts) == (0, tasks, [])
    between.write(**{"in/sub/y.txt": "jello\n"})
    os.utime(between.a.root / "in/sub/y.txt", (1, 1))
    between.kept = {"compared": compared}
    assert (await between.move(between.transfer(source=source))).bytes_sent == 6
    assert between.kept["compared"] != compared


async def test_what_changed_while_it_came_is_not_taken_for_the_same(between_of):
    between = between_of()
    between.write(**TREE)
    await between.move()
    stamp = iter(range(1, 1000))
    between.kept, between.on_keep = {}, lambda _: os.utime(between.a.root / "in/sub/y.txt", (1, next(stamp)))
    await between.move()
    assert between.kept["compared"] is None


async def test_without_a_measure_everything_is_sent_again(between):
    between.write(**TREE)
    await between.move()
    between.kept = {}
    assert (await between.move(between.transfer(sync=None))).bytes_sent == 300_009


async def test_an_empty_folder_is_moved_too(between):
    (between.a.root / "in" / "empty").mkdir(parents=True)
    await between.move()
    assert (between.b.root / "out" / "empty").is_dir()


async def test_links_are_left_out_and_the_log_says_so(between):
    between.write(**TREE)
    (between.a.root / "in" / "link").symlink_to("/etc")
    moved = await between.move()
    assert between.found() == tree()
    assert any("Left out: 1 symbolic links" in line for line in moved.log)


async def test_a_file_and_a_folder_do_not_replace_each_other(between):
    between.write(**TREE)
    (between.b.root / "out").write_text("a file")
    with pytest.raises(DataProblem, match="is a file, and a folder is to come there") as told:
        await between.move()
    assert told.value.kind == "refused"
    (between.b.root / "dir").mkdir()
    with pytest.raises(DataProblem, match="is a folder, and a file is to come there"):
        await between.move(between.transfer("/in/x.bin", "/dir"))
    assert between.submitted == []


async def test_the_document_says_what_was_asked(between):
    between.write(**TREE)
    transfer = between.transfer(verify=False, sync="mtime")
    await between.move(transfer)
    asked = between.submitted[0].asked
    assert (asked["verify_checksum"], asked["sync_level"], asked["preserve_timestamp"]) == (False, 2, True)
    assert asked["deadline"] == transfer.deadline.isoformat(timespec="seconds")
    assert asked["fail_on_quota_errors"]
    assert not any(asked[f"notify_on_{what}"] for what in ("succeeded", "failed", "inactive"))
    assert transfer.id in asked["label"]


async def test_how_large_the_source_is_can_be_seen_without_a_shell(between):
    between.write(**TREE)
    end = between.made(between.transfer()).source
    found = await between.mover.look(end)
    assert (found.kind, found.total_bytes, len(found.files), found.whole) == ("folder", 300_009, 4, True)
    missing = between.made(between.transfer("/nowhere")).source
    assert (await between.mover.look(missing)).kind == "missing"


@pytest.mark.parametrize(("path", "kind"), [
    ("/in", "folder"), ("/", "folder"), ("/in/x.bin", "file"), ("/in/sub/", "folder"), ("/gone", "missing"),
    ("/gone/deeper", "missing"), ("/~/in/x.bin", "file"), ("/~/", "folder"),
])  # fmt: skip
async def test_a_collection_that_cannot_tell_of_one_path_lists_its_folder(between_of, path, kind):
    between = between_of()
    between.write(**TREE)
    for between.a.stats in (True, False):
        assert (await between.mover.calls.look(between.a.id, path)).kind == kind


async def test_several_are_asked_for_in_one_question(between_of, tmp_path):
    """The service counts requests: whoever moves much does not ask for each."""
    between = between_of(shell=False)
    between.write(**{f"in{n}/f": "x" * 40 for n in range(5)})
    between.b.rate = 100
    ways = [Between.__new__(Between) for _ in range(5)]
    for number, way in enumerate(ways):
        way.__dict__ |= {**between.__dict__, "said": [], "told": [], "links": [], "kept": {}}
        way.request = between.transfer(f"/in{number}", f"/out{number}").model_copy(update={"id": f"x{number}"})
    await asyncio.gather(*(way.move(way.request) for way in ways))
    assert [between.found(f"out{n}") for n in range(5)] == [{"f": b"x" * 40}] * 5
    assert between.services.requests("GET /v0.10/task_list")
