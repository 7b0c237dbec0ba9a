"""Matched rounds on three real Slurm clusters: what each policy chose, and what really started first.

A short run is part of all tests. A long one, with its table (five minutes for 30 rounds), is asked for by

    JUPYTER_DIAMOND_MATCHED_ROUNDS=30 JUPYTER_DIAMOND_MATCHED_SEED=7 \\
      make test WORKERS=0 ARGS="tests/live/test_matched_rounds.py"
"""

from __future__ import annotations

import asyncio
import math
import os
from pathlib import Path

import pytest

from tests.live.matched import POLICIES, Background, Federation, Rounds, line, table
from tests.live.slurm import Testbed, wait_until

SHORT = 3
ROUNDS = int(os.environ.get("JUPYTER_DIAMOND_MATCHED_ROUNDS", str(SHORT)))
SEED = int(os.environ.get("JUPYTER_DIAMOND_MATCHED_SEED", "7"))


async def play(rounds: Rounds) -> None:
    async with Background(rounds.federation, SEED):
        for number in range(1, ROUNDS + 1):
            print(line(number, await rounds.play()), flush=True)


@pytest.mark.timeout(120 + 60 * ROUNDS)
def test_each_round_tells_which_choice_was_best(
    testbed: Testbed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    federation = Federation(testbed, tmp_path)
    rounds = Rounds(federation, SEED, bound_s=6.0 if ROUNDS <= SHORT else 20.0)
    with capsys.disabled():
        print("\nround: seconds, cores x limit, per site: jobs that wait, forecast > real wait in seconds")
        try:
            asyncio.run(play(rounds))
        finally:
            print(f"\n{table(rounds.played)}" if rounds.played else "no round was played", flush=True)
    wait_until(lambda: not asyncio.run(federation.left()), 20, "Jobs are left")
    assert len(rounds.played) == ROUNDS
    for each in rounds.played:
        assert set(each.feasible) == {"delta", "anvil", "vista"}
        assert each.started
        assert set(each.chosen) == set(POLICIES)
        assert set(each.chosen.values()) <= set(each.feasible)
        assert all(times.started >= times.submitted for times in each.started.values())
        assert min(each.waits.values()) < math.inf
        for forecast in each.forecasts.values():
            assert forecast.method in ("fits_now", "replay")
            assert forecast.wait_s is not None
            assert math.isfinite(forecast.wait_s)
