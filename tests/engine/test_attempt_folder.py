"""What a look into an attempt's folder finds: here the scheduler's own words in the log."""

from __future__ import annotations

import pytest

from jupyter_diamond.engine.attempt_folder import look
from jupyter_diamond.schedulers.slurm.scheduler import SlurmScheduler

NOTICE = SlurmScheduler.end_notice
WORDS = b"slurmstepd-cn01: error: *** JOB 12 ON cn01 CANCELLED AT 2026-03-01T12:00:00 DUE TO TIME LIMIT ***\n"


def seen(folder, log_bytes=0):
    return look(str(folder), started_known=True, notice=NOTICE, log_bytes=log_bytes)


@pytest.mark.parametrize("before", [b"", b"epoch 1\n" * 10_000, bytes(range(256)) * 50])
def test_slurms_notice_is_found_in_what_the_log_has_grown(tmp_path, before):
    log = tmp_path / "job.out"
    log.write_bytes(before)
    first = seen(tmp_path)
    assert (first.noticed, first.log_bytes) == (False, len(before))
    log.write_bytes(before + WORDS)
    assert seen(tmp_path, first.log_bytes).noticed


def test_a_notice_that_comes_in_two_pieces_is_found(tmp_path):
    log = tmp_path / "job.out"
    log.write_bytes(WORDS[:6])
    first = seen(tmp_path)
    log.write_bytes(WORDS)
    assert not first.noticed
    assert seen(tmp_path, first.log_bytes).noticed


def test_a_log_that_is_not_there_or_has_not_grown_says_nothing(tmp_path):
    assert (seen(tmp_path).noticed, seen(tmp_path).log_bytes) == (False, 0)
    (tmp_path / "job.out").write_bytes(WORDS)
    assert not seen(tmp_path, len(WORDS)).noticed
