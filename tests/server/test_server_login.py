"""The login over REST: the real SDK below, the stand-in of Globus behind it, a browser's headers in front."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from jupyter_diamond.globus import bucket
from jupyter_diamond.server.logins import CALLBACK
from tests.live.globus.identities import ALICE, BOB


@pytest.fixture(autouse=True)
def no_limit(monkeypatch):
    monkeypatch.setattr(bucket, "PROCESS", bucket.Bucket(100_000))


@pytest.fixture
def portal(service, globus_services):
    """The server has an application for sign-ins through the browser."""

    def add(*redirects):
        client = globus_services.auth.add_client("portal", redirects=redirects)
        service.globus._environ.update(GLOBUS_CLIENT_ID=client.id, GLOBUS_CLIENT_SECRET=client.secret)
        return client

    return add


@pytest.fixture
def come_back(http_server_client, jp_base_url, jp_auth_header):
    """The browser at our callback: it comes from Globus, so its Referer is not ours."""

    async def fetch(query, *, token=True, headers=None):
        return await http_server_client.fetch(
            f"{jp_base_url}{CALLBACK}?{query}",
            headers={"Referer": "https://auth.globus.org/", **(jp_auth_header if token else {}), **(headers or {})},
            raise_error=False,
        )

    return fetch


async def test_nobody_is_logged_in(ask, service, globus_services):
    got = await ask("GET", "login")
    assert (got.code, got.json["health"], got.json["ways"]) == (200, "needs_login", ["code"])
    assert globus_services.requests() == []


async def test_a_code_logs_in_and_logout_out(ask, service, globus_services):
    start = (await ask("POST", "login", form={"way": "code"})).json
    assert start["way"] == "code"
    code = globus_services.auth.approve(start["url"]).code
    got = await ask("POST", "login/code", form={"code": code})
    assert (got.json["health"], got.json["mode"], got.json["identity"]) == ("signed_in", "cached", ALICE.username)
    assert (await ask("GET", "login")).json == got.json
    assert (await ask("DELETE", "login")).json["health"] == "needs_login"


async def test_a_wrong_code_is_one_sentence(ask, service, globus_services):
    assert "No login was begun" in (await ask("POST", "login/code", form={"code": "x"})).json["message"]
    await ask("POST", "login")
    got = await ask("POST", "login/code", form={"code": "nonsense"})
    assert (got.code, got.json["code"]) == (400, "invalid_request")
    assert "does not accept the code" in got.json["message"]
    assert "nonsense" not in got.body.decode()


async def test_another_identity_is_one_sentence(ask, service, globus_services):
    for person in (ALICE, BOB):
        start = (await ask("POST", "login")).json
        code = globus_services.auth.approve(start["url"], identity=person).code
        got = await ask("POST", "login/code", form={"code": code})
    assert (got.code, "bob@standin.test" in got.json["message"]) == (400, True)


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"way": "paste"}', b'{"url": "x"}'])
async def test_a_bad_request(ask, service, body):
    assert (await ask("POST", "login", body=body, good=False)).code == 400


async def test_the_browser_comes_back_through_a_proxy(
    ask, service, portal, come_back, globus_services, jp_base_url, jp_serverapp
):
    """A hub in front: the browser sees https and another host; the base_url is the server's own."""
    jp_serverapp.web_app.settings["allow_origin"] = "https://hub.uni.edu"
    ours = f"https://hub.uni.edu{jp_base_url}{CALLBACK}"
    portal(ours)
    start = (await ask("POST", "login", form={"way": "web"}, headers={"Origin": "https://hub.uni.edu"})).json
    assert parse_qs(urlsplit(start["url"]).query)["redirect_uri"] == [ours]
    back = urlsplit(globus_services.auth.approve(start["url"]).location)
    assert f"{back.scheme}://{back.netloc}{back.path}" == ours
    page = await come_back(back.query)
    assert (page.code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    text = page.body.decode()
    assert f"Globus knows you as {ALICE.username}" in text
    assert "<script" not in text
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert (page.headers["Cache-Control"], page.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    for secret in (*globus_services.auth.tokens, *globus_services.auth.refresh_tokens, *parse_qs(back.query)["code"]):
        assert secret not in text
    login = (await ask("GET", "login")).json
    assert (login["health"], login["mode"]) == ("signed_in", "web")
    again = await come_back(back.query)
    assert (again.code, "begin it again" in again.body.decode()) == (400, True)


async def test_without_a_browser_the_server_s_own_address_or_the_one_that_was_said(
    ask, service, portal, globus_services, jp_base_url, monkeypatch, http_server_port
):
    portal()

    async def redirect():
        got = await ask("POST", "login", form={"way": "web"})
        return got.json if got.code != 200 else parse_qs(urlsplit(got.json["url"]).query)["redirect_uri"][0]

    assert await redirect() == f"http://127.0.0.1:{http_server_port[1]}{jp_base_url}{CALLBACK}"
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/alice/")
    assert "c.DiamondGlobus.public_url" in (await redirect())["message"]
    service.globus._settings.public_url = "https://hub.uni.edu/user/alice/"
    assert await redirect() == f"https://hub.uni.edu/user/alice/{CALLBACK}"


@pytest.mark.parametrize(("query", "status", "words"), [
    ("", 400, "nothing was begun here"),
    ("code=x", 400, "nothing was begun here"),
    ("code=x&state=y", 400, "No login was begun here"),
    ("error=access_denied&state=y", 400, "did not log you in: access_denied"),
    ("error=x&error_description=%3Cscript%3Ealert(1)%3C/script%3E", 400, "&lt;script&gt;alert(1)"),
    ("code=%00&state=%ff&iss=other", 400, "You are not logged in"),
])  # fmt: skip
async def test_a_visit_that_nobody_began(come_back, service, query, status, words):
    page = await come_back(query)
    assert (page.code, words in page.body.decode()) == (status, True)
    assert "<script" not in page.body.decode()
    assert page.headers["Content-Type"].startswith("text/html")


async def test_a_browser_that_jupyter_does_not_know(come_back, service):
    page = await come_back("code=secret-code&state=secret-state", token=False)
    assert (page.code, "Open JupyterLab in this browser first" in page.body.decode()) == (403, True)
    assert b"secret" not in page.body


async def test_the_code_of_a_visit_is_in_no_log(come_back, service, caplog):
    caplog.set_level("DEBUG")
    for token in (True, False):
        await come_back("code=secret-code&state=secret-state", token=token)
    assert CALLBACK in caplog.text
    assert "secret-" not in caplog.text


async def test_what_is_missing_is_told(ask, service, monkeypatch):
    monkeypatch.setattr("jupyter_diamond.globus.access.installed", lambda: False)
    got = await ask("GET", "login")
    assert (got.json["health"], "pip install 'jupyter-diamond[globus]'" in got.json["problem"]) == (
        "not_installed",
        True,
    )
    assert (await ask("POST", "login")).code == 400


async def test_only_who_is_let_in_may_ask(fetch_raw, service):
    for method, path in (("GET", "login"), ("POST", "login"), ("POST", "login/code"), ("DELETE", "login")):
        assert (await fetch_raw(path, method=method, token=False)).code == 403
    assert json.loads((await fetch_raw("login")).body)["health"] == "needs_login"
