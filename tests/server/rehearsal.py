"""A service that sends nothing to any site, with the real store beneath: what the handlers are tested against."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from pathlib import Path

from jupyter_diamond.engine.allowed import allowed
from jupyter_diamond.engine.launches import Launches
from jupyter_diamond.errors import Conflict, NotFound, ResultUnavailable
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.charge import Charges
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.environment import NamedEnvironment, SiteEnvironments
from jupyter_diamond.model.forecast import Forecast, Forecasts, SiteForecasts
from jupyter_diamond.model.group import GroupResults, GroupSubmitted, MissingResult
from jupyter_diamond.model.healing import Withdrawal
from jupyter_diamond.model.history import HistorySeries, SiteHistory
from jupyter_diamond.model.looks import (
    Accounted,
    Check,
    Executed,
    Fact,
    Idle,
    IdlePlace,
    OtherPlace,
    Outlook,
    OutlookPlace,
    Preflight,
    PutFile,
    SiteEnv,
)
from jupyter_diamond.model.manifest import Manifest, ResultFile
from jupyter_diamond.model.snapshot import NO_LIMIT, Record, SiteReading, Snapshot
from jupyter_diamond.model.task import Submitted
from jupyter_diamond.model.views import EventPage, Interpreter, Limits, LogChunk, ResultView, Status
from jupyter_diamond.settings import DiamondGlobus
from jupyter_diamond.store import Store
from jupyter_diamond.store.groups import Round, Share
from tests.server.rehearsed_receipts import RehearsalReceipts
from tests.store.store_samples import T0, a_decision, a_request, an_attempt, at

__all__ = ["T0", "RehearsalService", "a_request", "at", "multipart"]

LOG = "<script>alert(1)</script> größe\n"


class RehearsalGroups:
    """The groups of a rehearsed service; their rounds do not go on."""

    def __init__(self, service):
        self.service = service

    @property
    def _groups(self):
        return self.service.store.groups

    async def submit(self, asked, bundle):
        known = self._groups.find_token(asked.request.client_token)
        if known:
            return GroupSubmitted(group=known, created=False)
        self.service.bundle, before = bundle, self.service.store.newest_event()
        token = f"dmd-{before:08d}"
        attempts = tuple((each.index, an_attempt(f"{token}-{each.index}")) for each in asked.rounds[0])
        first = Round((Share(token, "ab", a_decision(), attempts),), "because")
        group, made = self._groups.create(asked, group_id=f"g{before}", first=first, at=at(before))
        await self.service.tell(before)
        return GroupSubmitted(group=group, created=bool(made))

    async def groups(self, name=None, phase=None, notebook=None, limit=100):
        return self._groups.list(name, phase, notebook, limit)

    async def group(self, ref):
        return self._groups.get(ref)

    async def tasks(self, ref, states=(), limit=10_000, after=None):
        return self._groups.tasks(ref, states, limit, after)

    async def events(self, ref, after=0, limit=200):
        return self.service._page(after, limit, f"group:{self._groups.get(ref).id}")

    async def results(self, ref, after=None, limit=500):
        return GroupResults(group=self._groups.get(ref).id, missing=(MissingResult(index=0, task_id="t", why="x"),))

    async def cancel(self, ref, by):
        return self._groups.cancel(self._groups.get(ref).id, by, at(9))

    async def hold(self, ref, by):
        return self._groups.hold(self._groups.get(ref).id, by, at(9))

    async def release(self, ref, by):
        return self._groups.release(self._groups.get(ref).id, by, at(9))

    async def replan(self, ref, by, *, unpin=False):
        return self._groups.get(ref)


class RehearsalLedger:
    """The way to the store, without a thread."""

    def __init__(self, service):
        self.service = service

    @property
    def store(self):
        return self.service.store

    def listen(self, listener):
        self.service.on_change(listener)

    async def do(self, method, *args, **kwargs):
        return method(*args, **kwargs)

    async def write(self, method, *args, **kwargs):
        before = self.store.newest_event()
        try:
            return method(*args, **kwargs)
        finally:
            await self.service.tell(before)


class RehearsalLinks(dict):
    def __missing__(self, name):
        raise NotFound(f"There is no site {name!r}; the sites are: {', '.join(self)}.")


class RehearsalService:
    def __init__(self, path):
        self.ledger = RehearsalLedger(self)
        self.groups = RehearsalGroups(self)
        self.path = path
        self.store = None
        self.listeners = []
        self.news = asyncio.Condition()
        self.stopped = False
        self.receipts = RehearsalReceipts(self)
        self.launches = Launches(RehearsalLinks(alpha=None), tuple, self.submit)
        self.files = {
            "result/x.npy": b"\x93NUMPY",
            "result/größe.json": b"7",
            "job.out": LOG.encode(),
            "key": b"secret",
        }
        self.waiting = 0
        folder = Path(path).parent
        self.globus = Globus(
            DiamondGlobus(tokens_folder=str(folder / "globus"), client_id="", public_url="", timeout_s=5.0),
            logging.getLogger("jupyter_diamond"),
            {"HOME": str(folder)},
        )

    async def start(self):
        self.store = Store(self.path)

    async def stop(self):
        self.stopped = True
        await self.globus.close()
        self.store.close()

    def on_change(self, listener):
        self.listeners.append(listener)

    async def tell(self, after):
        for event in self.store.events(after, 1000):
            for listener in self.listeners:
                listener(event)
        async with self.news:
            self.news.notify_all()

    async def status(self):
        return Status(
            version="0.1.0", advances_work=True, lease_holder="me", store_path=str(self.path),
            limits=Limits(value_bytes=1, bundle_bytes=2, inline_result_bytes=3), active_tasks=0,
            newest_event=self.store.newest_event(),
        )  # fmt: skip

    async def sites(self, after=None, wait=0.0):
        if after == 1 and wait:
            self.waiting += 1
            try:
                await asyncio.sleep(wait)
            finally:
                self.waiting -= 1
        record = Record(site="alpha", partition="short", read_at=T0, walltime_cap_s=NO_LIMIT, max_nodes=None)
        reading = SiteReading(site="alpha", transport="local", scheduler="slurm", records=(record,), read_at=T0)
        return Snapshot(id=1, taken_at=T0, sites=(reading,))

    async def refresh(self, site):
        if site not in (None, "alpha"):
            raise NotFound(f"There is no site {site}.")
        return await self.sites()

    async def history(self, site, hours):
        if site != "alpha":
            raise NotFound(f"There is no site {site}.")
        series = HistorySeries(
            partition="short", unit="GPU", at=(T0,), readings=(1,), free=(None,), total=(8,), pending=(3,),
            running=(0,), mine_pending=(0,), mine_running=(0,),
        )  # fmt: skip
        return SiteHistory(site=site, since=T0 - timedelta(hours=hours), span_s=0, series=(series,))

    async def forecasts(self):
        return Forecasts(made_at=T0, sites=(SiteForecasts(site="alpha", n=3, error_s=12.5, methods={"replay": 3}),))

    async def charges(self, days, *, tasks=False):
        now = at(100)
        since = now - timedelta(days=days)
        by_task = self.store.charges.tasks(since) if tasks else ()
        return Charges(since=since, read_at=now, accounts=self.store.charges.accounts(since), tasks=by_task)

    @property
    def environments(self):
        return self

    async def list(self, site):
        torch = NamedEnvironment(name="torch", runs="/sw/torch/bin/python")
        return SiteEnvironments(site=site, builds=True, named=(torch,), built=self.store.environments.all(site))

    async def interpreter(self, site, python, modules, env=None, packages=()):
        return Interpreter(executable=python or f"/{site}/python3", version=(3, 11, 7), missing=modules, read_at=T0)

    async def plan(self, envelope, *, members=1, at_once=None):
        said = f"{members} of them, {at_once} at a time." if members > 1 else a_decision().sentence
        return a_decision().model_copy(update={"envelope": envelope, "sentence": said})

    async def idle(self, envelope):
        return Idle(
            envelope=envelope, made_at=T0,
            places=(IdlePlace(site="alpha", partition="short", size=Size(walltime_s=60), jobs_now=3, read_at=T0),),
            unknown=(OtherPlace(site="beta", partition="gpu", why="What is free is not known."),),
        )  # fmt: skip

    async def outlook(self):
        wait = Forecast(wait_s=600.0, low_s=None, high_s=None, method="replay", because="behind job 7")
        gpu = OutlookPlace(site="alpha", partition="gpu", unit="GPU", forecast=wait)
        return Outlook(made_at=T0, places=(gpu, OutlookPlace(site="alpha", partition="cpu", unit="CPU", why="Closed.")))

    async def site_env(self, site):
        facts = (Fact(name="host", value=f"{site}-login1"), Fact(name="modules", value=None))
        return SiteEnv(site=site, read_at=T0, seconds=0.1, facts=facts, accounts=None)

    async def execute(self, site, command):
        words = allowed(command)
        return Executed(site=site, argv=words, exit=0, stdout=LOG, stderr="", seconds=0.1)

    async def put_file(self, site, name, data, *, replace=False):
        if name in self.files and not replace:
            raise Conflict(f"{name} is there already.")
        replaced, self.files[name] = name in self.files, data
        return PutFile(site=site, path=f"/work/{name}", bytes=len(data), replaced=replaced)

    async def preflight(self, site):
        checks = (Check(name="reachable", answer="ok", sentence="It answers."),)
        return Preflight(site=site, checks=checks, probe_s=0.2)

    async def smoke(self, site, client_token):
        return await self.submit(a_request(client_token, f"smoke_{site}"), b"")

    async def accounted(self, ref):
        return Accounted(task_id=self.store.task(ref).id, site="alpha", job=None, notes=("It has no job yet.",))

    async def submit(self, request, bundle):
        known = self.store.find_token(request.client_token)
        if known:
            return Submitted(task=known, created=False)
        if request.name == "clash":
            raise Conflict("`clash` is still running.", evidence=("t1",))
        self.bundle = bundle
        before = self.store.newest_event()
        number = before + 1
        task, created = self.store.create_task(
            request, task_id=f"t{number}", key="ab", decision=a_decision(), attempt=an_attempt(f"dmd-{number:08d}"),
            why_here="because", at=at(number),
        )  # fmt: skip
        await self.tell(before)
        return Submitted(task=task, created=created)

    async def tasks(self, name=None, phase=None, notebook=None, limit=100, *, before=None, newer=None):
        return self.store.tasks(name, phase, notebook, limit, before=before, newer=newer)

    async def task(self, ref):
        if ref == "bug":
            raise ZeroDivisionError("secret detail")
        return self.store.task(ref)

    async def cancel(self, ref, by):
        before = self.store.newest_event()
        task = self.store.request_cancel(self.store.task(ref).id, by, at(9))
        await self.tell(before)
        return task

    async def replan(self, ref, by, *, unpin=False):
        before = self.store.newest_event()
        wanted = Withdrawal(by=by, then="replan", unpin=unpin)
        task = self.store.withdraw(self.store.task(ref).id, wanted, at(9))
        await self.tell(before)
        return task

    async def hold(self, ref, by):
        return self.store.hold(self.store.task(ref).id, by, at(9))

    async def release(self, ref, by):
        return self.store.release(self.store.task(ref).id, by, at(9))

    async def decision(self, ref):
        return self.store.decision(self.store.task(ref).id)

    async def task_events(self, ref, after=0, limit=200):
        return self._page(after, limit, f"task:{self.store.task(ref).id}")

    async def logs(self, ref, offset=0, limit=65_536, tail=None):
        self.store.task(ref)
        content = LOG.encode()
        start = offset if tail is None else max(0, len(content) - tail)
        piece = content[start : start + limit]
        end = start + len(piece)
        return LogChunk(text=piece.decode(), offset=start, next_offset=end, size=len(content), exists=True)

    async def result(self, ref):
        task = self.store.task(ref)
        if task.attempt.state.value != "completed":
            raise ResultUnavailable(f"`{task.name}` has not ended yet.", transient=True)
        value = ResultFile(name="x", codec="npy", file="x.npy", bytes=6, sha256="0", hmac="0")
        receipt = Manifest(format=1, token="dmd-1", outcome="OK", values=(value,), started_at=1.0, ended_at=2.0)
        shown = ({"output_type": "stream", "name": "stdout", "text": LOG},)
        return ResultView(
            task_id=task.id, attempt=1, manifest=receipt, key="ab", inline={"x.npy": "AA=="}, outputs=shown
        )

    async def events(self, after, wait=0.0, limit=500):
        if after < 0:
            return EventPage(events=(), cursor=self.store.newest_event())
        if wait and self.store.newest_event() <= after:
            self.waiting += 1
            try:
                async with self.news:
                    await asyncio.wait_for(self.news.wait(), wait)
            except asyncio.TimeoutError:
                pass
            finally:
                self.waiting -= 1
        return self._page(after, limit, None)

    def _page(self, after, limit, subject):
        events = self.store.events(after, limit, subject)
        return EventPage(events=events, cursor=events[-1].seq if events else after)


BOUNDARY = "8f7e6d5c"


def multipart(*parts):
    lines = b""
    for name, filename, content_type, content in parts:
        named = f'name="{name}"' + (f'; filename="{filename}"' if filename else "")
        head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {named}\r\nContent-Type: {content_type}\r\n\r\n"
        lines += head.encode() + content + b"\r\n"
    return lines + f"--{BOUNDARY}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
