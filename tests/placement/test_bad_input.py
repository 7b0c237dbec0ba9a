"""What can be asked and can run nowhere: a refusal that names the rule and the next step. What cannot even be asked is
refused before (see tests.parsing.test_envelopes and tests.notebook.test_options)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.policy import ChargeModel, PartitionPolicy
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.placement.forecast.wait import Forecaster
from jupyter_diamond.placement.policy import decide
from jupyter_diamond.placement.world import World
from tests.placement.profiles import GIB, NOW, H, reading, record

A100 = NodeShape(cpus=64, memory_bytes=256 * GIB, gpus=4, gpu_model="a100", gpu_memory_bytes=40 * GIB, nodes=8)
H200 = A100.model_copy(update={"gpu_model": "h200", "gpu_memory_bytes": 141 * GIB})
SU = PartitionPolicy(machine="Toy", charge=ChargeModel(resource="gpu", unit="SU", gpus_per_unit=1, factor=1.0))
GPU = {"gpus": Span.exactly(1), "walltime_s": Span.exactly(H)}
AGAIN = " Try again when one answers: %diamond sites shows since when each is silent, and why."


def at(site: str, *records: Record, **more) -> SiteReading:
    own = tuple(each.model_copy(update={"site": site}) for each in records)
    return reading(*own, **{"site": site, **more})


def old(seconds: float) -> dict:
    return {"read_at": NOW - timedelta(seconds=seconds)}


def left(*amounts: float) -> Balances:
    rows = tuple(Balance(account=name, left=each) for name, each in zip(("abc", "def"), amounts, strict=False))
    return Balances(site="delta", command="accounts", read_at=NOW, accounts=rows)


UNKNOWN = record("dark", state="unknown", walltime_cap_s=None, cpus_free=None, free=(), pending=None)

NOWHERE = [
    (
        "more memory on a GPU than any has", {**GPU, "gpu_memory_bytes": 200 * GIB},
        (at("delta", record("a100", A100)), at("vista", record("h200", H200))), {},
        ("No site can run this. You asked for 200G per GPU; the most that you can get is 141G (vista:h200): "
        "--gpu-memory 141G."),
    ),
    ("no site at all", {}, (), {}, "No site is configured: add one to the site catalogue."),
    (
        "all that is known is stale", {},
        (at("delta", record("cpu", A100), **old(700)), at("vista", record("cpu", A100), problem="No route to host.", **old(7200))),
        {},
        ("No site can run this. delta:cpu: what is known of it is 11 min 40 s old; "
        f"vista:cpu: what is known of it is 2 h old (no route to host).{AGAIN}"),
    ),
    (
        "nobody has answered yet", {}, (SiteReading(site="delta", transport="ssh", scheduler="slurm"),), {},
        ("No site is known to be able to run this. delta: it has not answered yet, and its partitions are not known yet, "
        "and what its nodes can hold is not known, and its time limit is not known (to try it all the same, name --site "
        f"delta).{AGAIN}"),
    ),
    (
        "every verdict is unknown", GPU, (at("delta", UNKNOWN),), {},
        ("No site is known to be able to run this. delta:dark: whether it takes jobs is not known, and what its nodes can "
        "hold is not known, and its time limit is not known (to try it all the same, name --site delta)."),
    ),
    (
        "nothing left on the account", GPU, (at("delta", record("a100", A100, policy=SU)),), {"delta": left(0.0)},
        ("No site can run this. delta:a100: this job may cost up to 1 SU, and abc has 0 left: name another --account, or "
        "another --site."),
    ),
    (
        "nothing left on this account", GPU, (at("delta", record("a100", A100, policy=SU)),), {"delta": left(0.0, 9.0)},
        "No site can run this. delta:a100: this job may cost up to 1 SU, and abc has 0 left: --account def would fit.",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "asked", "readings", "balances", "sentence"), NOWHERE, ids=[row[0] for row in NOWHERE]
)
def test_what_can_run_nowhere_says_why_and_what_to_do_next(case, asked, readings, balances, sentence):
    sites = tuple(Site(name=each.site, scheduler="slurm", account="abc") for each in readings)
    world = World(forecaster=Forecaster(now=NOW.timestamp()), balances=balances)
    found = decide(Envelope(**asked), Snapshot(id=1, taken_at=NOW, sites=readings), sites, now=NOW, world=world)
    assert (found.choice, found.sentence) == (None, sentence)


def test_a_site_that_answers_is_not_said_to_be_silent():
    answers = at("delta", record("cpu", A100, free=(FreeNode(cpus=64),)))
    silent = at("vista", record("cpu", A100), **old(7200))
    sites = tuple(Site(name=name, scheduler="slurm") for name in ("delta", "vista"))
    snapshot = Snapshot(id=1, taken_at=NOW, sites=(answers, silent))
    found = decide(Envelope(cpus=Span.exactly(999)), snapshot, sites, now=NOW)
    assert found.choice is None
    assert AGAIN not in found.sentence
    assert decide(Envelope(), snapshot, sites, now=NOW).choice is not None
