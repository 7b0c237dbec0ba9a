"""Resting between two looks."""

import asyncio

import pytest

from jupyter_diamond.engine.pace import rest


@pytest.mark.asyncio
async def test_a_loop_that_is_woken_and_cancelled_at_once_ends():
    wake = asyncio.Event()

    async def loop():
        while True:
            wake.clear()
            await rest(wake, 60.0)

    task = asyncio.create_task(loop())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    wake.set()
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=5.0)
    assert done == {task}
    assert task.cancelled()


@pytest.mark.asyncio
@pytest.mark.parametrize("seconds", [0.0, -1.0, 0.01])
async def test_it_rests_no_longer_than_was_said(seconds):
    await asyncio.wait_for(rest(asyncio.Event(), seconds), 5.0)
