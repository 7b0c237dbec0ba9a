"""A pool made up for the sidebar's tests: values of the real models, so that it cannot drift from the REST API."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.decision import Candidate, Decision, Verdict
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.event import Event
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.group import Group, GroupShare, MemberSummary
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.proposal import Allowance, BudgetScope, Proposal, Speaker, StandingBudget, Terms
from jupyter_diamond.model.snapshot import NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.model.states import Phase, ReasonClass, State
from jupyter_diamond.model.task import Attempt, Captured, NotebookCell, Task, TaskSummary
from jupyter_diamond.model.transfer import Progress, Transfer, TransferRequest
from jupyter_diamond.model.verdict import Finding, TaskVerdict

GB = 1 << 30


def ago(seconds: float) -> datetime:
    return datetime.now(timezone.utc) - timedelta(seconds=seconds)


def record(site: str, partition: str, age: float, **facts: Any) -> Record:
    gpus = facts.get("gpus_total") or 0
    shape = NodeShape(
        cpus=64, memory_bytes=256 * GB, gpus=4 if gpus else 0, gpu_model="a100" if gpus else None, nodes=8
    )
    return Record(
        site=site, partition=partition, state=facts.pop("state", "up"), read_at=ago(age), shapes=(shape,), **facts
    )


def sites() -> Snapshot:
    delta = SiteReading(
        site="delta", transport="local", scheduler="slurm", health="online", read_at=ago(9), tried_at=ago(9),
        probe_s=0.21, scheduler_version="24.05.3", cluster="delta", user="ana", accounting=True, gpus_free=38, gpus_total=64,
        cpus_free=5892, cpus_total=9344, running=65, pending=14,
        records=(
            record("delta", "gpuA100x4", 9, default=True, cpus_total=512, cpus_free=190, gpus_total=32, gpus_free=6, pending=14, walltime_cap_s=172_800,
                   running=21, nodes_total=8, nodes_usable=8, mine_pending=1, mine_running=1),
            record("delta", "cpu", 9, cpus_total=8192, cpus_free=5190, gpus_total=0, gpus_free=0, pending=0, running=44),
            record("delta", "gpuA40x4-interactive", 9, cpus_total=512, cpus_free=512, gpus_total=32, gpus_free=32, pending=0,
                   running=0),
            record("delta", "maint", 9, state="down", cpus_total=128, cpus_free=0, pending=0, running=0),
        ),
    )  # fmt: skip
    anvil = SiteReading(
        site="anvil", transport="local", scheduler="slurm", health="degraded", read_at=ago(260), tried_at=ago(20),
        problem="anvil did not answer for 4 min (login node refuses connections since 14:02). Your 3 jobs there are not affected; nothing was cancelled.",
        records=(
            record("anvil", "shared", 260, default=True, cpus_total=128000, cpus_free=12340, pending=1204, running=900),
            record("anvil", "gpu", 260, gpus_total=64, gpus_free=None, cpus_total=None, pending=None, running=None),
        ),
    )  # fmt: skip
    vista = SiteReading(
        site="vista", transport="local", scheduler="slurm", health="offline", tried_at=ago(30),
        problem="vista could not be reached: no such host. Check its name in sites.yaml.",
    )  # fmt: skip
    here = SiteReading(
        site="here", transport="local", scheduler="process", health="online", read_at=ago(2), simulated=True,
        records=(record("here", "local", 2, default=True, cpus_total=2, cpus_free=1, pending=0, running=1),),
    )  # fmt: skip
    return Snapshot(id=41, taken_at=ago(2), sites=(delta, anvil, vista, here))


def attempt(n: int, state: State, **facts: Any) -> Attempt:
    base: dict[str, Any] = {
        "n": n, "token": f"dmd-{n:08d}ab", "site": "delta", "partition": "gpuA100x4", "account": "bbka-delta-gpu",
        "size": Size(nodes=1, cpus=4, gpus=1, memory_bytes=32 * GB, walltime_s=4 * 3600), "state": state,
        "created_at": ago(3000), "submitted_at": ago(2990), "state_since": ago(60), "native": NativeJob(id=str(812345 + n)),
    }  # fmt: skip
    return Attempt(**{**base, **facts})


def task(ident: str, name: str, state: State, *, version: int, created: float = 3000, **facts: Any) -> Task:
    attempts = facts.pop("attempts", None)
    if attempts is None:
        keys = set(facts) & (set(Attempt.model_fields) - {"cause", "next", "ended_at"})
        extra = {key: facts.pop(key) for key in keys}
        extra.setdefault("created_at", ago(created))
        attempts = (attempt(1, state, cause=facts.get("cause", ""), ended_at=facts.get("ended_at"), **extra),)
    base: dict[str, Any] = {
        "id": ident, "name": name, "language": "python", "state": state, "phase": state.phase, "outcome": state.outcome,
        "created_at": ago(created), "source": "model = train(x, y)\nscores = evaluate(model)\nfig = plot(scores)\n",
        "digest": "0" * 64, "outputs": ("model", "scores"), "envelope": Envelope(cpus=Span(min=2, max=4)),
        "captured": (
            Captured(name="x", type="numpy.ndarray float64 (20000, 64)", travels="value", bytes=10_240_000),
            Captured(name="train", type="function", travels="source", bytes=1480, detail="born in the notebook"),
            Captured(name="np", type="module", travels="import", detail="numpy 2.3.5"),
            Captured(name="mylib", type="module", travels="module", bytes=3312, detail="mylib.py beside the notebook"),
        ),
        "notebook": NotebookCell(path="experiments/fit.ipynb", cell_id="c1"),
        "why_here": "it starts at once and has the most free GPUs of 4 feasible places", "attempts": attempts, "version": version,
    }  # fmt: skip
    return Task(**{**base, **facts})


def tasks() -> list[Task]:
    retried = (
        attempt(1, State.OUT_OF_MEMORY, started_at=ago(2600), ended_at=ago(1900), exit_code=137, signal=9, raw_state="OUT_OF_MEMORY",
                cause="Killed for memory: asked 32 GB, peaked above it at 00:12.", evidence=("oom_kill event in StepId=812346.batch",)),
        attempt(2, State.PENDING, created_at=ago(480), submitted_at=ago(478), reason="Priority", raw_state="PENDING",
                reason_class=ReasonClass.WILL_RUN, size=Size(cpus=4, gpus=1, memory_bytes=64 * GB, walltime_s=4 * 3600)),
    )  # fmt: skip
    oom = "Killed for memory: asked 32 GB, peaked above it at 00:12. Ask for more: --memory 64G."
    return [
        task("t-fit", "fit", State.RUNNING, version=20, created=2950, started_at=ago(2467), raw_state="RUNNING", nodes="gpua[012]",
             last_seen_at=ago(3)),
        task("t-sweep", "sweep_lr", State.PENDING, version=19, created=480, attempts=retried),
        task("t-hold", "needs_license", State.PENDING, version=18, created=5000, reason="Licenses",
             reason_class=ReasonClass.WAITS_ON_YOU, site="anvil", partition="shared"),
        task("t-look", "ablation", State.SUBMIT_UNKNOWN, version=17, created=90, native=None, submitted_at=None,
             trouble="anvil stopped answering while the job was handed over. It is being looked for by its token; it will not be sent twice."),
        task("t-eval", "evaluate", State.OUT_OF_MEMORY, version=16, created=9000, started_at=ago(8000), ended_at=ago(7280), cause=oom,
             exit_code=137, signal=9, raw_state="OUT_OF_MEMORY"),
        task("t-prep", "prepare_imagenet_shards", State.COMPLETED, version=15, created=16000, started_at=ago(15900), ended_at=ago(12000),
             partition="cpu", exit_code=0, raw_state="COMPLETED", max_rss_bytes=3 * GB, result_ready=True),
        task("t-old", "warmup", State.CANCELLED, version=14, created=90000, ended_at=ago(88000), cause="Cancelled by ana while it was pending."),
        task("t-slow", "grid", State.TIMEOUT, version=13, created=200000, started_at=ago(190000), ended_at=ago(175600),
             cause="Stopped at its limit of 4 h. Ask for more time, or save and resume."),
    ]  # fmt: skip


def verdict(of: Task) -> TaskVerdict:
    """One that went well but wrote of a loss that is no number; of all others nothing is said."""
    answer = "no" if of.id == "t-fit" else "yes"
    finding = Finding(
        question="clean_log", answer=answer, sentence="Its log shows a loss that is no number.",
        evidence=("nan_loss: epoch 13 <b>loss</b> nan",), signs=("nan_loss",),
    )  # fmt: skip
    return TaskVerdict(
        task=of.id, name=of.name, state=of.state, attempt=1, correct=answer, findings=(finding,), attempts_left=0,
        moves_left=0, judged_at=ago(1), sentence=f"`{of.name}` did not do what was asked. {finding.sentence}",
    )  # fmt: skip


def group(ident: str = "g0sweep", name: str = "sweep", count: int = 100, *, version: int, **facts: Any) -> Group:
    """A sweep of which 37 have ended, three of them badly."""
    states = {State.COMPLETED: 34, State.RUNNING: 20, State.PENDING: 43, State.OUT_OF_MEMORY: 2, State.FAILED: 1}
    shares = (
        GroupShare(site="anvil", partition="shared", waiting=43, ended=7, wait_s=600),
        GroupShare(site="delta", partition="cpu", running=20, ended=30),
    )
    base: dict[str, Any] = {
        "id": ident, "name": name, "phase": Phase.RUNNING, "members": count, "states": states, "shares": shares,
        "params": ("lr", "opt"), "outputs": ("score",), "source": "score = train(lr, opt)\n", "created_at": ago(600),
        "envelope": Envelope(), "why_here": "two places together end it soonest", "version": version, "digest": "0" * 64,
        "notebook": NotebookCell(path="experiments/sweep.ipynb"),
    }  # fmt: skip
    return Group(**{**base, **facts})


def members(of: Group) -> list[MemberSummary]:
    """As many as have begun, in the order of their states."""
    order = [state for state, count in of.states.items() for _ in range(count)]
    oom = "Killed for memory: asked 32 GB, peaked above it."
    causes = {State.OUT_OF_MEMORY: oom, State.FAILED: "ValueError: no <b>lr</b>"}
    return [
        MemberSummary(
            id=f"{of.id}-{index}", name=f"{of.name}[{index}]", group=of.id, index=index, state=state, phase=state.phase,
            outcome=state.outcome, site="anvil" if state is State.PENDING else "delta",
            partition="shared" if state is State.PENDING else "cpu", created_at=ago(600), attempts=1, version=index,
            started_at=None if state is State.PENDING else ago(500), ended_at=ago(100) if state.terminal else None,
            walltime_s=3600, cause=causes.get(state, ""), params={"lr": 10.0 ** -(index % 5), "opt": "adam"},
        )
        for index, state in enumerate(order)
    ]  # fmt: skip


def summary(each: Task) -> TaskSummary:
    newest = each.attempts[-1]
    return TaskSummary(
        id=each.id, name=each.name, state=each.state, phase=each.phase, outcome=each.outcome, site=newest.site,
        partition=newest.partition, native_id=newest.native.id if newest.native else None, created_at=each.created_at,
        started_at=newest.started_at, ended_at=each.ended_at, walltime_s=newest.size.walltime_s, reason_class=newest.reason_class,
        cause=each.cause, trouble=newest.trouble, attempts=len(each.attempts), version=each.version,
        notebook=each.notebook.path,
    )  # fmt: skip


def estimate(wait: float, charge: float) -> Estimate:
    """An hour's run after a wait with the band of half to two and a half of it."""
    forecast = Forecast(
        wait_s=wait,
        low_s=0.5 * wait,
        high_s=2.5 * wait,
        method="replay" if wait else "fits_now",
        because="enough is free",
    )
    return Estimate(
        forecast=forecast, run_s=3600, total_s=wait + 3600, charge=charge, charge_at_most=4 * charge, charge_unit="SU"
    )


def decision() -> Decision:
    def verdicts(*against: Verdict) -> tuple[Verdict, ...]:
        passing = (
            Verdict(
                rule="partition_up", answer="pass", observed="up", required="up", sentence="The partition takes jobs."
            ),
            Verdict(
                rule="walltime_cap",
                answer="pass",
                observed="2 d",
                required="4 h",
                sentence="4 h is within the cap of 2 d.",
            ),
        )
        return (*passing, *against)

    no_gpu = Verdict(rule="gpus_per_node", answer="fail", observed="0", required="1", sentence="Its nodes have no GPU.")
    stale = Verdict(
        rule="facts_fresh", answer="unknown", observed="4 min", required="2 min", sentence="Its facts are 4 min old."
    )
    size = Size(cpus=4, gpus=1, memory_bytes=32 * GB, walltime_s=4 * 3600)
    half = size.model_copy(update={"cpus": 2})
    return Decision(
        made_at=ago(2950), snapshot_id=40, mode="rules", envelope=Envelope(), chosen=1,
        sentence="delta:gpuA100x4 starts at once and has the most free GPUs of 2 feasible places.",
        candidates=(
            Candidate(site="delta", partition="cpu", verdicts=verdicts(no_gpu), feasible=False, record_age_s=9),
            Candidate(site="delta", partition="gpuA100x4", account="bbka-delta-gpu", size=size, verdicts=verdicts(), feasible=True,
                      starts_now=True, queue_ahead=0, record_age_s=9, rank=1, estimate=estimate(0, 2.0), sizes=((half, estimate(0, 1.5)),)),
            Candidate(site="delta", partition="gpuA40x4-interactive", size=size, verdicts=verdicts(), feasible=True, starts_now=False,
                      queue_ahead=14, record_age_s=9, rank=2, estimate=estimate(600, 1.0)),
            Candidate(site="anvil", partition="shared", verdicts=verdicts(no_gpu), feasible=False, record_age_s=260),
            Candidate(site="anvil", partition="gpu", size=size, verdicts=verdicts(stale), feasible=False, record_age_s=260.4),
        ),
    )  # fmt: skip


def events(each: Task) -> list[Event]:
    subject = f"task:{each.id}"
    return [
        Event(seq=3, at=each.created_at, type="task.created", subject=subject, data={"name": each.name}),
        Event(
            seq=4,
            at=each.created_at,
            type="decision.made",
            subject=subject,
            data={"chosen": "delta:gpuA100x4", "candidates": 5},
        ),
        Event(seq=5, at=each.created_at, type="attempt.submitted", subject=subject, data={"native": "812346"}),
        Event(
            seq=each.version,
            at=ago(60),
            type="attempt.state_changed",
            subject=subject,
            data={"state": each.state.value, "raw": ""},
        ),
    ]


def proposal(name: str, **changes: Any) -> Proposal:
    """What an agent wants to run at delta; its id is made of its name."""
    size = Size(cpus=8, gpus=2, memory_bytes=64 * GB, walltime_s=4 * 3600)
    terms = Terms(
        act="submit", site="delta", partition="gpuA100x4", account="bbka-delta-gpu", size=size,
        charge=Charge(unit="GPU-hour", at_most=8.0, per_hour=2.0), data=("10,240 bytes of inputs go to delta.",),
    )  # fmt: skip
    made = Proposal(
        id=f"p{name.encode().hex()[:10]:0<10}", hash=terms.hash, terms=terms,
        title=f"Run {name} at delta:gpuA100x4: 8 cores, 2 GPUs, 64G, for at most 4 h",
        why="delta:gpuA100x4 starts in about 8 min; anvil:gpu would start 3 h later.", source=f"train({name!r})\n",
        script="#!/bin/bash\n#SBATCH --gpus=2\n", starts_in_s=480.0, runs_s=7200.0, predicted=4.0,
        notes=("How long it runs is a guess.",), by=Speaker(user="ana", agent="Diamond", channel="chat:one"),
        created_at=ago(60), expires_at=ago(-86_340),
    )  # fmt: skip
    return made.model_copy(update=changes)


def budget(name: str, **changes: Any) -> StandingBudget:
    """Ten GPU-hours for one agent."""
    made = StandingBudget(
        id=f"b{name.encode().hex()[:10]:0<10}", scope=BudgetScope(agent="Diamond", per="day"),
        allowance=Allowance(amounts=("10 GPU-hours",), jobs=5), set_by="ana", created_at=ago(600),
        expires_at=ago(-80_000), used={"GPU-hour": 2.5, "jobs": 1.0},
    )  # fmt: skip
    return made.model_copy(update=changes)


def transfer(
    ident: str, state: str = "active", *, task: str | None = None, what: str = "imagenet", **facts: Any
) -> Transfer:
    """A fifth of it is there."""
    asked = TransferRequest(
        client_token=f"{ident}-0000000000000000", source=Location(kind="home", path=f"/data/{what}"),
        destination=Location(kind="site", site="delta", path=f"/scratch/{what}"), dataset=what, task=task,
    )  # fmt: skip
    base: dict[str, Any] = {
        "id": ident, "request": asked, "mover": "rsync", "why": "Both ends have rsync.", "state": state,
        "created_at": ago(600), "deadline": ago(-6000), "state_since": ago(500),
        "progress": Progress(bytes_total=100 * GB, bytes_done=20 * GB, rate=88 * (1 << 20), eta_s=930.0),
    }  # fmt: skip
    return Transfer(**{**base, **facts})
