"""Sample values for the store's tests."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from jupyter_diamond.model.decision import Candidate, Decision, Verdict
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.task import Attempt, Captured, KernelPython, NotebookCell, TaskRequest

T0 = datetime(2026, 3, 1, 12, 0, 0, 123457, tzinfo=timezone.utc)
SIZE = Size(cpus=2, memory_bytes=1 << 30, walltime_s=600)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def a_request(token: str = "token-0000000000", name: str = "fit", notebook: str | None = "work/a.ipynb") -> TaskRequest:
    return TaskRequest(
        client_token=token,
        name=name,
        outputs=("model",),
        source="model = train(x)\n# größe\n",
        digest="d" * 64,
        bundle_sha256="b" * 64,
        python=KernelPython(executable="/usr/bin/python3", version=(3, 11, 7)),
        captured=(Captured(name="x", type="ndarray", travels="value", bytes=800),),
        notebook=NotebookCell(path=notebook, cell_id="c1"),
        cwd="/home/u/work",
    )


def a_decision() -> Decision:
    verdict = Verdict(rule="cpus", answer="pass", observed="4 free", required="2", sentence="4 of 8 cores are free")
    candidate = Candidate(site="alpha", partition="short", size=SIZE, verdicts=(verdict,), feasible=True, rank=1)
    return Decision(
        made_at=T0,
        snapshot_id=7,
        mode="rules",
        envelope=Envelope(),
        candidates=(candidate,),
        chosen=0,
        sentence="alpha:short can start it now.",
    )


def an_attempt(token: str = "dmd-00000001", n: int = 1) -> Attempt:
    return Attempt(n=n, token=token, site="alpha", partition="short", size=SIZE, created_at=T0, state_since=T0)


def put_task(store, number: int = 1, name: str = "fit", notebook: str | None = "work/a.ipynb"):
    """A new task ``t<number>``."""
    task, created = store.create_task(
        a_request(f"token-{number:010d}", name, notebook),
        task_id=f"t{number:07d}",
        key="ab" * 32,
        decision=a_decision(),
        attempt=an_attempt(f"dmd-{number:08d}"),
        why_here="alpha:short can start it now.",
        at=at(number),
    )
    assert created
    return task
