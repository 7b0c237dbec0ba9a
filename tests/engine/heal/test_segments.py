"""A work that is longer than its time limit, on this machine as a real site: segments, checkpoints, and when it stops."""

import re
from pathlib import Path

import pytest

from jupyter_diamond.engine.heal.segments import newest_script, read_newest, runner_options, warning
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.healing import Checkpoint, Healing
from jupyter_diamond.model.states import State
from jupyter_diamond.notebook.options import parse_submit
from jupyter_diamond.transport.base import Completed
from jupyter_diamond.transport.local import LocalTransport
from tests.engine.conftest import ended, until
from tests.engine.heal.samples import attempt, size, task
from tests.engine.looks import in_state, types, value

REPOSITORY = Path(__file__).parents[3]
COUNT = """
from jupyter_diamond import checkpoint
import os, time
last = checkpoint.latest()
step = int(open(last + '/step').read()) if last else 0
while step < {to}:
    with open({counted!r}, 'a') as file: file.write('%s %d\\n' % (os.environ['DIAMOND_SEGMENT'], step))
    step += 1
    time.sleep(0.05)
    if {when}:
        with checkpoint.saving('step-%d' % step) as folder: open(folder + '/step', 'w').write(str(step))
        {then}
answer = step
"""
LEAVE, STAY = "checkpoint.leave()", "time.sleep(600)"


def count(counted, *, to=100, when="checkpoint.warned()", then=LEAVE):
    return COUNT.format(to=to, counted=str(counted), when=when, then=then)


def segments(allowed, **fields):
    return Healing(segments=allowed, retries=0, moves=0, **fields)


def limit(seconds):
    return Envelope(walltime_s=Span.exactly(seconds))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("then", "cause"), [(LEAVE, "left off to be continued"), (STAY, "reached its time limit of 6 s")]
)
async def test_a_count_to_a_hundred_goes_on_where_the_last_segment_was_warned(bench, tmp_path, then, cause):
    service = await bench.start()
    source = count(tmp_path / "counted", then=then)
    task = await bench.submit(service, source, outputs=("answer",), healing=segments(9), envelope=limit(6))
    done = await ended(service, task, seconds=90)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    assert await value(service, done) == 100
    lines = [line.split() for line in (tmp_path / "counted").read_text().splitlines()]
    assert [int(step) for _, step in lines] == list(range(100)), "each step once"
    assert len(done.attempts) == int(lines[-1][0]) > 1
    first, second = done.attempts[:2]
    assert [(each.step, each.segment) for each in (first, second)] == [("first", 1), ("segment", 2)]
    assert first.failure == (None if then == LEAVE else "timeout")
    assert second.why == f"Segment 2 of 9, from checkpoint {first.checkpoint.name}: attempt 1 {cause}."
    story = await types(service, done)
    assert story.index("attempt.terminal") + 1 == story.index("task.segment")
    assert "task.retry" not in story


@pytest.mark.asyncio
async def test_a_bash_cell_goes_on_too(bench):
    source = (
        'n=$(cat "$DIAMOND_CHECKPOINTS/n" 2>/dev/null || echo 0); n=$((n + 1))\n'
        'echo "part $n"; [ "$n" = 3 ] && exit 0\n'
        'echo $n > "$DIAMOND_CHECKPOINTS/.n" && mv "$DIAMOND_CHECKPOINTS/.n" "$DIAMOND_CHECKPOINTS/n"\n'
        'exit "$DIAMOND_CONTINUE"'
    )
    service = await bench.start()
    done = await ended(service, await bench.submit(service, source, language="bash", healing=segments(5)), 60)
    assert (done.state, len(done.attempts), done.attempt.segment) == (State.COMPLETED, 3, 3), done.cause
    assert done.attempt.why.startswith("Segment 3 of 5, from checkpoint n:")


@pytest.mark.asyncio
async def test_a_segment_without_progress_is_the_last(bench, tmp_path):
    """The second one leaves at once, with the checkpoint of the first."""
    source = count(tmp_path / "counted", when="step == 5").replace(
        "step = int(", "checkpoint.leave() if last else 0\nstep = int("
    )
    service = await bench.start()
    done = await ended(service, await bench.submit(service, source, healing=segments(9)), 60)
    assert (done.state, len(done.attempts)) == (State.FAILED, 2)
    assert done.cause == "It left off, to be continued from its checkpoint."
    assert done.next.startswith("Segment 2 got no further than checkpoint step-5, with which it began")
    assert (await types(service, done))[-1] == "task.not_again"


@pytest.mark.asyncio
@pytest.mark.parametrize(("allowed", "said"), [
    (1, "1 segment is all that --segments allows. Allow more with --segments 5"),
    (2, "2 segments is all that --segments allows. Allow more with --segments 5"),
])  # fmt: skip
async def test_no_more_segments_than_are_allowed(bench, tmp_path, allowed, said):
    service = await bench.start()
    source = count(tmp_path / "counted", when="True")
    done = await ended(service, await bench.submit(service, source, healing=segments(allowed)), 60)
    assert (done.state, len(done.attempts)) == (State.FAILED, allowed)
    assert said in done.next


@pytest.mark.asyncio
async def test_a_crash_in_a_later_segment_is_a_failure_like_any_other(bench, tmp_path):
    source = count(tmp_path / "counted", when="step == 5").replace("step = int(", "1 / 0 if last else 0\nstep = int(")
    service = await bench.start()
    done = await ended(service, await bench.submit(service, source, healing=segments(9)), 60)
    assert (done.state, len(done.attempts), done.attempt.failure) == (State.FAILED, 2, "app_args")
    assert "ZeroDivisionError" in done.cause


@pytest.mark.asyncio
async def test_a_cancel_ends_the_chain(bench, tmp_path):
    service = await bench.start()
    source = count(tmp_path / "counted", to=10_000, when="step == 5")
    task = await bench.submit(service, source, healing=segments(9))

    async def second_runs():
        now = await service.task(task.id)
        return len(now.attempts) == 2 and now.state is State.RUNNING

    await until(second_runs, 60)
    await service.cancel(task.id, "you")
    done = await in_state(service, task, State.CANCELLED)
    assert len(done.attempts) == 2


@pytest.mark.asyncio
async def test_a_server_that_starts_again_meanwhile_goes_on_with_the_next_segment(bench, tmp_path):
    service = await bench.start()
    task = await bench.submit(
        service, count(tmp_path / "counted", to=60, when="step % 20 == 0"), outputs=("answer",), healing=segments(9)
    )
    await in_state(service, task, State.RUNNING)
    bench.services.remove(service)
    await service.stop()
    again = await bench.start()
    done = await ended(again, task, seconds=60)
    assert (done.state, done.attempt.segment) == (State.COMPLETED, 4), done.cause
    steps = [int(line.split()[1]) for line in (tmp_path / "counted").read_text().splitlines()]
    assert steps == list(range(60))


@pytest.mark.asyncio
async def test_the_example_of_the_readme_does_what_it_says(bench):
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    line, _, cell = re.search(r"```python\n%%diamond_submit (training.*?)```", text, re.DOTALL)[1].partition("\n")
    options = parse_submit(line)
    assert (options.healing.segments, options.outputs) == (5, ("weight",))
    slow = "import time\ndef train(weight):\n    time.sleep(0.05)\n    return weight + 1\n"
    service = await bench.start()
    task = await bench.submit(
        service, slow + cell, name=options.name, outputs=options.outputs, healing=options.healing, envelope=limit(6)
    )
    done = await ended(service, task, seconds=60)
    assert (done.state, await value(service, done)) == (State.COMPLETED, 100), (done.cause, done.next)
    assert done.attempt.segment > 1
    assert done.attempts[0].checkpoint.name.startswith("step-")


# --- what each part is told ------------------------------------------------------------------------------------------

WARNINGS = [
    ("by default two minutes", Healing(), 3600, 120),
    ("a fifth of a short limit", Healing(), 300, 60),
    ("never in the first half (B28)", Healing(warn_s=540), 600, 300),
    ("as asked for", Healing(warn_s=300), 3600, 300),
    ("not at all", Healing(warn_s=0, segments=3), 3600, 0),
]


@pytest.mark.parametrize(("case", "healing", "walltime_s", "before_s"), WARNINGS, ids=[row[0] for row in WARNINGS])
def test_how_long_before_its_end_a_job_is_warned(case, healing, walltime_s, before_s):
    work = task(attempt(size=size(walltime_s=walltime_s)), healing=healing)
    options = runner_options(work, "/w/attempts/dmd-2")
    told = dict(zip(options[::2], options[1::2], strict=True))
    assert told["--checkpoints"] == f"/w/checkpoints/{work.attempts[0].token}"
    assert told.get("--warn-after") == (str(walltime_s - before_s) if before_s else None)


ASKED = [(Healing(), {}), (Healing(segments=2), (120, "USR2")), (Healing(warn_s=0, segments=2), {}),
         (Healing(warn_s=60, warn_signal="HUP"), (60, "HUP"))]  # fmt: skip


@pytest.mark.parametrize(("healing", "fields"), ASKED)
def test_the_scheduler_is_asked_only_where_a_warning_is_wanted(healing, fields):
    wanted = fields and {"warn_before_end_s": fields[0], "warn_signal": fields[1]}
    assert warning(task(healing=healing)) == wanted


async def newest(folder):
    return read_newest(await LocalTransport({}).run(newest_script(str(folder)), timeout_s=10))


@pytest.mark.asyncio
async def test_the_newest_checkpoint_is_told_and_what_tells_it_from_its_namesake(tmp_path):
    assert await newest(tmp_path / "none") is None
    assert await newest(tmp_path) is None
    (tmp_path / ".saving-1").mkdir()
    assert await newest(tmp_path) is None
    (tmp_path / "a b").write_text("1")
    first = await newest(tmp_path)
    assert first.name == "a b"
    assert await newest(tmp_path) == first
    (tmp_path / "a b").unlink()
    (tmp_path / "a b").write_text("22")
    again = await newest(tmp_path)
    assert (again.name, again != first) == ("a b", True)


def test_an_answer_that_is_none_is_no_checkpoint():
    for out, code in ((b"", 0), (b"@@diamond:checkpoint\n", 1), (b"Welcome!\n", 0)):
        with pytest.raises(ValueError):
            read_newest(Completed(exit=code, stdout=out, stderr=b""))
    found = read_newest(Completed(exit=0, stdout=b"@@diamond:checkpoint\nx\n12 3\n", stderr=b""))
    assert found == Checkpoint(name="x", mark="12 3")
