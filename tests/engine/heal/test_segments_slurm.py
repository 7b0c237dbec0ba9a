"""Segments on a real cluster: a count to a hundred in three parts, and Slurm's own warning before the end."""

import time

import pytest

from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import State
from tests.engine.conftest import ended
from tests.engine.heal.test_segments import count, segments
from tests.engine.looks import at_delta, in_state, value

pytestmark = [pytest.mark.asyncio, pytest.mark.slurm]


@pytest.fixture
def pool(bench, slurm_catalogue):
    bench.sites_path = slurm_catalogue
    return bench


async def test_a_count_to_a_hundred_in_three_parts_does_each_step_once(pool, tmp_path):
    service = await pool.start()
    source = count(tmp_path / "counted", when="step % 40 == 0")
    task = await pool.submit(service, source, outputs=("answer",), healing=segments(3), envelope=at_delta())
    done = await ended(service, task, seconds=120)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    assert await value(service, done) == 100
    lines = [line.split() for line in (tmp_path / "counted").read_text().splitlines()]
    assert [int(step) for _, step in lines] == list(range(100))
    assert [part for part, _ in lines] == ["1"] * 40 + ["2"] * 40 + ["3"] * 20
    assert [(each.site, each.step, each.segment, each.failure) for each in done.attempts] == [
        ("delta", "first", 1, None), ("delta", "segment", 2, None), ("delta", "segment", 3, None),
    ]  # fmt: skip
    assert [each.why for each in done.attempts[1:]] == [
        "Segment 2 of 3, from checkpoint step-40: attempt 1 left off to be continued.",
        "Segment 3 of 3, from checkpoint step-80: attempt 2 left off to be continued.",
    ]
    assert len({each.native.id for each in done.attempts}) == 3


async def test_slurms_own_warning_is_heard_and_the_next_segment_has_what_was_saved(pool, testbed, tmp_path):
    """The runner's clock knows of ten minutes; that an administrator has cut them, only Slurm can say."""
    service = await pool.start()
    source = (
        "from jupyter_diamond import checkpoint\nimport time\n"
        "if checkpoint.latest() is None:\n"
        "    while not checkpoint.warned(): time.sleep(0.05)\n"
        f"    open({str(tmp_path / 'warned')!r}, 'w').close()\n"
        "    with checkpoint.saving('half') as folder: open(folder + '/x', 'w').write('1')\n"
        "    checkpoint.leave()\n"
        "answer = open(checkpoint.latest() + '/x').read()"
    )
    healing = Healing(segments=2, warn_s=60)
    task = await pool.submit(service, source, outputs=("answer",), healing=healing, envelope=at_delta())
    first = (await in_state(service, task, State.RUNNING)).attempt
    testbed.end_soon("delta", first.native.id, 62)
    cut = time.monotonic()
    done = await ended(service, task, seconds=150)
    assert done.state is State.COMPLETED, (done.cause, done.next)
    assert [each.segment for each in done.attempts] == [1, 2]
    assert await value(service, done) == "1"
    assert time.monotonic() - cut < 120
