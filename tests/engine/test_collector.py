"""Following sites: a dead one delays nobody, a login resumes at once, and what is wrong is told with its times."""

import asyncio
import re
import time
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.errors import StoreError, TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import Event
from jupyter_diamond.schedulers.slurm import scripts
from tests.engine.scripted import DEAD, LOGIN, PROBE, Links, Scripted, following, seen, until

pytestmark = pytest.mark.asyncio


def now():
    return datetime.now(timezone.utc)


def probes(transport):
    return [at for at, script in transport.asked if script != scripts.TRIAL]


async def test_sites_are_read_side_by_side_at_their_tick(tmp_path):
    sites = {name: Scripted(delay_s=0.2) for name in ("delta", "anvil", "vista")}
    async with following(tmp_path, sites, probe_tick_s=2.0) as collector:
        begun = time.monotonic()
        await until(lambda: all(seen(collector, name).read_at for name in sites))
        assert time.monotonic() - begun < 0.55, "one after the other takes 0.6 s"
        await until(lambda: all(len(probes(site)) == 2 for site in sites.values()))
        waits = [later - first for first, later in map(probes, sites.values())]
        assert all(1.9 < wait < 4.0 for wait in waits), waits


async def test_a_site_that_nobody_looks_at_is_left_alone_until_somebody_does(tmp_path):
    sites = {"delta": Scripted()}
    links = Links(sites, poll_floor_s=0.05)
    async with following(tmp_path, sites, links=links, probe_tick_s=0.2, probe_rest_s=60.0) as collector:
        await until(lambda: len(probes(sites["delta"])) >= 2)
        collector._looked_at = time.monotonic() - 3600.0
        collector._sites["delta"].wake.set()
        await until(lambda: sites["delta"].asked and time.monotonic() - sites["delta"].asked[-1][0] > 1.0)
        calm = len(probes(sites["delta"]))
        collector.look()
        await until(lambda: len(probes(sites["delta"])) >= calm + 3)


async def test_a_site_that_wants_to_be_asked_seldom_is_still_somebodys(tmp_path):
    sites = {"delta": Scripted()}
    links = Links(sites, poll_floor_s=0.8)
    async with following(tmp_path, sites, links=links, probe_tick_s=0.1, probe_rest_s=60.0):
        await until(lambda: len(probes(sites["delta"])) >= 4)


async def test_a_dead_site_delays_nobody(tmp_path):
    sites = {"delta": Scripted(), "anvil": Scripted(), "dead": Scripted()}
    sites["dead"].hangs = True
    async with following(tmp_path, sites, probe_tick_s=2.0, probe_timeout_s=60.0) as collector:
        await until(lambda: len(probes(sites["delta"])) >= 3 and len(probes(sites["anvil"])) >= 3)
        assert (seen(collector).health, seen(collector, "dead").health) == ("online", "unknown")
        assert len(probes(sites["dead"])) == 1, "a probe that is under way is not repeated"
        begun = time.monotonic()
        await collector.freshen(older_than_s=0.0, patience_s=0.3)
        assert time.monotonic() - begun < 2.0


async def test_a_probe_that_hangs_is_cut_at_its_deadline_even_if_its_transport_does_not_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr("jupyter_diamond.engine.link._GRACE_S", 0.2)
    site = Scripted()
    async with following(tmp_path, {"delta": site}, background=False, probe_timeout_s=0.3) as collector:
        site.hangs = True
        begun = time.monotonic()
        await collector.refresh(["delta"])
        assert 0.4 < time.monotonic() - begun < 3.0
        assert (seen(collector).health, seen(collector).problem) == (
            "degraded", "delta did not answer a probe within 0.5 s.",
        )  # fmt: skip
        site.hangs = False
        site.free.set()
        await collector.refresh(["delta"])
        assert (seen(collector).health, seen(collector).problem) == ("online", "")


async def test_since_when_a_site_fails_and_when_it_is_tried_next_are_facts_of_its_reading(tmp_path):
    site = Scripted()
    async with following(tmp_path, {"delta": site}, background=False, probe_tick_s=60.0) as collector:
        await collector.refresh(["delta"])
        good = seen(collector)
        assert (good.failing_since, good.next_try_at) == (None, None)
        site.problem = DEAD
        before = now()
        await collector.refresh(["delta"])
        first = seen(collector)
        assert before <= first.failing_since <= now()
        assert timedelta(seconds=55) < first.next_try_at - now() <= timedelta(seconds=60)
        for _ in range(3):
            await collector.refresh(["delta"])
        last = seen(collector)
        assert (last.health, last.failing_since) == ("offline", first.failing_since)
        assert timedelta(seconds=110) < last.next_try_at - now() <= timedelta(seconds=120)
        assert (last.records, last.read_at) == (good.records, good.read_at), (
            "the last good numbers stay, with their age"
        )
        site.problem = None
        await collector.refresh(["delta"])
        back = seen(collector)
        assert (back.health, back.problem, back.failing_since, back.next_try_at) == ("online", "", None, None)


async def test_a_missing_login_is_told_at_once_and_the_site_left_alone_until_there_is_one(tmp_path):
    site = Scripted()
    site.problem = LOGIN
    async with following(tmp_path, {"delta": site}, probe_tick_s=2.0) as collector:
        await until(lambda: seen(collector).health == "needs_login")
        assert len(site.asked) == 1
        await asyncio.sleep(0)
        other = Event(seq=1, at=now(), type="snapshot.refreshed", subject="site:anvil")
        collector.ledger.tell(other)
        deadline = time.monotonic() + 3.0  # more than a tick
        while time.monotonic() < deadline:
            assert len(site.asked) == 1
            await asyncio.sleep(0.05)
        site.problem = None
        collector.ledger.tell(other.model_copy(update={"subject": "login"}))
        await until(lambda: seen(collector).health == "online", 1.5)


async def test_refresh_tries_a_site_that_waits_for_its_login_at_once(tmp_path):
    site = Scripted()
    site.problem = LOGIN
    async with following(tmp_path, {"delta": site}) as collector:
        await until(lambda: seen(collector).health == "needs_login")
        site.problem = None
        await collector.refresh(["delta"])
        assert seen(collector).health == "online"


async def test_a_login_resumes_no_site_that_fails_for_another_reason(tmp_path):
    site = Scripted()
    site.problem = DEAD
    async with following(tmp_path, {"delta": site}, probe_tick_s=60.0) as collector:
        await until(lambda: seen(collector).problem)
        collector.ledger.tell(Event(seq=1, at=now(), type="snapshot.refreshed", subject="login"))
        await collector.refresh(["delta"], older_than_s=0.0)
        assert len(site.asked) == 2, "the refresh, and nothing before it"


async def test_a_server_that_only_reads_looks_again_at_a_failing_site_when_it_is_due(tmp_path):
    site = Scripted()
    site.problem = DEAD
    async with following(tmp_path, {"delta": site}, background=False, writes=False, probe_tick_s=2.0) as collector:
        await collector.freshen(older_than_s=0.0, patience_s=5.0)
        assert seen(collector).health == "degraded"
        site.problem = None
        await collector.freshen(older_than_s=0.0, patience_s=5.0)
        assert len(site.asked) == 1, "not due yet"

        async def looked():
            await collector.freshen(older_than_s=0.0, patience_s=5.0)

        await looked()
        deadline = time.monotonic() + 10
        while seen(collector).health != "online":
            assert time.monotonic() < deadline
            await looked()
            await asyncio.sleep(0.05)


async def test_a_defect_of_ours_is_a_failure_of_that_site_alone_and_no_hot_loop(tmp_path, monkeypatch):
    sites = {"delta": Scripted(), "anvil": Scripted()}
    links = Links(sites)
    monkeypatch.setattr(links["delta"].scheduler, "parse_probe", lambda *_, **__: 1 / 0)
    async with following(tmp_path, sites, links=links, probe_tick_s=60.0) as collector:
        await until(lambda: seen(collector).problem and seen(collector, "anvil").read_at)
        assert "could not be read (ZeroDivisionError)" in seen(collector).problem
        assert seen(collector).read_at is None, "no garbage becomes a fresh record"
        assert len(probes(sites["delta"])) == 1


@pytest.mark.parametrize("cut", [0, 10, len(PROBE) // 2, len(PROBE) - 5])
async def test_an_answer_that_was_cut_is_a_failure_and_no_fresh_record(tmp_path, cut):
    site = Scripted(PROBE[:cut])
    async with following(tmp_path, {"delta": site}, background=False) as collector:
        await collector.refresh(["delta"])
        assert (seen(collector).health, seen(collector).read_at, seen(collector).records) == ("degraded", None, ())


async def test_a_full_disk_leaves_the_numbers_on_the_wall(tmp_path, monkeypatch, caplog):
    site = Scripted()
    async with following(tmp_path, {"delta": site}, background=False) as collector:

        def full(*_, **__):
            raise StoreError("The task store cannot grow because the disk is full.")

        monkeypatch.setattr(collector.ledger.store, "put_reading", full)
        monkeypatch.setattr(collector.ledger.store, "append_event", full)
        told = []
        collector.ledger.listen(lambda event: told.append(event.type))
        await collector.refresh(["delta"])
        assert (seen(collector).health, told) == ("online", ["snapshot.refreshed"])
        assert "disk is full" in caplog.text


def with_clock(seconds):
    """The captured probe, its clock off by so much."""
    _, newline, rest = PROBE.partition(b"\n")
    env, newline_too, more = rest.partition(b"\n")
    env = b"\x1f".join((*env.split(b"\x1f")[:4], b"%d" % int(time.time() + seconds)))
    return b"@@env 0 %d" % len(env) + newline + env + newline_too + more


@pytest.mark.parametrize(
    ("off", "said"), [(0, None), (20, None), (-20, None), (95, "1 min 3. s ahead of"), (-7200, "2 h(?: 1 s)? behind")]
)
async def test_a_clock_that_is_off_is_told_and_ages_are_by_ours(tmp_path, off, said):
    site = Scripted(with_clock(off))
    async with following(tmp_path, {"delta": site}, background=False) as collector:
        await collector.refresh(["delta"])
        notes = "\n".join(note for note in seen(collector).notes if "clock" in note)
        if said is None:
            assert notes == ""
        else:
            assert re.search(f"The clock of delta is {said} this server's", notes), notes
        assert abs((now() - seen(collector).read_at).total_seconds()) < 5
        assert abs((seen(collector).clock_at - now()).total_seconds() - off) < 5


async def test_each_reading_is_kept_once_and_unknown_is_not_zero(tmp_path):
    site = Scripted()
    async with following(tmp_path, {"delta": site}, background=False) as collector:
        await collector.refresh(["delta"])
        site.problem = TransportError("gone", outcome="not_sent")
        await collector.refresh(["delta"])
        past = await collector.ledger.do(collector.ledger.store.history, "delta", now() - timedelta(hours=1), now())
        records = {record.partition: record for record in seen(collector).records if not record.hidden}
        assert {each.partition for each in past.series} == set(records)
        for each in past.series:
            assert (each.readings, each.running) == ((1,), (records[each.partition].running,))


@pytest.mark.parametrize("how", ["reads only", "simulated"])
async def test_nothing_is_kept_by_a_server_that_only_reads_nor_of_simulated_sites(tmp_path, how):
    site = Scripted()
    links = Links({"delta": site}, simulated=how == "simulated")
    async with following(
        tmp_path, {"delta": site}, background=False, writes=how != "reads only", links=links
    ) as collector:
        await collector.refresh(["delta"])
        assert seen(collector).read_at
        past = await collector.ledger.do(collector.ledger.store.history, "delta", from_epoch(0), now())
        assert past.series == ()


async def test_who_asks_how_it_is_now_is_not_told_what_was_asked_before(tmp_path):
    """A probe that is under way may have looked before the user's jobs began."""
    site = Scripted(delay_s=0.3)
    async with following(tmp_path, {"delta": site}, background=False) as collector:
        before = asyncio.create_task(collector.refresh(["delta"]))
        await until(lambda: len(probes(site)) == 1)
        asked_at = datetime.now(timezone.utc)
        await asyncio.gather(*(collector.refresh(["delta"]) for _ in range(3)))
        await before
        assert len(probes(site)) == 2, "all who asked meanwhile share one"
        assert seen(collector).tried_at >= asked_at
        await asyncio.gather(*(collector.refresh(["delta"], older_than_s=60.0) for _ in range(3)))
        assert len(probes(site)) == 2, "who wants no newer one asks nothing"
