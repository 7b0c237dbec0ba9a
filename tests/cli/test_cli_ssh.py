"""The verbs that act at a site, on a real Slurm cluster behind a real login node: env, exec, put-file, preflight, smoke."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.live.jupyter import JupyterServer
from tests.live.slurm import wait_until
from tests.live.sshd import Sshd

pytestmark = [pytest.mark.slurm, pytest.mark.sshd]
NOISE = "echo '** Scratch purge on 1 May **'; echo oops >&2"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("cli-ssh")


@pytest.fixture(scope="module")
def node(base, testbed):
    """The login node of delta, whose start-up files talk: only its sessions know where the cluster's slurm.conf is."""
    node = Sshd(
        base / "ssh", "delta", env=testbed.env("delta"),
        extra=f'ForceCommand {NOISE}; eval "$SSH_ORIGINAL_COMMAND"; echo Goodbye',
    )  # fmt: skip
    yield node
    node.close()


@pytest.fixture(scope="module")
def server(base, node, testbed, tmp_path_factory):
    sites = testbed.sites_yaml(base / "sites.yaml", base / "work", names=["delta"], nodes=[node])
    runtime = tmp_path_factory.mktemp("run")  # short: it holds sockets
    with JupyterServer(
        base / "jupyter", sites=sites, env={"XDG_RUNTIME_DIR": str(runtime)},
        arguments=("--DiamondSites.this_machine=False",),
    ) as started:  # fmt: skip
        yield started


@pytest.fixture
def cli(server):
    return Cli(server.env)


@pytest.fixture
def work(base) -> Path:
    return base / "work" / "delta"


def test_env_reads_the_far_login_node(cli, work):
    said = cli.json("env", "delta")
    facts = {fact["name"]: fact["value"] for fact in said["facts"]}
    assert (facts["host"], facts["workdir"]) == (os.uname().nodename, str(work))
    assert facts["scheduler"].startswith("slurm")
    assert any(account.startswith("bbka-delta-cpu") for account in said["accounts"])
    assert "Scratch purge" not in str(said)
    assert said["environments"] == {"site": "delta", "builds": True, "named": [], "built": []}


def test_exec_shows_the_programs_own_words_and_no_banner(cli, testbed):
    job = testbed.sbatch("delta", "sleep 60", "-p", "cpu")
    said = cli("exec", "delta", f"squeue -h -j {job} -o '%i %P'")
    assert (said.status, said.out, said.err) == (0, f"{job} cpu\n", "")
    wrong = cli("exec", "delta", "squeue -h -j nonsense")
    assert (wrong.status, wrong.out, "oops" in wrong.err) == (1, "", False)
    assert "nvalid job id" in wrong.err
    assert cli("exec", "delta", f"scancel {job}").status == 2
    assert testbed.queue_state("delta", job) in ("PENDING", "RUNNING")


def test_exec_ends_a_program_that_does_not_and_cuts_what_is_too_long(cli, work):
    work.mkdir(parents=True, exist_ok=True)
    (work / "long").write_text("x" * 100_000)
    long = cli.json("exec", "delta", f"cat {work}/long")
    assert (len(long["stdout"]), long["cut"]) == (32 << 10, True)
    endless = cli("exec", "delta", "tail -f /dev/null", "--json", seconds=60)
    assert (endless.status, endless.json["timed_out"]) == (1, True)
    assert 19 <= endless.json["seconds"] < 30


def test_put_file_arrives_whole_and_replaces_only_when_told(cli, work, tmp_path):
    local = tmp_path / "data.bin"
    local.write_bytes(bytes(range(256)) * 7000)
    said = cli.json("put-file", "delta", str(local), "--to", "input.bin")
    assert (said["path"], said["bytes"], said["replaced"]) == (f"{work}/input.bin", 1_792_000, False)
    assert (work / "input.bin").read_bytes() == local.read_bytes()
    local.write_text("new")
    again = cli("put-file", "delta", str(local), "--to", "input.bin", "--json")
    assert (again.status, again.json["code"]) == (1, "conflict")
    assert (work / "input.bin").stat().st_size == 1_792_000
    assert cli.json("put-file", "delta", str(local), "--to", "input.bin", "--replace")["replaced"] is True
    assert (work / "input.bin").read_text() == "new"
    for name in ("../x", "queue", ".hidden", "a/b"):
        assert cli("put-file", "delta", str(local), "--to", name).status == 2, name


def test_preflight_tries_everything_and_says_who_pays(cli):
    (done,) = cli.json("preflight", "delta")
    answers = {check["name"]: (check["answer"], check["sentence"]) for check in done["checks"]}
    assert {answer for answer, _ in answers.values()} == {"ok"}, answers
    assert answers["reachable"][1].startswith("slurm ")
    assert "bbka-delta-cpu" in answers["account"][1]


def test_the_smoke_job_runs_behind_ssh_and_is_verified_through_accounting(cli, testbed):
    said = cli.json("smoke", "delta", "--yes")
    assert said["verdict"]["answer"] == "ok", said
    (row,) = said["accounting"]["rows"]
    assert testbed.accounting_state("delta", row["job"]["id"]) == "COMPLETED"
    assert testbed.run("delta", "squeue", "-h", "-o", "%i").stdout == ""


def test_a_login_node_that_is_down_is_one_sentence_for_every_verb(cli, node, tmp_path):
    local = tmp_path / "small"
    local.write_text("x")
    node.kill()
    try:
        for words in (("env", "delta"), ("exec", "delta", "squeue"), ("put-file", "delta", str(local))):
            said = cli(*words)
            assert (said.status, said.out) == (1, ""), said
            assert "not reachable by ssh" in said.err
        (done,) = cli("preflight", "delta", "--json").json
        assert [check["answer"] for check in done["checks"]] == ["fail"]
    finally:
        node.start()

    def back() -> bool:
        return cli("exec", "delta", "squeue").status == 0

    wait_until(back, 30, "The site does not come back")


def test_a_job_is_under_way_when_the_login_node_dies_and_smoke_still_tells_how_it_ended(cli, node, testbed):
    """Smoke asks accounting after the job: a line that was lost meanwhile is taken up again."""
    said = cli.json("smoke", "delta", "--yes")
    assert said["task"]["state"] == "completed"
    node.line.cut()
    assert cli.json("smoke", "delta", "--yes")["verdict"]["answer"] == "ok"
