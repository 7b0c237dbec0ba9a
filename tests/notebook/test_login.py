"""``%diamond auth, login, logout`` in a real kernel, with a real server and the stand-in of Globus behind it."""

from __future__ import annotations

import re

import pytest

from jupyter_diamond.model.login import LoginStart
from jupyter_diamond.notebook.login_text import LoginLink
from tests.live.globus import StandIn
from tests.live.globus.identities import ALICE
from tests.live.jupyter import JupyterServer
from tests.notebook.live_kernel import LiveKernel


@pytest.fixture(scope="module")
def services():
    with StandIn() as made:
        yield made


@pytest.fixture(scope="module")
def server(services, tmp_path_factory):
    with JupyterServer(tmp_path_factory.mktemp("login"), env=services.environment) as started:
        yield started


@pytest.fixture
def kernel(server, tmp_path):
    made = LiveKernel({"DIAMOND_SERVER_URL": server.url, "DIAMOND_SERVER_TOKEN": server.token}, tmp_path)
    made.ok("%load_ext jupyter_diamond")
    yield made
    made.ok("%diamond logout")
    made.stop()


def link_of(ran_or_messages):
    texts = [m["content"]["data"]["text/plain"] for m in ran_or_messages if m["msg_type"] == "display_data"]
    return re.search(r"http\S+", texts[0])[0]


def log_in(kernel, services):
    """The cell asks on the kernel's own channel for input; what is typed there is hidden."""
    message = kernel.send("%diamond login")
    asked = kernel.client.get_stdin_msg(timeout=60)["content"]

    def link():
        mine = [m for m in kernel.seen if m["parent_header"].get("msg_id") == message]
        return any(m["msg_type"] == "display_data" for m in mine) and link_of(mine)

    kernel.client.input(services.auth.approve(kernel.until(link, what="the link")).code)
    return kernel.finish(message), asked


def test_a_link_and_a_code(kernel, services):
    assert "not logged in" in kernel.ok("%diamond auth").result
    ran, asked = log_in(kernel, services)
    assert ran.status == "ok", ran.everything
    assert (asked["prompt"], asked["password"]) == ("Code: ", True)
    assert 'target="_blank"' in ran.displays[0]["data"]["text/html"]
    assert ALICE.username in ran.result
    assert ALICE.username in kernel.ok("%diamond auth").result
    assert "is revoked" in kernel.ok("%diamond logout").result
    code = next(exchange.asked["code"] for exchange in services.requests("oauth2/token") if "code" in exchange.asked)
    assert code not in str(kernel.seen)


def test_where_nothing_can_be_typed_it_says_what_to_do(kernel):
    ran = kernel.finish(kernel.client.execute("%diamond login", allow_stdin=False))
    assert ran.status == "error"
    assert "cannot ask for the code here" in ran.everything
    assert "jupyter diamond login" in ran.everything
    assert "Traceback" not in ran.everything


def test_the_browser_s_way_says_what_it_lacks(kernel):
    assert "GLOBUS_CLIENT_ID and GLOBUS_CLIENT_SECRET" in kernel.run("%diamond login --web").everything


def test_help(kernel):
    assert "--web" in kernel.ok("%diamond login ?").result


def test_a_link_is_never_markup():
    start = LoginStart(way="code", url="javascript:alert(1)//<b>", needed_for="<i>x</i>")
    assert "<a" not in LoginLink(start)._repr_html_()
    assert "<b>" not in LoginLink(start)._repr_html_()
    good = LoginStart(way="web", url='https://x/?a="><script>', needed_for="<i>Again</i>.")
    assert "<script>" not in LoginLink(good)._repr_html_()
    assert "&lt;i&gt;Again&lt;/i&gt;. Open this link" in LoginLink(good)._repr_html_()
