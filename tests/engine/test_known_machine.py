"""A site that is a known machine: its reading is completed, what differs is told once, and its jobs speak its dialect.

The commands beside the service show what a live controller printed, with one time limit lowered.
"""

import asyncio
import logging
import re
import stat
from pathlib import Path

import pytest

from jupyter_diamond.engine.batch import Batch
from jupyter_diamond.engine.job_request import job_request
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.errors import Infeasible
from jupyter_diamond.globus.access import Globus
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.model.task import Attempt, Task
from jupyter_diamond.settings import DiamondGlobus
from tests.engine import cells
from tests.engine.conftest import until

CAPTURES = Path(__file__).parents[1] / "captures" / "slurm" / "22.05" / "powersave"
SCONTROL = f"""#!/bin/sh
case "$*" in
  *config*) cat {CAPTURES}/scontrol_config.out ;;
  *partition*) sed 's/MaxNodes=64 MaxTime=2-/MaxNodes=64 MaxTime=1-/' {CAPTURES}/scontrol_part.out ;;
  *node*) sed s/Arch=x86_64/Arch=aarch64/ {CAPTURES}/scontrol_node.out ;;
esac
"""


@pytest.fixture
def commands(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {
        "scontrol": SCONTROL,
        "squeue": "#!/bin/sh\n",
        "sinfo": "#!/bin/sh\n",
        "sacct": "#!/bin/sh\n",
    }.items():
        (folder / name).write_text(text)
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def catalogue(commands, *lines):
    more = "".join(f"    {line}\n" for line in lines)
    return f"sites:\n  - name: v\n    scheduler: slurm\n    env: {{PATH: '{commands}:/usr/bin:/bin'}}\n{more}"


async def reading(service):
    async def check():
        (found,) = [each for each in (await service.refresh("v")).sites if each.site == "v"]
        return found if found.read_at else None

    return await until(check)


def drift_events(page):
    return [(event.subject, event.data["field"], event.data["partition"]) for event in page.events
            if event.type == "site.profile_drift"]  # fmt: skip


@pytest.mark.asyncio
async def test_gpus_that_slurm_does_not_count_are_seen_and_drift_is_told_once(bench, commands):
    bench.sites_path.write_text(catalogue(commands, "machine: vista"))
    service = await bench.start()
    await until(lambda: asyncio.sleep(0, service.engine.advances))
    found = await reading(service)
    gh = next(rec for rec in found.records if rec.partition == "gh")
    assert found.machine == "vista"
    assert (gh.shapes[0].gpus, gh.shapes[0].gpu_model, gh.shapes[0].arch) == (1, "GH200", "aarch64")
    assert gh.gpus_free == gh.nodes_usable == 2
    told = drift_events(await service.events(0, limit=500))
    assert told == [("site:v", "walltime", "gh")]
    assert "The profile of v gives gh a time limit of 2 d; the site itself says 1 d." in found.notes
    assert gh.walltime_cap_s == 86_400
    await service.refresh("v")
    await service.refresh("v")
    assert drift_events(await service.events(0, limit=500)) == told
    decision = await service.plan(Envelope(gpus=Span.exactly(1), gpu_memory_bytes=96 << 30, site="v"))
    assert decision.choice.partition == "gh"
    refused = await service.plan(Envelope(gpus=Span.exactly(1), gpu_memory_bytes=200 << 30, site="v"))
    assert refused.choice is None
    bench.services.remove(service)
    await service.stop()
    again = await bench.start()
    await until(lambda: asyncio.sleep(0, again.engine.advances))
    await reading(again)
    assert drift_events(await again.events(0, limit=500)) == told


@pytest.mark.asyncio
async def test_a_site_that_is_no_known_machine_is_left_as_it_is(bench, commands):
    bench.sites_path.write_text(catalogue(commands, "machine: none"))
    service = await bench.start()
    found = await reading(service)
    assert found.machine is None
    assert all(rec.policy is None for rec in found.records)
    assert next(rec for rec in found.records if rec.partition == "gh").gpus_free == 0


def script(machine, *, envelope, partition, **site):
    """The batch script of an attempt at such a site."""
    sites = (Site(name="v", scheduler="slurm", machine=machine, **site),)
    (link,) = SiteLinks(sites, Globus(DiamondGlobus(), logging.getLogger("diamond.test"))).values()
    data = cells.bundle("x = 1")
    request = cells.request("x = 1", data, envelope=envelope)
    now = from_epoch(1_796_000_000)
    size = Size(nodes=2, cpus=8, gpus=envelope.gpus.max, memory_bytes=1 << 30, walltime_s=600)
    attempt = Attempt(
        n=1,
        token="dmd-0123456789abcdef",
        site="v",
        partition=partition,
        size=size,
        created_at=now,
        state_since=now,
        folder="/home/me/diamond/attempts/dmd-0123456789abcdef",
    )
    state = attempt.state
    task = Task(
        id="t1", name=request.name, language="python", state=state, phase=state.phase, created_at=now, source="x = 1",
        digest=request.digest, envelope=envelope, attempts=(attempt,),
    )  # fmt: skip
    job = job_request(request, Batch((task,)), link)
    return re.findall(r"^#SBATCH (.*)$", link.scheduler.job_script(job), re.MULTILINE)


def test_vista_is_asked_for_neither_memory_nor_gpus():
    lines = script("vista", envelope=Envelope(gpus=Span.exactly(1)), partition="gh")
    assert not [line for line in lines if re.match(r"--(mem|gres|gpus)", line)]
    assert "--nodes=2" in lines
    assert "--time=0-00:10:00" in lines
    assert "--partition=gh" in lines
    plain = script("none", envelope=Envelope(gpus=Span.exactly(1)), partition="gh")
    assert {"--mem=1024M", "--gpus-per-node=1"} <= set(plain)


def test_perlmutter_is_asked_by_constraint_and_qos_and_never_by_partition():
    lines = script("perlmutter", envelope=Envelope(gpus=Span.exactly(4), qos="regular"), partition="gpu-hbm80g")
    assert {"--constraint=gpu&hbm80g", "--qos=regular", "--gpus-per-node=4"} <= set(lines)
    assert not [line for line in lines if line.startswith("--partition")]


def test_a_qos_that_is_a_partition_of_ours_is_asked_for_as_what_it_is():
    lines = script("frontier", envelope=Envelope(), partition="debug")
    assert {"--partition=batch", "--qos=debug"} <= set(lines)


def test_what_the_site_wants_further_is_said_with_every_job():
    lines = script("none", envelope=Envelope(), partition="p", options={"licenses": "scratch,cfs"})
    assert "--licenses=scratch,cfs" in lines


@pytest.mark.asyncio
async def test_a_simulated_site_is_seen_planned_for_and_never_submitted_to(bench, tmp_path):
    now = from_epoch(1_796_000_000)
    record = Record(
        site="toy", partition="cpu", state="up", read_at=now, shapes=(NodeShape(cpus=9999, gpus=0, nodes=5),),
        free_nodes=(FreeNode(cpus=9999),), cpus_free=9999, walltime_cap_s=86_400, max_nodes=5, whole_node=False,
        pending=0,
    )  # fmt: skip
    seen = SiteReading(site="toy", transport="local", scheduler="slurm", read_at=now, records=(record,))
    path = tmp_path / "recorded.json"
    path.write_text(Snapshot(id=1, taken_at=now, sites=(seen,)).model_dump_json())
    bench.sites_path.write_text(
        f"sites:\n  - {{name: toy, scheduler: simulated, env: {{DIAMOND_SIMULATED: '{path}'}}}}\n"
    )
    service = await bench.start()

    async def read():
        return next(each for each in (await service.sites()).sites if each.site == "toy" and each.read_at)

    found = await read()
    assert found.simulated
    wide = {"cpus": Span.exactly(9999), "walltime_s": Span.exactly(60)}
    anywhere = await service.plan(Envelope(**wide))
    assert anywhere.choice is None
    named = await service.plan(Envelope(site="toy", **wide))
    assert named.choice.simulated
    with pytest.raises(Infeasible, match="toy is simulated: nothing was submitted"):
        await bench.submit(service, "x = 1", envelope=Envelope(site="toy", **wide))
    assert await service.tasks() == ()
