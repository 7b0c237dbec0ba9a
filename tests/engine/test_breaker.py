"""When a site that fails is asked again."""

import pytest

from jupyter_diamond.engine.breaker import LONGEST_S, Breaker


def failing(breaker, times, now=0.0):
    waits, health = [], []
    for _ in range(times):
        breaker.begun()
        health.append(breaker.failed(now, "no answer"))
        waits.append(breaker.next_at - now)
        now = breaker.next_at
    return waits, health


def test_a_lost_packet_is_no_outage_and_a_dead_site_is_asked_ever_more_seldom():
    breaker = Breaker(60.0)
    waits, health = failing(breaker, 8)
    assert health == ["degraded", "degraded", *["offline"] * 6]
    assert waits == [60, 60, 60, 120, 240, 480, 600, 600]
    assert (breaker.state, breaker.reason) == ("open", "no answer")


def test_one_try_half_open_decides():
    breaker = Breaker(60.0)
    failing(breaker, 4)
    breaker.begun()
    assert breaker.state == "half-open"
    breaker.failed(1000.0, "still dead")
    assert (breaker.state, breaker.next_at) == ("open", 1240.0)
    breaker.begun()
    breaker.succeeded(2000.0, 2001.0)
    assert (breaker.state, breaker.failures, breaker.reason, breaker.next_at) == ("closed", 0, "", 2060.0)
    assert breaker.failed(2061.0, "a packet was lost") == "degraded"


def test_a_missing_login_opens_it_at_once_and_only_a_login_or_ten_minutes_close_it():
    breaker = Breaker(60.0)
    assert breaker.failed(10.0, "log in", needs_login=True) == "needs_login"
    assert (breaker.state, breaker.next_at) == ("open", 10.0 + LONGEST_S)
    breaker.resume(20.0)
    assert breaker.next_at == 20.0
    breaker.begun()
    assert breaker.failed(21.0, "unreachable") == "degraded", "logged in, and one packet was lost"
    assert breaker.next_at == 81.0


def test_a_slow_site_rests_as_long_as_it_worked():
    breaker = Breaker(60.0)
    breaker.succeeded(0.0, 5.0)
    assert breaker.next_at == 60.0
    breaker.succeeded(100.0, 150.0)
    assert breaker.next_at == 200.0
    breaker.succeeded(300.0, 500.0)
    assert breaker.next_at == 560.0


@pytest.mark.parametrize("tick_s", [1.0, 60.0, 3600.0])
def test_it_never_waits_less_than_a_tick_nor_ever_more_and_more(tick_s):
    waits, _ = failing(Breaker(tick_s), 2000)
    assert min(waits) == tick_s
    assert max(waits) <= max(LONGEST_S, tick_s)
