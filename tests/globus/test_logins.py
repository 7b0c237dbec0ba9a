"""Every way to be somebody for Globus: in which order, where its tokens lie, how it ends."""

import asyncio
import json
import os
import sqlite3
import sys
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from globus_compute_sdk.sdk.auth import globus_app
from globus_compute_sdk.sdk.auth.token_storage import _resolve_namespace
from globus_sdk.scopes import TransferScopes

from jupyter_diamond.errors import GlobusProblem, InvalidRequest
from jupyter_diamond.globus.sources import SDK_CLIENT, sources
from jupyter_diamond.settings import DiamondGlobus
from tests.live.globus.auth import COMPUTE
from tests.live.globus.identities import ALICE, BOB

from .conftest import CALLBACK, OURS, endpoints, log_in, log_in_by_browser, mode, until

pytestmark = pytest.mark.asyncio


async def test_nobody_is_logged_in_and_nothing_was_asked_of_globus(globus_of, globus_services):
    globus = globus_of()
    login = await globus.login()
    assert (login.health, login.mode, login.ways) == ("needs_login", "none", ("code",))
    assert "jupyter diamond login" in login.problem
    with pytest.raises(GlobusProblem, match="Nobody is logged in") as told:
        await globus.call(endpoints)
    assert (told.value.outcome, told.value.sent) == ("needs_login", False)
    assert globus_services.requests() == []


async def test_a_pasted_code_needs_no_registration_and_lies_where_the_sdk_looks(globus_of, globus_services, home):
    globus = globus_of()
    globus_services.compute.add_endpoint("delta")
    login = await log_in(globus, globus_services)
    store = home / ".globus_compute" / "storage.db"
    assert (login.health, login.mode, login.identity) == ("signed_in", "cached", ALICE.username)
    assert login.tokens_path == str(store)
    assert not login.service_identity
    assert (mode(store), mode(store.parent)) == (0o600, 0o700)
    assert await globus.call(endpoints) == ["delta"]


async def test_the_compute_sdk_itself_finds_that_login(globus_of, globus_services, home):
    await log_in(globus_of(), globus_services)
    code = (
        "from globus_compute_sdk.sdk.auth.globus_app import get_globus_app as app\n"
        "from globus_sdk.scopes import ComputeScopes as c\n"
        "made = app(); made.add_scope_requirements({c.resource_server: [c.all]}); print(made.login_required())"
    )
    env = {**os.environ, "HOME": str(home)}
    sdk = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=env, stdout=asyncio.subprocess.PIPE)
    assert (await sdk.communicate())[0].strip() == b"False"


async def test_a_login_of_the_compute_sdk_counts_without_another_one(globus_of, globus_services):
    await log_in(globus_of(), globus_services)
    login = await globus_of().login()
    assert (login.health, login.mode, login.identity) == ("signed_in", "cached", ALICE.username)


async def test_what_others_were_allowed_in_the_sdk_s_store_is_asked_for_again(globus_of, globus_services, home):
    globus = globus_of()
    await log_in(globus, globus_services)
    store = home / ".globus_compute" / "storage.db"
    with sqlite3.connect(store) as found:
        rows = found.execute("SELECT rowid, token_data_json FROM token_storage").fetchall()
        for row, text in rows:
            data = json.loads(text)
            if data["resource_server"] == "auth.globus.org":
                data["scope"] += " urn:globus:auth:scope:auth.globus.org:manage_projects"
                found.execute("UPDATE token_storage SET token_data_json = ? WHERE rowid = ?", (json.dumps(data), row))
    scopes = parse_qs(urlsplit((await globus.begin()).url).query)["scope"][0].split()
    assert "urn:globus:auth:scope:auth.globus.org:manage_projects" in scopes
    assert COMPUTE in scopes


async def test_the_client_and_the_store_are_those_of_the_installed_sdk(monkeypatch, home):
    monkeypatch.delenv("GLOBUS_COMPUTE_USER_DIR", raising=False)
    found = sources(DiamondGlobus(client_id=""), {"HOME": str(home)})
    assert globus_app.DEFAULT_CLIENT_ID == SDK_CLIENT
    assert found.sdk_namespace == _resolve_namespace()
    assert found.sdk_store == home / ".globus_compute" / "storage.db"


async def test_an_own_application_has_its_tokens_in_our_private_folder(globus_of, globus_services, home):
    globus = globus_of(client_id=OURS)
    login = await log_in(globus, globus_services)
    file = home / "diamond" / "globus" / "pasted.json"
    assert (login.mode, login.tokens_path) == ("pasted", str(file))
    assert (mode(file), mode(file.parent)) == (0o600, 0o700)
    assert {entry.name for entry in file.parent.iterdir()} == {"pasted.json"}
    assert not (home / ".globus_compute").exists()
    assert globus_services.auth.authorizations[-1]["client_id"] == OURS
    # another application's tokens are not these
    assert (await globus_of(client_id="cccccccc-0000-4000-8000-00000000000d").login()).health == "needs_login"


async def test_a_file_that_others_could_read_is_closed(globus_of, globus_services, home):
    await log_in(globus_of(client_id=OURS), globus_services)
    file = home / "diamond" / "globus" / "pasted.json"
    file.chmod(0o644)
    assert (await globus_of(client_id=OURS).login()).health == "signed_in"
    assert mode(file) == 0o600


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"client_id": 1}', b"\xff\x00", b'{"tokens": {"x": 1}}'])
async def test_a_damaged_token_file_is_nobody_logged_in(globus_of, globus_services, home, damage):
    await log_in(globus_of(client_id=OURS), globus_services)
    file = home / "diamond" / "globus" / "pasted.json"
    file.write_bytes(damage)
    globus = globus_of(client_id=OURS)
    assert (await globus.login()).health == "needs_login"
    assert (await log_in(globus, globus_services)).health == "signed_in"


async def test_the_browser_signs_in_through_our_callback(globus_of, globus_services, home, web):
    globus = globus_of(environ=web)
    assert (await globus.login()).ways == ("web", "code")
    login = await log_in_by_browser(globus, globus_services)
    assert (login.health, login.mode, login.identity) == ("signed_in", "web", ALICE.username)
    assert login.tokens_path == str(home / "diamond" / "globus" / "web.json")
    asked = globus_services.auth.authorizations[-1]
    assert (asked["redirect_uri"], asked["access_type"]) == (CALLBACK, "offline")
    assert len(asked["state"]) >= 32
    assert await globus.call(endpoints) == []


async def test_the_variables_of_a_portal_do_as_well(globus_of, globus_services, web):
    portal = {name.replace("GLOBUS_", "PORTAL_"): value for name, value in web.items()}
    assert (await log_in_by_browser(globus_of(environ=portal), globus_services)).mode == "web"


@pytest.mark.parametrize("state", ["x", "stale", "ä"])
async def test_a_sign_in_that_was_not_begun_here_is_not_taken(globus_of, globus_services, web, state):
    globus = globus_of(environ=web)
    start = await globus.begin(callback=CALLBACK)
    back = globus_services.auth.approve(start.url)
    with pytest.raises(InvalidRequest, match="begin it again"):
        await globus.finish(back.code, state=state)
    assert (await globus.login()).health == "needs_login"


async def test_a_callback_without_any_login_begun(globus_of):
    with pytest.raises(InvalidRequest, match="No login was begun"):
        await globus_of().finish("code", state="")


async def test_a_sign_in_is_good_for_one_time(globus_of, globus_services, web):
    globus = globus_of(environ=web)
    start = await globus.begin(callback=CALLBACK)
    back = globus_services.auth.approve(start.url)
    state = parse_qs(urlsplit(back.location).query)["state"][0]
    await globus.finish(back.code, state=state)
    with pytest.raises(InvalidRequest, match="begin it again"):
        await globus.finish(back.code, state=state)


async def test_the_web_needs_an_application(globus_of):
    with pytest.raises(InvalidRequest, match="GLOBUS_CLIENT_ID and GLOBUS_CLIENT_SECRET"):
        await globus_of().begin(callback=CALLBACK)


async def test_tokens_of_the_environment(globus_of, globus_services):
    answer = globus_services.auth.issue([COMPUTE, "openid"], refresh=False)
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": json.dumps(answer)})
    login = await globus.login()
    assert (login.health, login.mode, login.identity) == ("signed_in", "tokens", ALICE.username)
    assert login.ways == ()
    assert await globus.call(endpoints) == []


@pytest.mark.parametrize("shape", [
    lambda token: {"funcx_service": token},
    lambda token: {"funcx_service": {"access_token": token, "resource_server": "funcx_service", "scope": COMPUTE}},
    lambda token: {"data": {"DEFAULT": {"funcx_service": {"access_token": token}}}, "format_version": "2.0"},
    lambda token: {"client_id": "x", "tokens": {"funcx_service": {"access_token": token, "refresh_token": "y"}}},
    lambda token: {"access_token": "a", "resource_server": "auth.globus.org", "other_tokens": [
        {"access_token": token, "resource_server": "funcx_service"}]},
])  # fmt: skip
async def test_tokens_are_taken_as_globus_and_its_sdk_write_them(globus_of, globus_services, shape):
    token = globus_services.auth.issue()["access_token"]
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": json.dumps(shape(token))})
    assert await globus.call(endpoints) == []


@pytest.mark.parametrize(
    "text", ["", "secret-word", "{", "[]", "{}", '{"funcx_service": 3}', '{"funcx_service": "secret-word\\n"}',
             '{"funcx_service": ""}', '{"other": "secret-word"}', "null", '{"access_token": "secret-word"}',
             '{"funcx_service": {"access_token": "x", "expires_at_seconds": "secret-word"}}'],
)  # fmt: skip
async def test_tokens_that_cannot_be_read_are_a_sentence_without_them(globus_of, tmp_path, text):
    file = tmp_path / "tokens"
    file.write_text(text)
    for given in (text, f"@{file}") if text else (f"@{file}",):
        globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": given})
        login = await globus.login()
        assert (login.health, login.mode) == ("needs_login", "tokens")
        assert "JUPYTER_DIAMOND_TOKENS" in login.problem
        with pytest.raises(GlobusProblem) as told:
            await globus.call(endpoints)
        assert "secret-word" not in f"{login} {told.value} {told.value.evidence}"


async def test_a_file_of_tokens_that_is_not_there(globus_of, tmp_path):
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": f"@{tmp_path / 'none'}"})
    assert "No such file" in (await globus.login()).problem


async def test_a_renewed_file_of_tokens_is_read_again(globus_of, globus_services, tmp_path):
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({"funcx_service": "dead"}))
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": f"@{file}"})
    login = await globus.login()
    assert (login.health, login.tokens_path) == ("needs_login", str(file))
    file.write_text(json.dumps(globus_services.auth.issue()))
    assert await globus.call(endpoints) == []
    assert (await globus.login()).health == "signed_in"


async def test_tokens_that_end_within_a_day_are_told_a_day_before(globus_of, globus_services):
    token = globus_services.auth.issue()["access_token"]

    async def login(seconds):
        given = {"funcx_service": {"access_token": token, "expires_at_seconds": int(time.time() + seconds)}}
        return await globus_of(environ={"JUPYTER_DIAMOND_TOKENS": json.dumps(given)}).login()

    far, near, gone = await login(200_000), await login(80_000), await login(-5)
    assert (far.health, far.problem) == ("signed_in", "")
    assert far.expires_at.timestamp() > time.time() + 190_000
    assert near.health == "signed_in"
    assert near.problem.startswith("The tokens in JUPYTER_DIAMOND_TOKENS end at ")
    assert gone.health == "needs_login"
    assert gone.problem == "The tokens in JUPYTER_DIAMOND_TOKENS have expired: renew them."


async def test_a_service_identity(globus_of, globus_services):
    client = globus_services.auth.add_client()
    globus = globus_of(environ={"GLOBUS_COMPUTE_CLIENT_ID": client.id, "GLOBUS_COMPUTE_CLIENT_SECRET": client.secret})
    login = await globus.login()
    assert (login.health, login.mode, login.service_identity) == ("signed_in", "service", True)
    assert login.identity == f"{client.id}@clients.auth.globus.org"
    assert (login.tokens_path, login.ways) == (None, ())
    assert await globus.call(endpoints) == []


async def test_a_service_identity_with_a_wrong_secret(globus_of, globus_services):
    client = globus_services.auth.add_client()
    globus = globus_of(environ={"GLOBUS_COMPUTE_CLIENT_ID": client.id, "GLOBUS_COMPUTE_CLIENT_SECRET": "wrong-one"})
    login = await globus.login()
    assert login.health == "needs_login"
    assert "client id and secret" in login.problem
    assert "wrong-one" not in str(login)


@pytest.mark.parametrize("half", ["GLOBUS_COMPUTE_CLIENT_SECRET", "GLOBUS_CLIENT_SECRET", "PORTAL_CLIENT_SECRET"])
async def test_half_a_pair_is_a_problem_and_not_another_login(globus_of, globus_services, half):
    await log_in(globus_of(), globus_services)
    globus = globus_of(environ={half: "s"})
    login = await globus.login()
    assert (login.health, login.problem.startswith(f"{half} is set without")) == ("needs_login", True)
    with pytest.raises(GlobusProblem, match="is set without"):
        await globus.call(endpoints)
    with pytest.raises(InvalidRequest, match="is set without"):
        await globus.begin()


async def test_the_order_of_the_modes(globus_of, globus_services, web):
    """Row 67: web session, tokens, service identity, cached login."""
    client = globus_services.auth.add_client()
    everything = {
        **web, "JUPYTER_DIAMOND_TOKENS": json.dumps(globus_services.auth.issue(identity=BOB)),
        "GLOBUS_COMPUTE_CLIENT_ID": client.id, "GLOBUS_COMPUTE_CLIENT_SECRET": client.secret,
    }  # fmt: skip
    globus_services.auth.person = ALICE
    await log_in(globus_of(), globus_services)
    await log_in(globus_of(client_id=OURS), globus_services)
    await log_in_by_browser(globus_of(environ=web), globus_services)
    seen = []
    for gone in ((), ("GLOBUS_CLIENT_ID", "GLOBUS_CLIENT_SECRET"), ("JUPYTER_DIAMOND_TOKENS",),
                 ("GLOBUS_COMPUTE_CLIENT_ID", "GLOBUS_COMPUTE_CLIENT_SECRET")):  # fmt: skip
        for name in gone:
            del everything[name]
        seen.append((await globus_of(environ=everything, client_id=OURS).login()).mode)
    seen.append((await globus_of(environ=everything).login()).mode)
    assert seen == ["web", "tokens", "service", "pasted", "cached"]


@pytest.mark.parametrize("name", ["JUPYTER_DIAMOND_TOKENS", "GLOBUS_COMPUTE_CLIENT_ID"])
async def test_a_code_that_would_not_count_is_not_asked_for(globus_of, globus_services, name):
    environ = {"JUPYTER_DIAMOND_TOKENS": '{"funcx_service": "x"}'}
    if name != "JUPYTER_DIAMOND_TOKENS":
        environ = {"GLOBUS_COMPUTE_CLIENT_ID": "a", "GLOBUS_COMPUTE_CLIENT_SECRET": "b"}
    globus = globus_of(environ=environ)
    for act in (globus.begin, globus.logout):
        with pytest.raises(InvalidRequest, match=name):
            await act()


async def test_another_identity_s_code_is_refused_and_given_back(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    before = set(globus_services.auth.tokens)
    with pytest.raises(InvalidRequest, match=r"of another Globus identity \(bob@standin.test\)"):
        await log_in(globus, globus_services, identity=BOB)
    assert set(globus_services.auth.tokens) == before
    assert (await globus.login()).identity == ALICE.username
    await globus.logout()
    assert (await log_in(globus, globus_services, identity=BOB)).identity == BOB.username


@pytest.mark.parametrize("code", ["", " ", "two words", "a\nb", "x" * 501, "ünïcode", "https://x/?state=1&code="])
async def test_what_is_no_code_is_not_sent(globus_of, globus_services, code):
    globus = globus_of()
    await globus.begin()
    with pytest.raises(InvalidRequest, match="That is no code"):
        await globus.finish(code)
    assert globus_services.requests("token") == []


async def test_a_wrong_code_can_be_followed_by_the_right_one(globus_of, globus_services):
    globus = globus_of()
    start = await globus.begin()
    with pytest.raises(InvalidRequest, match="does not accept the code") as told:
        await globus.finish("wrong")
    assert "wrong" not in str(told.value.evidence)
    assert (await globus.finish(f"  {globus_services.auth.approve(start.url).code}\n")).health == "signed_in"


async def test_the_whole_address_may_be_pasted(globus_of, globus_services):
    globus = globus_of()
    code = globus_services.auth.approve((await globus.begin()).url).code
    assert (await globus.finish(f"https://auth.globus.org/v2/web/auth-code?state=1&code={code}")).health == "signed_in"


async def test_two_places_that_begin_have_the_same_link(globus_of, globus_services):
    """The code belongs to its link (PKCE): whoever pastes it, whichever was opened, it fits."""
    globus = globus_of()
    first, second = await globus.begin(), await globus.begin()
    assert first.url == second.url
    assert (await globus.finish(globus_services.auth.approve(first.url).code)).health == "signed_in"


async def test_logout_revokes_at_globus_and_drops_the_file(globus_of, globus_services, home, web):
    for globus, log in ((globus_of(client_id=OURS), log_in), (globus_of(environ=web), log_in_by_browser)):
        login = await log(globus, globus_services)
        gone = await globus.logout()
        assert (gone.health, gone.identity) == ("needs_login", None)
        assert not (home / login.tokens_path).exists()
    assert (globus_services.auth.tokens, globus_services.auth.refresh_tokens) == ({}, {})


async def test_logout_of_the_sdk_s_store_leaves_nothing_in_it(globus_of, globus_services, home):
    globus = globus_of()
    await log_in(globus, globus_services)
    assert (await globus.logout()).health == "needs_login"
    assert globus_services.auth.tokens == {}
    with sqlite3.connect(home / ".globus_compute" / "storage.db") as found:
        assert found.execute("SELECT count(*) FROM token_storage").fetchone() == (0,)


async def test_logout_while_globus_is_away_still_forgets(globus_of, globus_services, home):
    globus = globus_of(client_id=OURS)
    await log_in(globus, globus_services)
    globus_services.down()
    gone = await globus.logout()
    assert gone.health == "needs_login"
    assert "could not be reached to revoke" in gone.problem
    assert not (home / "diamond" / "globus" / "pasted.json").exists()


async def test_logout_of_nobody_changes_nothing(globus_of, globus_services):
    assert (await globus_of().logout()).health == "needs_login"
    assert globus_services.requests() == []


async def test_a_login_in_another_program_is_seen_at_the_next_request(globus_of, globus_services):
    server, command_line = globus_of(), globus_of()
    with pytest.raises(GlobusProblem):
        await server.call(endpoints)
    await log_in(command_line, globus_services)
    assert await server.call(endpoints) == []
    await command_line.logout()
    with pytest.raises(GlobusProblem, match="Nobody is logged in"):
        await server.call(endpoints)
    assert (await server.login()).health == "needs_login"


async def test_transfer_is_asked_for_where_it_is_used(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    assert TransferScopes.all.scope_string not in globus_services.auth.authorizations[-1]["scope"]
    with pytest.raises(GlobusProblem, match="Globus Transfer was not allowed yet") as told:
        await globus.call(lambda clients: clients.transfer.get_submission_id())
    assert told.value.outcome == "needs_login"
    assert (await globus.login()).health == "needs_login"
    assert await globus.call(endpoints) == []  # and the rest goes on
    login = await log_in(globus, globus_services)
    assert login.health == "signed_in"
    scopes = globus_services.auth.authorizations[-1]["scope"]
    assert TransferScopes.all.scope_string in scopes
    assert COMPUTE in scopes


async def test_an_answer_that_hangs_never_keeps_a_login_waiting(globus_of, globus_services):
    globus = globus_of(timeout_s=20.0)
    await log_in(globus, globus_services)
    globus_services.fault("GET /v2/endpoints", delay=15.0, times=1)
    hanging = asyncio.create_task(globus.call(endpoints))
    await until(lambda: globus_services.requests("GET /v2/endpoints"))
    begun = time.monotonic()
    start = await globus.begin()
    assert globus_services.auth.approve(start.url).code
    assert time.monotonic() - begun < 3
    hanging.cancel()
    globus_services.close()
