"""The limit of requests: exact at every instant, whoever asks."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.globus import bucket
from jupyter_diamond.globus.bucket import PROCESS, REQUESTS, SECONDS, Bucket

from .conftest import endpoints, log_in


class Clock:
    """Time that passes only where somebody sleeps, or when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_the_limit_is_that_of_the_service():
    assert (REQUESTS, SECONDS) == (20, 10.0)
    assert PROCESS._taken.maxlen == 20


@given(st.lists(st.floats(min_value=0, max_value=4), max_size=120))
def test_no_window_ever_sees_more(pauses):
    clock = Clock()
    limited = Bucket(20, 10.0, clock=clock, sleep=clock.sleep)
    sent = []
    for pause in pauses:
        clock.now += pause
        limited.take()
        sent.append(clock.now)
    for first, beyond in zip(sent, sent[20:], strict=False):
        assert beyond - first >= 10.0 - 1e-9


def test_twenty_go_at_once_and_the_next_waits():
    clock = Clock()
    limited = Bucket(20, 10.0, clock=clock, sleep=clock.sleep)
    assert [limited.take() for _ in range(20)] == [0.0] * 20
    assert limited.take() == 10.0


def test_threads_share_it():
    slept = []
    clock = Clock()
    limited = Bucket(5, 10.0, clock=clock, sleep=slept.append)
    threads = [threading.Thread(target=limited.take) for _ in range(15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == [10.0] * 5 + [20.0] * 5


@pytest.mark.asyncio
async def test_every_request_counts_whatever_client_makes_it(globus_of, globus_services, monkeypatch):
    clock = Clock()
    counted = Bucket(1000, clock=clock, sleep=clock.sleep)
    monkeypatch.setattr(bucket, "PROCESS", counted)
    one, other = globus_of(), globus_of(client_id="cccccccc-0000-4000-8000-00000000000c")
    for globus in (one, other):
        await log_in(globus, globus_services)
    await asyncio.gather(one.call(endpoints), other.call(endpoints))
    ours = [line for line in globus_services.requests() if "authorize" not in line.line]
    assert len(counted._taken) == len(ours) > 6
