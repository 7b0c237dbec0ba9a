"""What Globus Transfer, its collections and the network can do to a transfer: one task, one sentence, no day of waiting."""

import asyncio
import time

import pytest

from jupyter_diamond.data.globus_watch import Pace
from jupyter_diamond.errors import DataProblem, GlobusProblem

from .between import QUICK

pytestmark = pytest.mark.asyncio

SUBMIT = "POST /v0.10/transfer"
PORTAL = "<html><title>Campus network: accept the terms</title></html>"


async def until(check, seconds=15.0):
    """Poll until ``check`` gives something true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        await asyncio.sleep(0.01)
    return found


async def problem_of(between, transfer=None):
    with pytest.raises(DataProblem) as told:
        await asyncio.wait_for(between.move(transfer), 30)
    assert told.value.message.endswith(".")
    assert "\n" not in told.value.message
    return told.value


@pytest.fixture
def small(between):
    between.write(**{"in/x": "x" * 3000, "in/y": "y"})
    return between


# ---- what is not there, or closed


async def test_a_missing_source_is_told_before_anything_is_submitted(between):
    problem = await problem_of(between)
    assert (problem.kind, between.submitted) == ("missing", [])
    assert "/in is not there" in problem.message


async def test_a_file_that_is_missing_ends_the_task_and_is_named(small):
    """B30: the service would try it until the deadline, and call it active."""
    problem = await problem_of(small, small.transfer(files=("x", "gone.h5"), deadline_s=86_400))
    assert problem.kind == "missing"
    assert "/in/gone.h5 is not there" in problem.message
    assert "again" in problem.advice
    assert any("FILE_NOT_FOUND" in line for line in problem.evidence)
    (task,) = small.submitted
    assert (task.document["status"], task.cancelled.is_set()) == ("FAILED", True)


async def test_a_file_that_may_not_be_read_ends_the_task_and_is_named(small):
    small.a.denied = ("in/y",)
    problem = await problem_of(small)
    assert problem.kind == "permission"
    assert "/in/y may not be read" in problem.message
    assert small.submitted[0].ended


@pytest.mark.parametrize("end", ["a", "b"])
async def test_a_closed_path_is_told_before_anything_is_submitted(small, end):
    getattr(small, end).denied = ("in", "out")
    problem = await problem_of(small)
    assert (problem.kind, small.submitted) == ("permission", [])
    assert f"of Site {end.upper()}" in problem.message


async def test_a_destination_that_its_shell_may_not_write_is_told_before_anything_is_submitted(small):
    (small.b.root / "out").write_text("a file, so nothing can lie below it")
    problem = await problem_of(small, small.transfer(destination="/out/deeper"))
    assert (problem.kind, small.submitted) == ("permission", [])


async def test_a_collection_that_there_is_not(small):
    del small.services.transfer.collections[small.b.id]
    problem = await problem_of(small)
    assert problem.kind == "no_way"
    assert "There is no such collection" in problem.message


async def test_no_room_left(small):
    small.b.fail = ("QUOTA_EXCEEDED", "Disk quota exceeded")
    problem = await problem_of(small)
    assert problem.kind == "no_space"
    assert "Disk quota exceeded" in problem.message


# ---- what the service does


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("fault", [
    {"status": 502}, {"status": 504}, {"drop": True}, {"status": 200, "body": PORTAL}, {"status": 429},
], ids=["502", "504", "dropped", "portal", "429"])  # fmt: skip
async def test_a_submission_whose_answer_is_lost_is_one_task(small, fault, when):
    rule = small.services.fault(SUBMIT, times=2, when=when, **fault)
    await small.move()
    assert rule.hits == 2
    assert len(small.submitted) == 1
    assert small.kept["native_id"] == small.submitted[0].id
    assert small.found() == {"x": b"x" * 3000, "y": b"y"}


async def test_what_is_kept_is_kept_before_it_is_needed(small):
    order = []
    small.on_keep = lambda fields: order.append((*fields, len(small.submitted)))
    await small.move()
    assert order == [("submission_id", 0), ("native_id", 1), ("compared", 1)]


async def test_a_refused_submission_is_not_tried_again(small):
    body = {"code": "ClientError.BadRequest", "message": "No such sync level", "request_id": "x"}
    rule = small.services.fault(SUBMIT, times=-1, status=400, body=body)
    problem = await problem_of(small)
    assert (problem.kind, rule.hits) == ("refused", 1)
    assert "No such sync level" in problem.message


async def test_the_service_may_be_away_for_a_while(small):
    small.b.rate = 10_000
    moving = asyncio.create_task(small.move())
    await until(lambda: small.told)
    small.services.down()
    await asyncio.sleep(0)
    await until(lambda: "stalled" in small.states)
    small.services.up()
    await moving
    assert small.found() == {"x": b"x" * 3000, "y": b"y"}
    assert len(small.submitted) == 1


async def test_damaged_files_are_sent_again_until_they_are_right(small):
    small.b.corrupt = 1
    moved = await small.move()
    assert small.found() == {"x": b"x" * 3000, "y": b"y"}
    assert moved.bytes_sent > moved.size.bytes == 3001
    assert (small.told[-1].faults, small.told[-1].bytes_sent) == (1, moved.bytes_sent)


async def test_how_far_it_is(small):
    small.b.rate = 15_000
    await small.move()
    middle = [told for told in small.told if 0 < told.bytes_done < 3001]
    assert middle
    assert all((told.bytes_sent, told.files_total) == (told.bytes_done, 2) for told in middle)
    assert all(told.rate > 0 for told in middle)
    assert [told.bytes_done for told in small.told] == sorted(told.bytes_done for told in small.told)


async def test_the_time_that_is_left_is_told_where_the_size_is_known(small):
    small.b.rate = 15_000
    await small.move(small.transfer("/in/x", "/x"))
    assert any(told.eta_s and told.bytes_total == 3000 for told in small.told)


@pytest.mark.parametrize("code", ["ENDPOINT_TOO_BUSY", "CONNECT_FAILED"])
async def test_a_stall_is_told_in_the_service_s_words_and_ends(small, code):
    small.a.stall = code
    moving = asyncio.create_task(small.move())
    await until(lambda: "stalled" in small.states)
    assert code.replace("_", " ").capitalize() in small.said[-1][1]
    small.b.rate = 15_000
    small.a.stall = None
    await moving
    assert small.states == ["active", "stalled", "active", "placing"]


async def test_a_pause_is_told_with_its_message_and_ends(small):
    small.b.paused = "Maintenance until noon"
    moving = asyncio.create_task(small.move())
    await until(lambda: "paused" in small.states)
    assert "Maintenance until noon" in small.said[-1][1]
    small.b.rate = 15_000
    small.b.paused = None
    await moving
    assert small.states[-3:] == ["paused", "active", "placing"]


async def test_a_collection_that_is_not_connected_is_waited_for(small):
    small.a.connected = False
    moving = asyncio.create_task(small.move())
    await until(lambda: "stalled" in small.states)
    assert "is not currently connected" in small.said[-1][1]
    small.a.connected = True
    await moving
    assert small.found() == {"x": b"x" * 3000, "y": b"y"}


async def test_a_connection_that_is_lost_midway_is_waited_for(small):
    small.b.rate = 15_000
    moving = asyncio.create_task(small.move())
    await until(lambda: any(told.bytes_done for told in small.told))
    small.b.connected = False
    await until(lambda: "stalled" in small.states)
    small.b.connected = True
    await moving
    assert len(small.submitted) == 1


async def test_a_fatal_error_is_told(small):
    small.b.fail = ("INTERNAL_ERROR", "The disk is on fire")
    problem = await problem_of(small)
    assert problem.kind == "broken"
    assert "The disk is on fire" in problem.message


async def test_files_that_were_left_out_are_no_success(small):
    small.b.rate = 15_000
    moving = asyncio.create_task(problem_of(small))
    await until(lambda: small.told)
    small.submitted[0].skipped.append({"source_path": "/in/left"})
    small.submitted[0].document["subtasks_skipped_errors"] = 1
    problem = await moving
    assert "left out 1 files: /in/left" in problem.message


# ---- its end


async def test_a_deadline_ends_the_task_as_well(small):
    small.a.stall = "ENDPOINT_TOO_BUSY"
    problem = await problem_of(small, small.transfer(deadline_s=1.0))
    assert problem.kind == "late"
    await until(lambda: small.submitted[0].ended)
    assert small.found() == {}


async def test_somebody_else_cancels_it(small):
    small.b.rate = 1000
    moving = asyncio.create_task(problem_of(small))
    task = await until(lambda: small.submitted and small.submitted[0])
    task.cancelled.set()
    problem = await moving
    assert problem.kind == "refused"
    assert "cancelled at Globus, not from here" in problem.message


async def test_an_administrator_cancels_it(small):
    small.b.rate = 1000
    moving = asyncio.create_task(problem_of(small))
    task = await until(lambda: small.submitted and small.submitted[0])
    task.document |= {"canceled_by_admin": "SOURCE", "canceled_by_admin_message": "Too much for a Friday"}
    task.cancelled.set()
    assert "Too much for a Friday" in (await moving).message


@pytest.mark.parametrize("shell", [True, False])
async def test_cancelling_ends_the_task_and_takes_its_own_part_away(between_of, shell):
    between = between_of(shell=shell)
    between.write(**{"in/x": "x" * 3000})
    (between.b.root / ".diamond-part-another").write_text("of another transfer")
    between.b.rate = 3000
    moving = asyncio.create_task(between.move())
    await until(lambda: len(between.parts) > 1)
    moving.cancel()
    await asyncio.wait({moving})
    assert not between.submitted[0].ended, "who stops waiting leaves alone what goes on"
    await between.mover.cancel(between.made(between.transfer()))
    assert between.submitted[0].ended
    await until(lambda: between.parts == [".diamond-part-another"])
    await between.mover.cancel(between.made(between.transfer()))  # again, it does no harm
    assert len(between.submitted) == 1


async def test_cancelling_finds_the_task_whose_answer_was_lost(small):
    small.b.rate = 1000
    rule = small.services.fault(SUBMIT, drop=True, when="after", times=1)
    small.on_keep = lambda fields: None
    moving = asyncio.create_task(small.move())
    await until(lambda: rule.hits and small.submitted)
    moving.cancel()
    await asyncio.wait({moving})
    small.kept.pop("native_id", None)
    await small.mover.cancel(small.made(small.transfer()))
    assert [task.ended for task in small.submitted] == [True]


async def test_cancelling_what_was_never_begun_asks_nobody(small):
    await small.mover.cancel(small.made(small.transfer()))
    assert small.services.requests() == []


async def test_cancelling_while_the_service_is_away_is_to_be_asked_again(small):
    small.kept = {"submission_id": "s", "native_id": "n"}
    small.services.down()
    with pytest.raises(GlobusProblem) as told:
        await small.mover.cancel(small.made(small.transfer()))
    assert told.value.transient
    small.services.up()


async def test_a_task_that_the_service_has_forgotten_is_submitted_anew(small):
    small.b.rate = 3000
    moving = asyncio.create_task(small.move())
    task = await until(lambda: small.told and small.submitted[0])
    task.cancelled.set()
    await until(lambda: task.ended)
    small.services.transfer.forget_task(task.id)
    small.b.rate = None
    moved = await moving
    assert small.found() == {"x": b"x" * 3000, "y": b"y"}
    assert any("submitted anew" in line for line in moved.log)


async def test_the_pause_between_two_questions_grows_with_the_time_it_takes():
    pace = Pace()
    assert [pace.pause(ran) for ran in (0.0, 2.0, 20.0, 100.0, 10_000.0)] == [0.5, 1.0, 1.6, 8.0, 15.0]
    assert [pace.retry(n) for n in range(1, 8)] == [1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0]
    assert QUICK.pause(9.0) <= 0.05
