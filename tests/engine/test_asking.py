"""What a watcher asks of accounting, on virtual time: the first ends as they come, those of a storm together."""

import itertools
import logging
from types import SimpleNamespace

import pytest

from jupyter_diamond.engine.claims import Claims
from jupyter_diamond.engine.watch import SiteWatcher
from jupyter_diamond.engine.watched import Watched
from jupyter_diamond.model.jobs import JobReading, JobRow, NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.settings import DiamondEngine
from tests.store.store_samples import T0, an_attempt

pytestmark = pytest.mark.asyncio
KNOWS_S = 0.2
"""So long after a job's end its accounting knows of it."""


class Site:
    """A site whose accounting knows of an end a moment later; it notes who is asked for, and when."""

    name, poll_floor_s, kind, end_notice = "delta", 2.0, "slurm", b""
    transport = SimpleNamespace(shares_files=True, longest_wait_s=50.0)

    def __init__(self):
        self.now, self.asked, self.scheduler = 0.0, [], self

    def accounting_script(self, jobs, *, since):
        self.asked.append((self.now, len(jobs)))
        return ""

    def parse_accounting(self, answer):
        return JobReading()

    async def run(self, script, *, timeout_s):
        return None


def watching(site):
    parts = dict.fromkeys(("ledger", "spool", "holds", "healer", "readiness", "hand_on"))
    return SiteWatcher(link=site, settings=DiamondEngine(), log=logging.getLogger("test"), **parts)


async def ended(ends, monkeypatch):
    """The questions that are asked, and how long each end waited for its last word."""
    site, waited, told = Site(), [], {}
    watcher = watching(site)

    async def settle(self, known, row, now, others):
        if now - told[known.task.id] >= KNOWS_S:
            known.settle = None
            del self.watched[known.task.id]
            waited.append(now - told[known.task.id])

    monkeypatch.setattr(SiteWatcher, "_settle", settle)
    coming = sorted(ends)
    for number in itertools.count():
        due = watcher._until_next(site.now) if watcher.watched else None
        if coming and (due is None or coming[0] <= site.now + due):
            site.now = coming.pop(0)
            attempt = an_attempt().model_copy(update={"native": NativeJob(id=str(number))})
            known = Watched(task=SimpleNamespace(id=str(number), attempt=attempt, attempts=(attempt,), created_at=T0))
            watcher.watched[known.task.id], told[known.task.id] = known, site.now
            known.ask_accounting(site.now, site.poll_floor_s)
        elif due is None:
            return site.asked, waited
        else:
            site.now += max(due, 0.001)
        await watcher._ask_accounting(site.now)
    raise AssertionError


async def test_two_hundred_ends_in_twenty_seconds_make_a_few_questions(monkeypatch):
    asked, waited = await ended([0.1 * i for i in range(200)], monkeypatch)
    assert len(waited) == 200
    assert len(asked) <= 8 + 20 / 3 + 2, asked
    assert max(waited) <= 3.5


async def test_single_ends_are_settled_at_once(monkeypatch):
    asked, waited = await ended([30.0 * i for i in range(20)], monkeypatch)
    assert len(asked) == 20
    assert max(waited) <= 0.3


async def test_ends_at_the_same_moment_make_one_question(monkeypatch):
    asked, _ = await ended([1.0] * 50, monkeypatch)
    assert [many for _, many in asked] == [50]


@pytest.mark.parametrize("when", ["while accounting is asked", "while claims are"])
async def test_an_end_is_not_that_of_the_job_that_made_the_claim_meanwhile(monkeypatch, when):
    """Two jobs carry the token: one of them is cancelled as its task is held, and the other one has begun."""
    site, settled = Site(), []
    attempt = an_attempt().model_copy(update={"native": NativeJob(id="1"), "started_at": None})

    def knows(attempt):
        return SimpleNamespace(id="t", attempt=attempt, attempts=(attempt,), created_at=T0, cancel_requested_by=None)

    known = Watched(task=knows(attempt))
    known.ask_accounting(site.now, site.poll_floor_s)

    async def begins(*_, **__):
        known.task = knows(attempt.model_copy(update={"native": NativeJob(id="2"), "started_at": T0}))
        return Claims()

    async def settle(self, known, row, now, claims):
        settled.append(row)

    row = JobRow(job=NativeJob(id="1"), state=State.CANCELLED, raw_state="CANCELLED")
    monkeypatch.setattr(Site, "parse_accounting", lambda *_: JobReading(rows=(row,)))
    monkeypatch.setattr(SiteWatcher, "_settle", settle)
    monkeypatch.setattr(*((Site, "run") if "accounting" in when else (SiteWatcher, "_claims")), begins)
    watcher = watching(site)
    watcher.watched["t"] = known
    await watcher._ask_accounting(site.now + 60.0)
    assert (known.task.attempt.native.id, settled) == ("2", [])
