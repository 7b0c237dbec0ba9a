"""``jupyter diamond auth, login, logout``: without a server, and through one."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.live.globus import StandIn
from tests.live.globus.identities import ALICE
from tests.live.jupyter import JupyterServer, private_environment


@pytest.fixture
def services():
    with StandIn() as made:
        yield made


@pytest.fixture
def lonely(tmp_path: Path, services: StandIn) -> Cli:
    """Without any server, and Globus as it stands."""
    return Cli(private_environment(tmp_path, extra=services.environment))


def log_in(cli: Cli, services: StandIn, *words: str) -> tuple[int, str, str]:
    """As in a terminal: read the link, open it, type the code."""
    command = [sys.executable, "-c", "from jupyter_diamond.cli import main; main()", "login", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=cli.env, text=True, **pipes) as running:
        watch = threading.Timer(60, running.kill)
        watch.start()
        try:
            stream = running.stderr if "--json" in words else running.stdout
            link = next(line.strip() for line in stream if line.startswith("http"))
            out, err = running.communicate(services.auth.approve(link).code + "\n")
        finally:
            watch.cancel()
    return running.returncode, out, err


def test_a_login_without_any_server(lonely, services):
    status, out, err = log_in(lonely, services)
    assert (status, "Traceback" in err) == (0, False)
    assert "logged in" in out
    assert ALICE.username in out
    who = lonely("auth")
    assert who.status == 0
    assert ALICE.username in who.out
    assert "GLOBUS_COMPUTE_CLIENT_ID, GLOBUS_COMPUTE_CLIENT_SECRET" in who.out
    assert "it owns none of your endpoints" in who.out
    assert "You are logged in as alice@standin.test, by the login that" in lonely("login").out
    gone = lonely("logout")
    assert "is revoked and its tokens are deleted" in gone.out
    assert "programs and endpoints that use the same store" in gone.out
    assert services.auth.tokens == {}


def test_login_answers_with_one_document(lonely, services):
    status, out, _ = log_in(lonely, services, "--json")
    assert (status, json.loads(out)["identity"]) == (0, ALICE.username)
    assert lonely("logout", "--json").json["health"] == "needs_login"
    assert "Nobody was logged in" in lonely("logout").out
    nobody = lonely("auth", "--json")
    assert (nobody.status, nobody.json["login"]["health"]) == (1, "needs_login")


@pytest.mark.parametrize(("stdin", "words"), [("", "No code was given"), ("nonsense\n", "does not accept the code")])
def test_a_code_that_is_none(lonely, stdin, words):
    said = lonely("login", stdin=stdin)
    assert (said.status, words in said.err) == (2, True)


def test_a_code_on_the_command_line_is_refused(lonely):
    assert lonely("login", "--code", "x").status == 2
    assert lonely("login", "x").status == 2


def test_the_browser_s_way_needs_the_server(lonely):
    said = lonely("login", "--web")
    assert (said.status, "none is running" in said.err) == (2, True)


def test_what_is_missing_is_told(lonely, tmp_path):
    (tmp_path / "block").mkdir()
    (tmp_path / "block" / "sitecustomize.py").write_text(
        "import sys\nsys.modules['globus_sdk'] = sys.modules['globus_compute_sdk'] = None\n"
    )
    lonely.env["PYTHONPATH"] = f"{tmp_path / 'block'}:{lonely.env['PYTHONPATH']}"
    said = lonely.started("auth", "--json")
    assert (said.status, said.json["login"]["health"]) == (1, "not_installed")
    assert "pip install 'jupyter-diamond[globus]'" in lonely.started("login").err


def test_doctor_speaks_of_globus_only_where_a_site_uses_it(lonely, services):
    path = Path(lonely.env["JUPYTER_DIAMOND_SITES"])
    assert "globus" not in {check["name"] for check in lonely("doctor", "--json").json["checks"]}
    path.write_text(
        "sites:\n  - {name: delta, scheduler: slurm, transport: globus-compute, "
        "endpoint: 11111111-2222-4333-8444-555555555555}\n"
    )
    found = {check["name"]: check for check in lonely("doctor", "--json").json["checks"]}
    assert (found["globus"]["answer"], "jupyter diamond login" in found["globus"]["sentence"]) == ("fail", True)
    log_in(lonely, services)
    found = {check["name"]: check for check in lonely("doctor", "--json").json["checks"]}
    assert (found["globus"]["answer"], ALICE.username in found["globus"]["sentence"]) == ("ok", True)


def test_a_running_server_is_the_one_that_logs_in(services, tmp_path):
    client = services.auth.add_client("portal")
    pair = {"GLOBUS_CLIENT_ID": client.id, "GLOBUS_CLIENT_SECRET": client.secret}
    with JupyterServer(tmp_path, env={**services.environment, **pair}) as server:
        cli = Cli(
            {**private_environment(tmp_path), "DIAMOND_SERVER_URL": server.url, "DIAMOND_SERVER_TOKEN": server.token}
        )
        assert log_in(cli, services)[0] == 0
        assert cli.json("auth")["login"]["mode"] == "cached"
        cli("logout")
        web = cli("login", "--web", "--json")
        link = web.json["url"]
        assert (web.status, link in web.err) == (0, True)
        back = services.auth.approve(link).location
        assert back.startswith(f"{server.url}jupyter_diamond/api/login/callback?code=")
        page = server.client.get(back)
        assert (page.status_code, "You are logged in" in page.text) == (200, True)
        assert cli.json("auth")["login"]["mode"] == "web"
        assert cli("logout").status == 0
        log = server.log.read_text()
    for secret in (client.secret, *_secrets(services)):
        assert secret not in log


def _secrets(services: StandIn) -> set[str]:
    found = set()
    for exchange in services.requests("oauth2/token"):
        for one in (exchange.asked, exchange.answered):
            found |= {value for name, value in (one or {}).items() if name in ("access_token", "refresh_token", "code")}
    assert len(found) >= 6
    return found
