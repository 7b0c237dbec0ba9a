"""endpoint-setup over real ssh with the real agent, against the stand-in of the services: from nothing, again, cut short.

The login node is a sshd of the test's own with a user of the test's own; the agent is installed once, by endpoint-setup
itself from the package registry, and the other tests find it there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from jupyter_diamond.engine.endpoint_setup import THREADS, budget
from jupyter_diamond.globus import endpoint_template
from jupyter_diamond.model.endpoint import LoginNode
from jupyter_diamond.sites.catalogue import load_catalogue
from tests.cli.conftest import Cli
from tests.live.globus import ALICE, StandIn
from tests.live.jupyter import JupyterServer, private_environment
from tests.live.slurm import wait_until
from tests.live.sshd import LoginUser, Sshd

pytestmark = [pytest.mark.sshd, pytest.mark.users, pytest.mark.globus, pytest.mark.timeout(600)]
NAME = "jupyter-diamond"
PYTHON = ("--python", "/usr/bin/python3")


class Login:
    """A login node: its user, its sshd, the services that its agent finds, and our command line that reaches it."""

    def __init__(self, base: Path, services: StandIn) -> None:
        self.services, self.base = services, base
        self.user = LoginUser()
        self.user.make()
        self.extra: dict[str, str] = {}
        self.node = Sshd(base / "ssh", "delta-login", env=self._far(), user=self.user.name)
        self.sites = base / "sites.yaml"
        self.write_sites()
        runtime = base / "run"
        runtime.mkdir(mode=0o700)
        self.cli = Cli(private_environment(base, sites=self.sites, extra={"XDG_RUNTIME_DIR": str(runtime)}))

    def _far(self) -> dict[str, str]:
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        url = self.services.url
        return {**pip, "GLOBUS_SDK_SERVICE_URL_AUTH": url + "/", "HTTP_PROXY": url, "http_proxy": url}

    def write_sites(self) -> None:
        self.sites.write_text(
            f"sites:\n  # my cluster\n  - name: gate   # the way in\n    transport: ssh\n    host: delta-login\n"
            f"    scheduler: slurm\n    ssh_config: {self.node.config}\n"
        )

    @property
    def folder(self) -> Path:
        return self.user.home / ".globus_compute" / NAME

    def fresh(self) -> None:
        """As nobody had ever set up anything; the installed program stays. The agent shall find the stand-in."""
        self.end()
        shutil.rmtree(self.user.home / ".globus_compute", ignore_errors=True)
        self.folder.mkdir(parents=True)
        config = "# mine\ndisplay_name: Ada's\nlocal_compute_services: true\nheartbeat_period: 5\n"
        (self.folder / "config.yaml").write_text(config)
        subprocess.run(["chown", "-R", f"{self.user.name}:", str(self.folder.parent)], check=True)
        self.services.heal()
        self.services.compute.endpoints.clear()
        self.write_sites()

    def processes(self) -> list[psutil.Process]:
        every = psutil.process_iter(["username", "status"])
        return [one for one in every if one.info["username"] == self.user.name and one.info["status"] != "zombie"]

    def agents(self) -> list[int]:
        return [one.pid for one in self.processes() if one.name().startswith("Globus Compute")]

    def end(self) -> None:
        """End everything of the user, as a reboot does: also what was begun while the others were being ended."""

        def none_is_left() -> bool:
            living = self.processes()
            for process in living:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            return not living

        wait_until(none_is_left, 10, "The user's processes outlived SIGKILL")

    def sign_in(self) -> None:
        """What the user does once: the command that was handed out, with the code of the page pasted."""
        said = self.cli("endpoint-setup", "gate", *PYTHON, "--json")
        assert (said.status, said.json["kind"]) == (1, "needs_login"), said
        words = [word for word in shlex.split(said.json["login"]) if word != "-t"]  # there is no terminal here
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as login:
            assert login.stdin is not None
            assert login.stdout is not None
            url = next(line for line in login.stdout if "/v2/oauth2/authorize" in line).strip()
            login.stdin.write(self.services.auth.approve(url, identity=ALICE).code + "\n")
            login.stdin.close()
            login.stdout.read()
            assert login.wait(30) == 0

    def close(self) -> None:
        self.end()
        self.node.close()
        self.user.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with StandIn() as services:
        login = Login(tmp_path_factory.mktemp("login"), services)
        try:
            yield login
        finally:
            login.close()


@pytest.fixture(scope="module")
def first(made):
    """The first set-up there ever was, which installs the program, and comes as far as the login."""
    made.fresh()
    before = (made.folder / "config.yaml").read_bytes()
    said = made.cli("endpoint-setup", "gate", *PYTHON, "--json", seconds=280)
    return said, before


@pytest.fixture
def login(made, first):
    made.fresh()
    return made


@pytest.fixture
def signed_in(login):
    login.sign_in()
    return login


def test_the_first_run_installs_configures_and_hands_out_the_login(made, first):
    said, config = first
    assert (said.status, said.json["kind"]) == (1, "needs_login"), said
    assert said.json["node"]["version"] is None
    assert said.json["done"][0].startswith("globus-compute-endpoint 4.")
    assert f"{made.user.home}/.gce-venv/bin/globus-compute-endpoint login" in said.json["problem"]
    assert said.json["login"].startswith(f"ssh -F {made.node.config} -t delta-login ")
    assert (made.folder / "config.yaml").read_bytes() == config
    for name in endpoint_template.OURS:
        assert (made.folder / name).stat().st_mode & 0o077 == 0
        wanted = endpoint_template.text(name).replace("@VENV@", f"{made.user.home}/.gce-venv")
        assert (made.folder / name).read_text().rstrip() == wanted.rstrip()


def test_after_the_login_it_comes_online_and_is_written_into_the_catalogue(signed_in):
    said = signed_in.cli("endpoint-setup", "gate", "--site", "delta", "--account", "bbka-delta-cpu", "--write")
    assert said.status == 0, said
    (endpoint,) = signed_in.services.compute.endpoints
    assert f"Endpoint {endpoint} is online" in said.out
    assert f"It belongs to {ALICE.username}" in said.out
    assert f"sh {signed_in.folder}/start.sh" in said.out
    text = signed_in.sites.read_text()
    assert text.startswith("sites:\n  # my cluster\n  - name: gate   # the way in\n")
    new = load_catalogue(signed_in.sites, this_machine=None)[-1]
    assert (new.name, new.transport, str(new.endpoint), new.account) == (
        "delta", "globus-compute", endpoint, "bbka-delta-cpu",
    )  # fmt: skip
    assert "has it already" in signed_in.cli("endpoint-setup", "gate", "--site", "delta", "--write").out
    again = signed_in.cli("endpoint-setup", "gate", "--write")
    assert "it was not touched" in again.out, "a site of that name is reached another way"
    assert signed_in.sites.read_text() == text


def test_a_second_run_changes_nothing(signed_in):
    one = signed_in.cli.json("endpoint-setup", "gate")
    two = signed_in.cli.json("endpoint-setup", "gate")
    assert (two["done"], two["plan"]) == ([], [])
    assert (two["endpoint"], two["pid"], two["online"]) == (one["endpoint"], one["pid"], True)
    assert signed_in.agents() == [one["pid"]]


def test_a_changed_template_is_applied_and_the_agent_restarted_with_the_same_id(signed_in):
    one = signed_in.cli.json("endpoint-setup", "gate")
    config = (signed_in.folder / "config.yaml").read_bytes()
    template = signed_in.folder / "user_config_template.yaml.j2"
    template.write_text("engine:\n  type: GlobusComputeEngine\n")
    look = signed_in.cli.json("endpoint-setup", "gate", "--dry-run")
    assert look["plan"] == [
        f"Write in {signed_in.folder}: user_config_template.yaml.j2.",
        f"End the agent that runs on {one['runs_on']} as process {one['pid']}, and start it on {one['runs_on']}.",
    ]
    assert template.read_text().startswith("engine:\n"), "a dry run changes nothing"
    two = signed_in.cli.json("endpoint-setup", "gate")
    assert (two["endpoint"], two["online"]) == (one["endpoint"], True)
    assert two["pid"] != one["pid"]
    assert signed_in.agents() == [two["pid"]]
    assert template.read_text().rstrip() == endpoint_template.text(template.name).rstrip()
    assert template.with_name(f"{template.name}.before").read_text() == "engine:\n  type: GlobusComputeEngine\n"
    assert (signed_in.folder / "config.yaml").read_bytes() == config


def test_after_maintenance_the_command_that_was_given_starts_it(signed_in):
    one = signed_in.cli.json("endpoint-setup", "gate")
    signed_in.end()
    assert (signed_in.folder / "daemon.pid").exists(), "a reboot leaves its pid file behind"
    ssh = ["ssh", "-F", str(signed_in.node.config), "delta-login", one["restart"]]
    done = subprocess.run(ssh, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    (pid,) = signed_in.agents()
    assert f"as process {pid}" in done.stdout
    two = signed_in.cli.json("endpoint-setup", "gate")
    assert (two["endpoint"], two["pid"], two["done"]) == (one["endpoint"], pid, [])


@pytest.mark.parametrize("at", ["start.sh", "endpoint.log", "daemon.pid"])
def test_a_set_up_that_is_cut_short_anywhere_goes_on_where_it_stopped(login, at):
    """The client is killed, and everything of the user's on the login node with it, as when the node goes down."""
    client = login.services.auth.add_client("agent", speaks_for=ALICE)
    env = {"GLOBUS_COMPUTE_CLIENT_ID": client.id, "GLOBUS_COMPUTE_CLIENT_SECRET": client.secret}
    cli = Cli({**login.cli.env, **env})
    line = ["-c", "from jupyter_diamond.cli import main; main()", "endpoint-setup", "gate", "--client-credentials"]
    with subprocess.Popen(
        [sys.executable, *line], env=cli.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        wait_until(lambda: (login.folder / at).exists() or running.poll() is not None, 60, f"{at} does not come")
        running.kill()
    login.end()
    one = login.folder / "endpoint.json"
    known = one.read_text() if one.exists() else ""
    done = cli.json("endpoint-setup", "gate", "--client-credentials")
    assert (done["online"], login.agents()) == (True, [done["pid"]])
    assert not known or done["endpoint"] in known
    assert not (login.folder.parent / f".{NAME}.lock").exists()
    assert (login.folder / "client.env").stat().st_mode & 0o077 == 0


def test_a_lost_line_while_it_installs_leaves_nothing_that_hinders_the_next_run(login):
    """The far side goes on by itself; the next run waits for it."""
    venv = ("--venv", "~/other-venv")
    line = ["-c", "from jupyter_diamond.cli import main; main()", "endpoint-setup", "gate", *venv, *PYTHON]
    with subprocess.Popen(
        [sys.executable, *line], env=login.cli.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as running:
        pip = login.user.home / "other-venv" / "bin" / "pip"
        wait_until(lambda: pip.exists() or running.poll() is not None, 60, "No environment is made")
        login.node.line.cut()
        assert running.wait(60) == 1
        assert running.stderr is not None
        assert "Run this again: it goes on where it stopped." in running.stderr.read()
    said = login.cli("endpoint-setup", "gate", *venv, *PYTHON, "--json", seconds=280)
    assert said.json["kind"] == "needs_login", said.json


def test_a_site_without_a_way_out_is_told_what_to_do(login):
    login.node.kill()
    login.node._env |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}
    login.node.start()
    try:
        said = login.cli("endpoint-setup", "gate", "--venv", "~/no-way-out", *PYTHON, "--json")
    finally:
        login.node.kill()
        login.node._env = login._far()
        login.node.start()
    assert (said.status, said.json["kind"]) == (1, "install")
    for words in ("No matching distribution", "https_proxy", "transport: ssh", "compute.api.globus.org"):
        assert words in said.json["problem"]


def test_services_that_do_not_answer_are_said(login):
    login.services.down()
    try:
        client = {"GLOBUS_COMPUTE_CLIENT_ID": "a", "GLOBUS_COMPUTE_CLIENT_SECRET": "b"}
        said = Cli({**login.cli.env, **client})("endpoint-setup", "gate", "--client-credentials", "--json")
    finally:
        login.services.up()
    assert (said.status, said.json["kind"]) == (1, "globus")
    assert "did not answer" in said.json["problem"]


def test_an_engine_in_the_users_own_config_is_named_and_not_touched(login):
    config = login.folder / "config.yaml"
    config.write_text("engine:\n  type: GlobusComputeEngine\n")
    said = login.cli("endpoint-setup", "gate", "--json")
    assert (said.status, said.json["kind"]) == (1, "engine")
    assert f"{config} on " in said.json["problem"]
    assert config.read_text() == "engine:\n  type: GlobusComputeEngine\n"


def test_an_agent_on_another_login_node_is_left_alone_until_it_is_moved(signed_in):
    one = signed_in.cli.json("endpoint-setup", "gate")
    (signed_in.folder / "started_on").write_text("login02\n")
    (signed_in.folder / "start.sh").write_text("# older\n")
    said = signed_in.cli("endpoint-setup", "gate", "--json")
    assert (said.status, said.json["kind"]) == (1, "elsewhere")
    assert f"runs on login02 as process {one['pid']}" in said.json["problem"]
    assert signed_in.agents() == [one["pid"]]
    (signed_in.folder / "start.sh").write_text("# older\n")
    moved = signed_in.cli.json("endpoint-setup", "gate", "--move")
    assert (moved["endpoint"], moved["online"]) == (one["endpoint"], True)
    wait_until(lambda: signed_in.agents() == [moved["pid"]], 30, "The agent on the other node does not end")


def test_the_printed_script_does_the_same_by_hand(signed_in):
    script = signed_in.cli("endpoint-setup", "--print")
    assert script.status == 0
    assert script.out.startswith("#!/bin/sh\n")
    ssh = ["ssh", "-F", str(signed_in.node.config), "delta-login", "cat > by-hand.sh && dash by-hand.sh </dev/null"]
    done = subprocess.run(ssh, input=script.out, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done
    (endpoint,) = signed_in.services.compute.endpoints
    assert f"Endpoint {endpoint} is online" in done.stdout
    assert signed_in.cli.json("endpoint-setup", "gate")["done"] == []


def test_a_small_thread_budget_is_warned_of(login):
    (login.user.home / ".bashrc").write_text("ulimit -Su 30\n")
    try:
        said = login.cli("endpoint-setup", "gate", "--dry-run")
    finally:
        (login.user.home / ".bashrc").unlink()
    assert said.status == 0
    assert "TOO FEW" in said.out
    assert "of 30 are in use" in said.out


@pytest.mark.parametrize(("allowed", "used", "runs", "enough"), [
    (None, None, "nowhere", True), (100, 80, "nowhere", False), (100, 80, "here", True), (100, 75, "nowhere", True),
    (20, 0, "nowhere", False),
])  # fmt: skip
def test_the_thread_budget_counts_an_agent_that_runs_already(allowed, used, runs, enough):
    node = LoginNode(
        node="n", host="n", user="u", venv="v", folder="f", runs=runs, threads_allowed=allowed, threads_used=used
    )
    assert budget(node)[0] is enough


def test_a_host_that_is_not_there_and_one_with_another_key_are_not_touched(login):
    nowhere = login.cli("endpoint-setup", "nowhere.invalid", "--json")
    assert (nowhere.status, "leads nowhere" in nowhere.json["message"]) == (1, True)
    login.node.change_host_key()
    known = login.node.known_hosts.read_text()
    try:
        said = login.cli("endpoint-setup", "gate", "--json")
    finally:
        login.node.known_hosts.write_text("")
        login.node.trust()
    assert (said.status, "host key" in said.json["message"]) == (1, True)
    assert login.node.known_hosts.read_text() != known
    assert sorted(path.name for path in login.folder.iterdir()) == ["config.yaml"]


@pytest.mark.parametrize("words", [
    (), ("-oProxyCommand=sh",), ("a b",), ("gate", "--name", "../x"), ("gate", "--venv", "~/a b"),
    ("gate", "--venv", "~"), ("gate", "--client-credentials"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_before_anything_is_reached(made, words):
    assert made.cli("endpoint-setup", *words).status == 2


def test_preflight_and_endpoints_say_who_answers_from_where(signed_in, tmp_path):
    """From the set-up to the pool: the server reaches the node through the endpoint that was just made."""
    made = signed_in.cli.json("endpoint-setup", "gate", "--site", "delta", "--write")
    tokens = json.dumps(signed_in.services.auth.issue(identity=ALICE))
    extra = {**signed_in.services.environment, "JUPYTER_DIAMOND_TOKENS": tokens}
    with JupyterServer(
        tmp_path, sites=signed_in.sites, env=extra, arguments=("--DiamondSites.this_machine=False",)
    ) as server:
        cli = Cli(server.env)
        (tried,) = cli("preflight", "delta", "--json").json
        found = {check["name"]: check for check in tried["checks"]}
        (row,) = (listed := cli.json("endpoints"))["endpoints"]
        text = cli("endpoints").out
        threads = {
            one.pid: one.num_threads() for one in signed_in.processes() if "compute" in " ".join(one.cmdline()).lower()
        }
    assert (found["endpoint"]["answer"], found["agent"]["answer"], found["threads"]["answer"]) == ("ok", "ok", "ok")
    assert len(threads) == 2, "the agent and its one worker process"
    assert sum(threads.values()) + 8 <= THREADS, "and some for a task's own commands"
    print(f"agent and worker: {sorted(threads.values())} threads")
    assert f"{signed_in.user.name}@" in found["agent"]["sentence"]
    assert f"answers as process {made['pid']}, since " in found["agent"]["sentence"]
    assert "(Python 3." in found["agent"]["sentence"]
    assert (row["id"], row["site"], row["online"]) == (made["endpoint"], "delta", True)
    assert "delta" in listed["without"], "its host is no login node of the machine that is known"
    assert "Ada's" in text
    assert "endpoint-setup HOST makes one" in text
