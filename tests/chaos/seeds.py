"""Seeds in pieces, so that several processes share them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .__main__ import runs

_PIECE = 20


def hold(first: int, count: int) -> Callable[[int], None]:
    """A test of so many seeds from the first one on."""

    @pytest.mark.parametrize("seed", range(first, first + count, _PIECE))
    def test_every_invariant_holds_in_runs_from(seed: int) -> None:
        assert violations(seed, _PIECE) == []

    return test_every_invariant_holds_in_runs_from


def violations(seed: int, count: int, *, real_shell: bool | None = None) -> list[str]:
    """All of them, each with the command that tells its run again."""
    return [
        f"seed {report.seed}: {violation} (make chaos SEED={report.seed} RUNS=1 TRACE=1)"
        for report in runs(seed, count, real_shell=real_shell)
        for violation in report.violations
    ]


def first_red(seeds: Iterable[int], *, real_shell: bool | None = None) -> int | None:
    """The first seed whose run has a violation."""
    return next((seed for seed in seeds if violations(seed, 1, real_shell=real_shell)), None)


def fresh(folder: Path) -> Path:
    """An empty folder for a run."""
    folder.mkdir()
    return folder
