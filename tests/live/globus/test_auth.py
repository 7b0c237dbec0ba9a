"""Real globus_sdk apps and auth clients sign in at the stand-in."""

from __future__ import annotations

import globus_sdk
import pytest
from globus_sdk import ClientApp, ComputeClientV2, GlobusAppConfig, UserApp
from globus_sdk.login_flows import CommandLineLoginFlowManager
from globus_sdk.scopes import ComputeScopes, TransferScopes
from globus_sdk.token_storage import MemoryTokenStorage
from globus_sdk.token_storage.validating_token_storage import IdentityMismatchError

from tests.live.globus import BOB, StandIn

NATIVE = "33333333-3333-4333-8333-333333333333"
SCOPES = {
    ComputeScopes.resource_server: [ComputeScopes.all],
    TransferScopes.resource_server: [TransferScopes.all],
}


@pytest.fixture
def app(globus_services: StandIn) -> UserApp:
    """An app whose user copies the code from the page that the link leads to."""

    class Pasted(CommandLineLoginFlowManager):
        def print_authorize_url(self, url: str) -> None:
            self.url = url

        def prompt_for_code(self) -> str:
            return globus_services.auth.approve(self.url).code

    config = GlobusAppConfig(request_refresh_tokens=True, login_flow_manager=Pasted, token_storage=MemoryTokenStorage())
    return UserApp("tests", client_id=NATIVE, scope_requirements=SCOPES, config=config)


def endpoint_names(app: globus_sdk.GlobusApp) -> list[str]:
    client = ComputeClientV2(app=app)
    client.retry_config.max_retries = 1
    return [endpoint["name"] for endpoint in client.get_endpoints()]


def test_one_login_by_pasted_code_serves_both_services(app: UserApp, globus_services: StandIn) -> None:
    globus_services.compute.add_endpoint("delta")

    app.login()

    assert not app.login_required()
    assert endpoint_names(app) == ["delta"]
    [page] = globus_services.auth.authorizations
    assert page["code_challenge_method"] == "S256"
    assert page["access_type"] == "offline"


def test_the_code_is_no_use_without_the_verifier_that_made_the_challenge(globus_services: StandIn) -> None:
    mine, other = (globus_sdk.NativeAppAuthClient(NATIVE) for _ in range(2))
    for client in (mine, other):
        client.oauth2_start_flow(requested_scopes=[ComputeScopes.all])
    code = globus_services.auth.approve(mine.oauth2_get_authorize_url()).code

    with pytest.raises(globus_sdk.AuthAPIError) as stolen:
        other.oauth2_exchange_code_for_tokens(code)

    assert stolen.value.http_status == 401


def test_a_code_is_good_once(globus_services: StandIn) -> None:
    client = globus_sdk.NativeAppAuthClient(NATIVE)
    client.oauth2_start_flow(requested_scopes=[ComputeScopes.all])
    code = globus_services.auth.approve(client.oauth2_get_authorize_url()).code
    client.oauth2_exchange_code_for_tokens(code)

    with pytest.raises(globus_sdk.AuthAPIError) as again:
        client.oauth2_exchange_code_for_tokens(code)

    assert again.value.http_status == 401


def test_a_confidential_client_gets_the_browser_back_with_its_state(globus_services: StandIn) -> None:
    back = "https://hub.test/diamond/login/callback"
    registered = globus_services.auth.add_client("hub", redirects=[back])
    client = globus_sdk.ConfidentialAppAuthClient(registered.id, registered.secret)
    client.oauth2_start_flow(back, requested_scopes=[ComputeScopes.all, "openid"], state="s1", refresh_tokens=True)

    approval = globus_services.auth.approve(client.oauth2_get_authorize_url(), identity=BOB)
    tokens = client.oauth2_exchange_code_for_tokens(approval.code)

    assert approval.location == f"{back}?code={approval.code}&state=s1"
    assert tokens.by_resource_server["funcx_service"]["refresh_token"]
    assert tokens.decode_id_token()["sub"] == BOB.id
    seen = client.oauth2_token_introspect(tokens.by_resource_server["funcx_service"]["access_token"])
    assert (seen["active"], seen["sub"], seen["username"]) == (True, BOB.id, BOB.username)


def test_a_redirect_that_was_not_registered_is_refused(globus_services: StandIn) -> None:
    registered = globus_services.auth.add_client("hub", redirects=["https://hub.test/back"])
    client = globus_sdk.ConfidentialAppAuthClient(registered.id, registered.secret)
    client.oauth2_start_flow("https://evil.test/back", requested_scopes=[ComputeScopes.all])

    with pytest.raises(ValueError, match="Mismatching redirect"):
        globus_services.auth.approve(client.oauth2_get_authorize_url())


def test_a_person_who_says_no_sends_the_browser_back_without_a_code(globus_services: StandIn) -> None:
    registered = globus_services.auth.add_client("hub")
    client = globus_sdk.ConfidentialAppAuthClient(registered.id, registered.secret)
    client.oauth2_start_flow("https://hub.test/back", requested_scopes=[ComputeScopes.all])
    globus_services.auth.denies = True

    approval = globus_services.auth.approve(client.oauth2_get_authorize_url())

    assert (approval.code, approval.location) == ("", "https://hub.test/back?error=access_denied&state=_default")


def test_an_expired_token_is_refreshed_once_and_the_call_repeated(app: UserApp, globus_services: StandIn) -> None:
    app.login()
    endpoint_names(app)
    globus_services.auth.expire()
    before = len(globus_services.requests("/v2/endpoints"))

    assert endpoint_names(app) == []

    assert [seen.status for seen in globus_services.requests("/v2/endpoints")[before:]] == [401, 200]


def test_after_revocation_the_refresh_fails_with_400(app: UserApp, globus_services: StandIn) -> None:
    app.login()
    globus_services.auth.revoke()

    with pytest.raises(globus_sdk.AuthAPIError) as refused:
        endpoint_names(app)

    assert refused.value.http_status == 400
    assert not app.login_required()  # the app does not notice: who uses it has to


def test_logout_revokes_at_the_service(app: UserApp, globus_services: StandIn) -> None:
    app.login()

    app.logout()

    assert globus_services.auth.tokens == {}
    assert globus_services.auth.refresh_tokens == {}


def test_another_person_at_the_browser_is_noticed(app: UserApp, globus_services: StandIn) -> None:
    app.login()
    globus_services.auth.person = BOB

    with pytest.raises(IdentityMismatchError):
        app.login(force=True)


def test_a_service_identity_needs_no_browser(globus_services: StandIn) -> None:
    registered = globus_services.auth.add_client()
    globus_services.compute.add_endpoint("its own", owner=registered.identity)
    globus_services.compute.add_endpoint("a person's")
    config = GlobusAppConfig(token_storage=MemoryTokenStorage())
    app = ClientApp(
        "ci", client_id=registered.id, client_secret=registered.secret, scope_requirements=SCOPES, config=config
    )

    assert endpoint_names(app) == ["its own"]
    assert globus_services.auth.authorizations == []


def test_a_wrong_secret_is_refused(globus_services: StandIn) -> None:
    registered = globus_services.auth.add_client()
    client = globus_sdk.ConfidentialAppAuthClient(registered.id, "guessed")

    with pytest.raises(globus_sdk.AuthAPIError) as refused:
        client.oauth2_client_credentials_tokens([ComputeScopes.all])

    assert refused.value.http_status == 401
