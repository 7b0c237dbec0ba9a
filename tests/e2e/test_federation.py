"""One live pool: three real Slurm clusters, two behind real sshd and one behind the real Globus Compute agent.

The agent and the clients are the real ones, the Globus services a stand-in on this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from tests.live.browser import LabPage, lab_page, write_notebook
from tests.live.globus import RealAgent, StandIn
from tests.live.jupyter import JupyterServer
from tests.live.slurm import CLUSTERS, Testbed
from tests.live.sshd import Sshd
from tests.transport.globus import catalogue

from .conftest import LOAD

pytestmark = [pytest.mark.browser, pytest.mark.slurm, pytest.mark.sshd, pytest.mark.globus]
GPU = ("-A", "bbka-delta-gpu")
TRANSPORTS = {"delta": "ssh", "anvil": "ssh", "vista": "Globus Compute"}
AGE = ".jp-diamond-siterow .jp-diamond-age"


@pytest.fixture(scope="module")
def agent(testbed: Testbed) -> Iterator[RealAgent]:
    """The agent on the login node of vista."""
    with StandIn() as services, RealAgent(services, name="vista-login", env=testbed.env("vista")) as agent:
        yield agent


@pytest.fixture(scope="module")
def nodes(testbed: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Sshd]]:
    """The login nodes of delta and anvil."""
    base = tmp_path_factory.mktemp("nodes")
    found = {name: Sshd(base / name, name, env=testbed.env(name)) for name in ("delta", "anvil")}
    yield found
    for node in found.values():
        node.close()


@pytest.fixture(scope="module")
def pool(
    testbed: Testbed, nodes: dict[str, Sshd], agent: RealAgent, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JupyterServer]:
    """A JupyterLab server with all of them, and this machine as a fourth site."""
    base = tmp_path_factory.mktemp("pool")
    sites = testbed.sites_yaml(base / "sites.yaml", base / "work", names=nodes, nodes=nodes.values())
    behind = catalogue(agent.endpoint_id, testbed.site("vista", base / "work"))
    sites.write_text(sites.read_text() + behind.removeprefix("sites:\n"))
    env = {
        **agent.services.environment,
        "JUPYTER_DIAMOND_TOKENS": json.dumps(agent.services.auth.issue()),
        "XDG_RUNTIME_DIR": str(tmp_path_factory.mktemp("run")),
    }
    arguments = ("--DiamondEngine.probe_tick_s=4",)
    with JupyterServer(base, sites=sites, env=env, arguments=arguments) as server:
        yield server


@pytest.fixture
def lab(pool: JupyterServer) -> Iterator[LabPage]:
    with lab_page(pool) as page:
        yield page
        assert page.heard.strangers() == set(), "something was asked of another machine"


def free_by_scontrol(testbed: Testbed, site: str, partition: str) -> int:
    """GPUs that nobody has, or cores where there are none, from the nodes' own lines."""
    gpus = cpus = total = 0
    for line in testbed.run(site, "scontrol", "-d", "-o", "show", "node").stdout.splitlines():
        said = dict(re.findall(r"(\w+)=(\S*)", line))
        if partition in said["Partitions"].split(","):
            have, used = (
                sum(map(int, re.findall(r"gpu:\w+:(\d+)", said.get(key, "")))) for key in ("Gres", "GresUsed")
            )
            total, gpus = total + have, gpus + have - used
            cpus += int(said["CPUTot"]) - int(said["CPUAlloc"])
    return gpus if total else cpus


def free_in(view: Locator, site: str, partition: str) -> Locator:
    return view.locator(f'[data-site="{site}"] [data-partition="{partition}"]')


def both_tell_the_truth(lab: LabPage, testbed: Testbed) -> None:
    """Sidebar and wall show what scontrol says."""
    wall = lab.outputs(1).locator(".jd-wall-live")
    for site, partitions in {"delta": ("cpu", "gpuA100x4", "gpuA40x4"), "anvil": ("gpu", "shared")}.items():
        for partition in partitions:
            truth = str(free_by_scontrol(testbed, site, partition))
            for view in (lab.show_sidebar(), wall):
                expect(free_in(view, site, partition).first).to_have_attribute("data-free", truth, timeout=30_000)


def test_the_pool_tells_the_truth_while_gpus_fill_and_a_site_dies_and_comes_back(
    lab: LabPage, testbed: Testbed, nodes: dict[str, Sshd]
) -> None:
    write_notebook(lab.server.notebooks / "pool.ipynb", LOAD, "%diamond wall")
    lab.open("pool.ipynb")
    lab.run(0)
    lab.run(1)
    lab.show_sidebar()
    for name in CLUSTERS:
        expect(lab.site(name).locator(AGE)).to_have_text(re.compile(r"^\d+ s$"), timeout=60_000)
        expect(lab.site(name)).to_contain_text(TRANSPORTS[name])
    both_tell_the_truth(lab, testbed)

    held = [
        testbed.sbatch("delta", "sleep 300", "-p", "gpuA100x4", "--gres=gpu:3", "-c", "5", *GPU),
        *(testbed.sbatch("delta", "sleep 300", "-p", "gpuA40x4", "--gres=gpu:4", *GPU) for _ in range(2)),
    ]
    for job in held:
        testbed.wait_running("delta", job)
    assert free_by_scontrol(testbed, "delta", "gpuA40x4") == 0
    both_tell_the_truth(lab, testbed)
    for job in held:
        testbed.run("delta", "scancel", job)
    both_tell_the_truth(lab, testbed)

    nodes["anvil"].kill()
    expect(lab.site("anvil")).to_have_attribute("data-health", re.compile("degraded|offline"), timeout=60_000)
    expect(lab.site("delta")).to_have_attribute("data-health", "online")
    nodes["anvil"].start()
    expect(lab.site("anvil")).to_have_attribute("data-health", "online", timeout=60_000)


def test_a_cell_runs_on_each_transport_and_comes_back(lab: LabPage) -> None:
    where = {"delta": "delta", "anvil": "anvil", "vista": "vista", "here": None}
    cell = "import os\nplace = os.environ.get('SLURM_CLUSTER_NAME')\nprint('was at', place)"
    submits = [f"%%diamond_submit at_{name} --site {name} --time 10m --out place\n{cell}" for name in where]
    checks = [f"print('result', at_{name}.result(timeout=120))" for name in where]
    write_notebook(lab.server.notebooks / "each.ipynb", LOAD, *submits, *checks)
    lab.open("each.ipynb")
    lab.run(0)
    for n in range(len(where)):
        lab.run(1 + n)
    for n, cluster in enumerate(where.values()):
        expect(lab.run(1 + len(where) + n, seconds=150)).to_contain_text(f"result {cluster}")
        lab.wait_card(1 + n, "completed", seconds=150)
