"""What a real job at a real cluster cost, from the command line; and a cap of the server's that refuses another one."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Cli
from tests.live.jupyter import JupyterServer
from tests.live.slurm import wait_until

pytestmark = pytest.mark.slurm
CAPS = ("0.1 core-hours", "0.01 node-hours")


@pytest.fixture(scope="module")
def server(testbed, tmp_path_factory):
    base = tmp_path_factory.mktemp("cli-charges")
    sites = testbed.sites_yaml(base / "sites.yaml", base / "work", names=("delta", "vista"))
    text = sites.read_text()
    for name in ("delta", "vista"):
        text = text.replace(f'- name: "{name}"\n', f'- name: "{name}"\n    machine: {name}\n')
    assert text.count("machine: ") == 2, "the catalogue is written otherwise"
    sites.write_text(text)
    arguments = ("--DiamondSites.this_machine=False", *(f"--DiamondBudget.per_day={cap}" for cap in CAPS))
    with JupyterServer(base, sites=sites, arguments=arguments) as started:
        yield started


@pytest.fixture
def cli(server):
    return Cli(server.env)


def test_what_a_job_cost_is_told_and_a_cap_refuses_the_next(cli):
    assert "Nothing was charged in the last 7 days" in cli("charges").out
    task = cli.json("smoke", "delta", "--yes")["task"]
    wait_until(lambda: cli.json("task", task["id"])["state"] == "completed", 60, "the job did not end")
    attempt = cli.json("task", task["id"])["attempts"][0]
    (row,) = cli.json("charges")["accounts"]
    assert (row["site"], row["account"], row["unit"]) == ("delta", "bbka-delta-cpu", "core-hour")
    assert (row["attempts"], row["live"], row["reserved"], row["balance"]) == (1, 0, None, None)
    assert row["actual"] == attempt["charge"]["actual"] == pytest.approx(attempt["ran_s"] / 3600)
    assert row["predicted"] == pytest.approx(300 / 3600)
    lines = cli("charges", "--days", "1").out.splitlines()
    assert lines[0].split() == [
        "site", "account", "unit", "attempts", "unknown", "predicted", "reserved", "actual", "balance", "age",
    ]  # fmt: skip
    assert lines[1].split()[:7] == ["delta", "bbka-delta-cpu", "core-hour", "1", "0", "0.083", "-"]
    assert lines[2].startswith("Cap of 0.1 core-hours in 24 hours (c.DiamondBudget.per_day): ")
    assert lines[2].endswith(" core-hours left.")
    assert cli("charges", "--tasks").out.splitlines()[1].split()[:3] == ["smoke_delta", "1", "delta"]
    assert "0.083 core-hours predicted" in cli("task", task["id"]).out
    refused = cli("smoke", "vista", "--yes")
    assert refused.status == 2
    assert refused.err == (
        "vista cannot run this. vista:gg: your cap of 0.01 node-hours in 24 hours (c.DiamondBudget.per_day) leaves "
        "0.01 node-hours (0 node-hours spent, 0 node-hours reserved), and this job may cost up to 0.083 node-hours: raise the "
        "cap, or ask for less.\n"
    )
    assert [each["id"] for each in cli.json("tasks")["tasks"]] == [task["id"]]
