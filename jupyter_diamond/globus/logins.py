"""Logins that were begun and wait for their code: nothing blocks meanwhile, and no app is kept busy with it."""

from __future__ import annotations

import platform
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import globus_sdk
import jwt
from globus_sdk.scopes import AuthScopes, Scope, ScopeParser, TransferScopes
from globus_sdk.token_storage import TokenValidationError
from globus_sdk.token_storage.validating_token_storage import IdentityMismatchError

from jupyter_diamond.errors import GlobusProblem, InvalidRequest
from jupyter_diamond.model.login import LoginMode, LoginStart

from .problems import NotGlobus, problem_of
from .sessions import HERSELF, NAME, AppSession, revoke, user_session
from .sources import Sources

GOOD_FOR_S = 1800.0
"""A login that was begun longer ago is begun anew."""
_SESSION = ("session_required_identities", "session_required_single_domain", "session_required_policies",
            "session_required_mfa", "session_message")  # fmt: skip


@dataclass
class Begun:
    """One login under way. ``asked`` is what it was begun for: the same question gives the same link."""

    start: LoginStart
    found: Sources
    session: AppSession
    state: str
    asked: tuple[Any, ...]
    at: float


class Logins:
    """At most one login a way. Not for several threads at a time."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._begun: dict[str, Begun] = {}

    def begin(self, found: Sources, mode: LoginMode, callback: str | None, wants: Mapping[str, Any]) -> LoginStart:
        """A link to open. Asked again for the same, the same link: the code of either will do."""
        way: Literal["web", "code"] = "web" if callback else "code"
        asked = (found, mode, callback, tuple(sorted((name, repr(value)) for name, value in wants.items())))
        known = self._begun.get(way)
        if known is not None and known.asked == asked and time.monotonic() - known.at < GOOD_FOR_S:
            return known.start
        self._drop(way)
        session = user_session(mode, found, self._timeout_s)
        state = secrets.token_urlsafe(24)
        url = _link(session, callback, state, wants)
        start = LoginStart(way=way, url=url, needed_for=str(wants.get("session_message") or ""))
        self._begun[way] = Begun(start, found, session, state, asked, time.monotonic())
        return start

    def finish(self, code: str, state: str) -> str | None:
        """Take a code in; the user's name where Globus said it. Raises InvalidRequest, GlobusProblem."""
        begun = self._of(state)
        response = _exchange(begun.session, _bare(code))
        # who is logged in may have changed since the login was begun, here or in another program
        now = user_session(begun.session.mode, begun.found, self._timeout_s)
        try:
            _store(now, response)
            name = _name(now, response)
        finally:
            now.close()
        self._drop(begun.start.way)
        return name

    def close(self) -> None:
        """Forget what was begun."""
        for way in tuple(self._begun):
            self._drop(way)

    def _of(self, state: str) -> Begun:
        if not state:
            begun = self._begun.get("code")
            if begun is None:
                raise InvalidRequest("No login was begun here: begin one, open its link, then paste its code.")
            return begun
        begun = self._begun.get("web")
        if begun is None or not secrets.compare_digest(begun.state.encode(), state.encode()):
            raise InvalidRequest(
                "This sign-in is not the one that was begun last here, so it was not taken: begin it again."
            )
        return begun

    def _drop(self, way: str) -> None:
        begun = self._begun.pop(way, None)
        if begun is not None:
            begun.session.close()


def _link(session: AppSession, callback: str | None, state: str, wants: Mapping[str, Any]) -> str:
    scopes = _scopes(session, wants)
    client = session.login_client
    if isinstance(client, globus_sdk.NativeAppAuthClient):
        grant = f"{NAME} on {platform.node()}"[:100]
        client.oauth2_start_flow(scopes, state=state, refresh_tokens=True, prefill_named_grant=grant)
    else:
        assert isinstance(client, globus_sdk.ConfidentialAppAuthClient)
        assert callback is not None, "a confidential application has its callback"
        client.oauth2_start_flow(callback, scopes, state=state, refresh_tokens=True)
    how: dict[str, Any] = {name: wants[name] for name in _SESSION if wants.get(name)}
    if wants.get("prompt") == "login":
        how["prompt"] = "login"
    return client.oauth2_get_authorize_url(**how)


def _scopes(session: AppSession, wants: Mapping[str, Any]) -> list[Scope]:
    """What we need, what was allowed before (others may use the same store), and what was refused for want of it."""
    needed = [scope for scopes in session.app.scope_requirements.values() for scope in scopes]
    if session.mode != "cached":
        needed.append(AuthScopes.profile)
    if wants.get("resource_server") == TransferScopes.resource_server:
        needed.append(TransferScopes.all)
    before = [
        scope
        for tokens in session.app.token_storage.token_storage.get_token_data_by_resource_server().values()
        for scope in ScopeParser.parse(tokens.scope)
    ]
    demanded = [scope for text in wants.get("required_scopes") or () for scope in ScopeParser.parse(text)]
    return ScopeParser.merge_scopes(ScopeParser.merge_scopes(needed, before), demanded)


def _bare(code: str) -> str:
    """The code, also where the whole address of the page was pasted."""
    code = code.strip()
    if "code=" in code:
        code = (parse_qs(urlsplit(code).query).get("code") or [""])[0]
    if not code or len(code) > 500 or not code.isascii() or not code.isprintable() or " " in code:
        raise InvalidRequest(
            "That is no code of Globus: copy the one that its page shows after you allowed the access."
        )
    return code


def _exchange(session: AppSession, code: str) -> globus_sdk.OAuthTokenResponse:
    try:
        return session.login_client.oauth2_exchange_code_for_tokens(code)
    except globus_sdk.AuthAPIError as error:
        if error.http_status >= 500 or error.http_status == 429:
            raise problem_of(error, "handing in the code", sent=False) from error
        problem = problem_of(error, "handing in the code", sent=False)
        if "client id and secret" in problem.message:
            raise InvalidRequest(problem.message, evidence=problem.evidence) from None
        raise InvalidRequest(
            "Globus does not accept the code: it was used already, is older than ten minutes, or belongs to another "
            "link. Open the link again and paste the new code.",
            evidence=problem.evidence,
        ) from None
    except (globus_sdk.GlobusError, NotGlobus) as error:
        raise problem_of(error, "handing in the code", sent=False) from error


def _store(session: AppSession, response: globus_sdk.OAuthTokenResponse) -> None:
    """Keep the tokens, if they are of the one who is logged in here. Those that are not kept are given back."""
    servers = response.by_resource_server.values()
    tokens = [token for server in servers for token in (server["access_token"], server.get("refresh_token"))]
    try:
        session.app.token_storage.store_token_response(response)
    except IdentityMismatchError as error:
        new = _name(session, response) or str(error.new_id)
        revoke(session, tokens)
        raise InvalidRequest(
            f"The code is of another Globus identity ({new}) than the one that is logged in here, so it was not taken. "
            "Allow the access as yourself, or log out first: jupyter diamond logout."
        ) from None
    except TokenValidationError:
        revoke(session, tokens)
        raise InvalidRequest(
            "Globus Compute was not allowed on the page, so there is nothing to log in with. Open the link again and "
            "allow everything that it lists."
        ) from None
    except jwt.PyJWTError as error:
        raise GlobusProblem(
            f"Who you are could not be verified ({error}): look at the clock of this machine, and log in again.",
            outcome="needs_login", sent=False,
        ) from error  # fmt: skip
    except (globus_sdk.GlobusError, NotGlobus) as error:
        raise problem_of(error, "verifying who you are", sent=False) from error
    except OSError as error:
        raise InvalidRequest(f"The login cannot be stored ({error.strerror or error}): {session.path}.") from error


def _name(session: AppSession, response: globus_sdk.OAuthTokenResponse) -> str | None:
    """The user name in the signed answer; its signature was verified, and the key is at hand."""
    decoder = session.app.token_storage.id_token_decoder
    if decoder is None or "id_token" not in response.data or HERSELF not in response.by_resource_server:
        return None
    name = decoder.decode(response["id_token"]).get("preferred_username")
    return None if name is None else str(name)
