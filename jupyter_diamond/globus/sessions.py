"""One login, of whichever kind: what its clients are, who it is, when it ends, and how it is given up."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import globus_sdk
from globus_sdk import AuthLoginClient, BaseClient, ClientApp, GlobusAppConfig, UserApp
from globus_sdk.gare import GlobusAuthorizationParameters
from globus_sdk.login_flows import LoginFlowManager
from globus_sdk.scopes import AuthScopes, ComputeScopes
from globus_sdk.token_storage import MemoryTokenStorage, SQLiteTokenStorage, TokenStorage

from jupyter_diamond.model.login import LoginMode

from .clients import Clients
from .given import given_tokens
from .problems import LOGIN, LoginNeeded, NotGlobus
from .sources import TOKENS, Pair, Sources
from .tokenfile import SdkStore, TokenFile
from .wire import Wire, sparing

NAME = "jupyter_diamond"
"""How we are called on Globus's pages of consents."""
HERSELF = "auth.globus.org"
NOT_REVOKED = (
    "Globus could not be reached to revoke the tokens; here they are deleted, and there they can be revoked at "
    "https://app.globus.org/settings/consents."
)


class NoPrompt(LoginFlowManager):
    """Nothing in the background ever asks a human: the SDK's own flows read from a terminal that a server has not."""

    @classmethod
    def for_globus_app(cls, *, app_name: str, config: GlobusAppConfig, login_client: AuthLoginClient) -> NoPrompt:  # noqa: ARG003 - the SDK's protocol
        """Make one for an app."""
        return cls(login_client)

    def run_login_flow(self, auth_parameters: GlobusAuthorizationParameters) -> NoReturn:
        """Raise LoginNeeded with what the SDK would have asked for."""
        raise LoginNeeded(f"Globus wants a login; {LOGIN}.", auth_parameters.to_dict())


class Session:
    """A login. Only for one thread at a time."""

    mode: LoginMode
    path: Path | None = None
    """Where its tokens lie, where they lie in a file."""

    def __init__(self, timeout_s: float) -> None:
        self.wire = Wire(timeout_s)
        self.clients = Clients(self.client)

    def client(self, kind: type[BaseClient]) -> BaseClient:
        """A client of the SDK, signed in."""
        raise NotImplementedError

    def who(self) -> str | None:
        """The user name, as Globus says it now; None where this login does not let it say. Raises when it is over."""
        raise NotImplementedError

    def expires_at(self) -> float | None:
        """The Unix time at which it ends for good, as far as is known: what refreshes itself does not."""
        return None

    def give_up(self) -> tuple[str, ...]:
        """Revoke and forget every token; what could not be revoked, as sentences."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of connections and files."""
        self.wire.close()


class AppSession(Session):
    """A login that an app of the Globus SDK keeps alive."""

    def __init__(self, mode: LoginMode, app: UserApp | ClientApp, storage: TokenStorage, wire: Wire) -> None:
        self.mode, self.app, self._storage, self.wire = mode, app, storage, wire
        self.path = _path(storage)
        self.clients = Clients(self.client)
        self.login_client = app._login_client  # noqa: SLF001 - ours: it was made below and given to the app

    def client(self, kind: type[BaseClient]) -> BaseClient:
        """A client of the SDK, signed in."""
        # Globus Auth's own client would ask for more than the name of who is logged in
        scopes = [AuthScopes.openid] if issubclass(kind, globus_sdk.AuthClient) else None
        return kind(app=self.app, app_scopes=scopes, transport=self.wire, retry_config=sparing())

    def who(self) -> str | None:
        """Ask Globus Auth, which refreshes what has expired, and fails where the login was revoked."""
        if isinstance(self.app, ClientApp):
            self.app.get_authorizer(ComputeScopes.resource_server).get_authorization_header()
            return f"{self.app.client_id}@clients.auth.globus.org"
        self.app.get_authorizer(ComputeScopes.resource_server)
        auth = self.client(globus_sdk.AuthClient)
        assert isinstance(auth, globus_sdk.AuthClient)
        found = auth.userinfo()
        name = found.get("preferred_username")
        if name is None:  # without the scope `profile` it tells the id only
            listed = auth.get_identities(ids=found["sub"])["identities"]
            name = listed[0]["username"] if listed else found["sub"]
        return str(name)

    def give_up(self) -> tuple[str, ...]:
        """Revoke and forget every token; what could not be revoked, as sentences."""
        kept = False
        for server, tokens in self._storage.get_token_data_by_resource_server().items():
            kept |= not revoke(self, (tokens.access_token, tokens.refresh_token))
            self._storage.remove_token_data(server)
        if not kept:
            return ()
        return (NOT_REVOKED,)

    def close(self) -> None:
        """Let go of connections and files."""
        self.app.close()
        self._storage.close()
        super().close()


class GivenSession(Session):
    """Tokens out of the environment: used as they are until they end."""

    mode: LoginMode = "tokens"

    def __init__(self, found: Sources, timeout_s: float) -> None:
        super().__init__(timeout_s)
        assert found.tokens is not None, "there are tokens in this mode"
        self.path = found.tokens_file
        self._tokens = given_tokens(found.tokens)

    def client(self, kind: type[BaseClient]) -> BaseClient:
        """A client of the SDK with the token of its service."""
        server = str(kind.resource_server)
        given = self._tokens.get(server)
        if given is None:
            raise LoginNeeded(f"{TOKENS} holds no token of {server}: add it.")
        ends = self.expires_at()
        if ends is not None and ends <= time.time():
            raise LoginNeeded(f"The tokens in {TOKENS} have expired: renew them.")
        authorizer = globus_sdk.AccessTokenAuthorizer(given.token)
        return kind(authorizer=authorizer, transport=self.wire, retry_config=sparing())

    def who(self) -> str | None:
        """Ask Globus Auth where there is a token for it; else only see whether Globus Compute accepts its token."""
        if HERSELF not in self._tokens:
            self.clients.compute2.get_endpoints()
            return None
        auth = self.client(globus_sdk.AuthClient)
        assert isinstance(auth, globus_sdk.AuthClient)
        name = auth.userinfo().get("preferred_username")
        return None if name is None else str(name)

    def expires_at(self) -> float | None:
        """When the first of them ends."""
        return min((one.expires_at for one in self._tokens.values() if one.expires_at is not None), default=None)


def _path(storage: TokenStorage) -> Path | None:
    if isinstance(storage, TokenFile):
        return storage.path
    return Path(storage.filepath) if isinstance(storage, SQLiteTokenStorage) else None


def open_session(found: Sources, timeout_s: float) -> Session | None:
    """The login that counts now, in the order of the modes; None where there is none. Nothing is asked of Globus."""
    web = _stored("web", found, timeout_s) if found.web is not None else None
    if web is not None:
        return web
    if found.tokens is not None:
        return GivenSession(found, timeout_s)
    if found.service is not None:
        return service_session(found.service, timeout_s)
    return _stored("pasted", found, timeout_s) or _stored("cached", found, timeout_s)


def _stored(mode: LoginMode, found: Sources, timeout_s: float) -> Session | None:
    if (mode == "pasted" and not found.own_client) or (mode == "cached" and not found.sdk_store.exists()):
        return None
    session = user_session(mode, found, timeout_s)
    with suppress(KeyError):
        stored = session._storage.get_token_data_by_resource_server()  # noqa: SLF001 - of this module
        if stored[ComputeScopes.resource_server].refresh_token:
            return session
    session.close()
    return None


def user_session(mode: LoginMode, found: Sources, timeout_s: float) -> AppSession:
    """A login of the user: ``web`` through the own confidential application, ``pasted`` through the own public one,
    ``cached`` through that of the Globus Compute SDK, in the SDK's own store, so that nothing need be registered.
    """
    wire = Wire(timeout_s)
    login_client: globus_sdk.ConfidentialAppAuthClient | globus_sdk.NativeAppAuthClient
    storage: TokenStorage
    if mode == "web":
        assert found.web is not None, "this mode needs the pair"
        pair = found.web
        login_client = globus_sdk.ConfidentialAppAuthClient(
            pair.client_id, pair.secret, app_name=NAME, transport=wire, retry_config=sparing()
        )
        storage = TokenFile(found.web_file, pair.client_id)
    else:
        client_id = found.own_client if mode == "pasted" else found.sdk_client
        login_client = globus_sdk.NativeAppAuthClient(client_id, app_name=NAME, transport=wire, retry_config=sparing())
        storage = TokenFile(found.pasted_file, client_id) if mode == "pasted" else _sdk_storage(found)
    app = UserApp(
        NAME, login_client=login_client, config=_config(storage),
        scope_requirements={ComputeScopes.resource_server: [ComputeScopes.all]},
    )  # fmt: skip
    return AppSession(mode, app, storage, wire)


def service_session(pair: Pair, timeout_s: float) -> AppSession:
    """The server as an application of its own. Its tokens are got anew at each start and lie nowhere."""
    wire, storage = Wire(timeout_s), MemoryTokenStorage()
    login_client = globus_sdk.ConfidentialAppAuthClient(
        pair.client_id, pair.secret, app_name=NAME, transport=wire, retry_config=sparing()
    )
    app = ClientApp(
        NAME, login_client=login_client,
        config=GlobusAppConfig(token_storage=storage, token_validation_error_handler=None),
        scope_requirements={ComputeScopes.resource_server: [ComputeScopes.all]},
    )  # fmt: skip
    return AppSession("service", app, storage, wire)


def _config(storage: TokenStorage) -> GlobusAppConfig:
    """Nothing that could start a login by itself: see NoPrompt."""
    return GlobusAppConfig(
        token_storage=storage, request_refresh_tokens=True, login_flow_manager=NoPrompt, auto_redrive_gares=False,
        token_validation_error_handler=None,
    )  # fmt: skip


def _sdk_storage(found: Sources) -> SQLiteTokenStorage:
    return SdkStore(found.sdk_store, namespace=found.sdk_namespace, connect_params={"check_same_thread": False})


def revoke(session: AppSession, tokens: Iterable[str | None]) -> bool:
    """Give tokens back. False where Globus could not be told."""
    told = True
    for token in filter(None, tokens):
        try:
            session.login_client.oauth2_revoke_token(token)
        except (globus_sdk.GlobusError, NotGlobus):  # noqa: PERF203 - each by itself
            told = False
    return told
