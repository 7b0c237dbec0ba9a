"""Tasks, attempts and decisions for tests of what follows a failure."""

from datetime import datetime, timezone

from jupyter_diamond.model.decision import Candidate, Decision, Verdict
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import Attempt, Task

T0 = datetime(2026, 3, 1, 10, 0, tzinfo=timezone.utc)
GIB = 1 << 30
HOUR = 3600


def size(**fields):
    return Size.model_validate({"memory_bytes": 4 * GIB, "walltime_s": HOUR} | fields)


def attempt(n=1, state=State.FAILED, **fields):
    base = {
        "n": n, "token": f"dmd-{n:016d}", "site": "delta", "partition": "cpu", "size": size(), "state": state,
        "created_at": T0, "state_since": T0, "native": NativeJob(id="812"), "started_at": T0, "nodes": "cn01",
    }  # fmt: skip
    return Attempt.model_validate(base | fields)


def task(*attempts, healing=None, **fields):
    """A task with these attempts, by default one that has failed."""
    attempts = attempts or (attempt(),)
    state = attempts[-1].state
    wide = Envelope(
        memory_bytes=Span(min=4 * GIB, max=16 * GIB), walltime_s=Span(min=HOUR, max=4 * HOUR), **fields.pop("asked", {})
    )
    base = {
        "id": "t1", "name": "fit", "language": "python", "state": state, "phase": state.phase, "created_at": T0,
        "source": "pass", "digest": "d" * 64, "envelope": wide, "attempts": attempts,
        "healing": healing or Healing(),
    }  # fmt: skip
    return Task.model_validate(base | fields)


def candidate(site, rank=None, partition="cpu", **fields):
    base = {"site": site, "partition": partition, "size": size(), "feasible": rank is not None, "rank": rank}
    return Candidate.model_validate(base | fields)


def against(heading, rule="capacity"):
    return Verdict(rule=rule, heading=heading, answer="fail", observed="x", required="y", sentence="It is not so.")


def decision(*candidates, envelope=None, sentence="delta:cpu starts now."):
    ranked = sorted((each.rank, at) for at, each in enumerate(candidates) if each.rank)
    return Decision(
        made_at=T0, snapshot_id=1, mode="rules", envelope=envelope or Envelope(), candidates=candidates,
        chosen=ranked[0][1] if ranked else None, sentence=sentence, alternatives=tuple(at for _, at in ranked[1:4]),
    )  # fmt: skip


def flaky(runs, fails, error="OSError(116, 'Stale file handle')"):
    """A cell that a node's file system fails so many times."""
    return (
        f"with open({str(runs)!r}, 'a') as file: file.write('run ')\n"
        f"ran = open({str(runs)!r}).read().count('run')\nif ran <= {fails}: raise {error}\nanswer = ran"
    )
