"""As much chaos on real Slurm as fits: one round of each kind. ``make chaos REAL=50`` has more."""

from __future__ import annotations

import time

import pytest

from .real import FAULTS, real

pytestmark = [pytest.mark.slurm, pytest.mark.sshd, pytest.mark.timeout(240)]
_ENOUGH_S = 60.0


def test_whatever_breaks_under_a_real_server_no_cell_is_lost_or_run_twice(
    testbed, tmp_path, tmp_path_factory, monkeypatch
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    begun = time.monotonic()
    with real(testbed, tmp_path, seed=1) as chaos:
        for number in range(len(FAULTS)):
            if time.monotonic() - begun < _ENOUGH_S:
                chaos.round(number)
    print(chaos.report)
    assert chaos.report.violations == []
    assert chaos.report.done >= 3
