"""Globus Auth: tokens by authorization code (with PKCE), refresh token and client credentials; who a token speaks for."""

from __future__ import annotations

import base64
import hashlib
import http.client
import re
import secrets
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

from .identities import ALICE, Client, Identities, Identity
from .server import Answer, HttpError, Request, Server
from .signing import SigningKey

COMPUTE = "https://auth.globus.org/scopes/facd7ccc-c5f4-42aa-916b-a0e270e2c2a9/all"
TRANSFER = "urn:globus:auth:scope:transfer.api.globus.org:all"
RESOURCE_SERVERS = {COMPUTE: "funcx_service", TRANSFER: "transfer.api.globus.org"}
HERSELF = "auth.globus.org"  # the resource server of openid, profile, email and her own scopes
PASTED = "/v2/web/auth-code"  # the page that shows the code instead of sending the browser back
ACCESS_TTL = 172_800  # 48 h


@dataclass
class Token:
    """One access token."""

    identity: Identity
    client_id: str
    scope: str
    resource_server: str
    expires_at: float  # Unix time
    session: frozenset[str] = frozenset()  # the authentication policies that its login satisfied; "mfa"
    auth_time: float = 0.0  # Unix time at which the person showed who she is


@dataclass
class Grant:
    """What somebody allowed a client to do: behind a code and behind a refresh token."""

    identity: Identity
    client_id: str
    scopes: list[str]
    refreshable: bool
    session: frozenset[str]
    redirect: str = ""
    challenge: str = ""  # PKCE, S256
    auth_time: float = field(default_factory=time.time)
    used: bool = field(default=False)


@dataclass(frozen=True)
class Approval:
    """Where the browser is after the person said yes: a page with the code to copy, or back at the client."""

    code: str
    location: str  # "" for the page with the code


class Auth:
    """The service. ``person`` sits at the browser; ``denies`` lets the next answer be no."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.identities = Identities(server)
        self.person = ALICE
        self.denies = False
        self.access_ttl = ACCESS_TTL  # seconds; tests make it short
        self.tokens: dict[str, Token] = {}
        self.refresh_tokens: dict[str, Grant] = {}
        self.authorizations: list[dict[str, str]] = []  # the query of every authorize page that was opened
        self.signed_in_at = time.time()  # at the browser, which asks nobody again who was there lately
        self._codes: dict[str, Grant] = {}
        self._key = SigningKey(server)
        add = server.router.add
        add("POST", "/v2/oauth2/token", self._token)
        add("POST", "/v2/oauth2/token/revoke", self._revoke)
        add("POST", "/v2/oauth2/token/introspect", self._introspect)
        add("GET", "/v2/oauth2/authorize", self._authorize)
        add("GET", "/v2/oauth2/userinfo", self._userinfo)

    # what tests do

    def add_client(
        self, name: str = "service", *, redirects: Iterable[str] = (), speaks_for: Identity | None = None
    ) -> Client:
        """Register a confidential client. A client id that is not registered is a native one, which has no secret.

        ``speaks_for`` makes its own tokens those of somebody else: no such thing in Globus, but a person who has signed in
        on a login node by hand looks just so to who asks.
        """
        return self.identities.add_client(name, redirects, speaks_for)

    def issue(
        self, scopes: Iterable[str] = (COMPUTE,), *, identity: Identity | None = None, client_id: str = "", **how: Any
    ) -> dict[str, Any]:
        """Give tokens without a login, as the token endpoint answers. ``how``: ``refresh``, ``ttl``, ``session``."""
        session = frozenset(how.get("session", ()))
        grant = Grant(identity or self.person, client_id, list(scopes), how.get("refresh", True), session)
        return self._answer(grant, how.get("ttl", self.access_ttl))

    def approve(self, url: str, *, identity: Identity | None = None) -> Approval:
        """Open the authorize page as the person would, and say yes."""
        if identity:
            self.person = identity
        split = urlsplit(url)
        connection = http.client.HTTPConnection(split.netloc, timeout=10)
        try:
            connection.request("GET", f"{split.path}?{split.query}")
            answer = connection.getresponse()
            page = answer.read().decode()
        finally:
            connection.close()
        if answer.status == 302:
            location = answer.headers["Location"]
            found = re.search(r"[?&]code=([^&]+)", location)
            return Approval(found[1] if found else "", location)
        found = re.search(r"<b id=code>([^<]+)", page)
        if answer.status != 200 or found is None:
            raise ValueError(f"The page gives no code: {answer.status} {page}")
        return Approval(found[1], "")

    def forget(self) -> None:
        """Sit Alice at the browser again, as it was in the beginning."""
        self.person, self.denies, self.access_ttl = ALICE, False, ACCESS_TTL
        self.authorizations.clear()
        self.signed_in_at = time.time()

    def expire(self) -> None:
        """Let every access token be past its time. Refresh tokens go on."""
        for token in self.tokens.values():
            token.expires_at = 0

    def age(self, seconds: float) -> None:
        """Let every login, and the one at the browser, have been so long ago. No token ends by that."""
        self.signed_in_at -= seconds
        for token in (*self.tokens.values(), *self.refresh_tokens.values()):
            token.auth_time -= seconds

    def revoke(self) -> None:
        """Let every token be revoked, refresh tokens as well, as after a changed password."""
        self.tokens.clear()
        self.refresh_tokens.clear()

    def holder(self, request: Request, resource_server: str) -> Token | None:
        """The token of a request, where it is good for this service."""
        token = self.tokens.get(request.bearer or "")
        good = token and token.expires_at > time.time() and token.resource_server == resource_server
        return token if good else None

    # the token endpoint

    def _token(self, request: Request) -> Answer:
        form = request.form()
        client_id = self.identities.client_of(request, form)
        kind = form.get("grant_type")
        if kind == "client_credentials":
            return 200, self._answer(self._own(request, form), self.access_ttl)
        if kind == "authorization_code":
            return 200, self._answer(self._redeem(form, client_id), self.access_ttl)
        if kind == "refresh_token":
            grant = self.refresh_tokens.get(form.get("refresh_token", ""))
            if grant is None or grant.client_id != client_id:
                raise HttpError(400, {"error": "invalid_grant"})
            return 200, self._answer(grant, self.access_ttl, refresh_token=form["refresh_token"])
        raise HttpError(400, {"error": "unsupported_grant_type"})

    def _own(self, request: Request, form: dict[str, str]) -> Grant:
        """A client that asks for itself is its own identity."""
        client = self.identities.confidential(request)
        if client is None:
            raise HttpError(401, {"error": "invalid_client"})
        return Grant(client.identity, client.id, split_scopes(form["scope"]), refreshable=False, session=frozenset())

    def _redeem(self, form: dict[str, str], client_id: str) -> Grant:
        grant = self._codes.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        proof = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if (
            grant is None
            or grant.client_id != client_id
            or grant.redirect != form.get("redirect_uri")
            or (grant.challenge and grant.challenge != proof)
        ):
            raise HttpError(401, {"error": "invalid_grant"})
        return grant

    def _answer(self, grant: Grant, ttl: float, refresh_token: str = "") -> dict[str, Any]:
        """One token for each resource server: the first one outside, the others in ``other_tokens``."""
        by_server: dict[str, list[str]] = {}
        for scope in grant.scopes:
            root = scope.split("[")[0].lstrip("*")
            by_server.setdefault(RESOURCE_SERVERS.get(root, HERSELF), []).append(root)
            self.identities.consent(grant.identity, root)
            for needed in re.findall(r"\*?https://[^\s\[\]]+", scope[len(root) :]):
                self.identities.consent(grant.identity, f"{root}[{needed}]")
        answers = []
        for server, scopes in by_server.items():
            access = "at_" + secrets.token_hex(12)
            answer = {
                "access_token": access, "scope": " ".join(scopes), "resource_server": server,
                "expires_in": int(ttl), "token_type": "Bearer",
            }  # fmt: skip
            self.tokens[access] = Token(
                grant.identity, grant.client_id, answer["scope"], server, time.time() + ttl, grant.session,
                grant.auth_time,
            )  # fmt: skip
            if grant.refreshable:
                answer["refresh_token"] = refresh_token or self._remember(grant, scopes)
            answers.append(answer)
        first = {**answers[0], "other_tokens": answers[1:], "state": "_default"}
        if "openid" in by_server.get(HERSELF, ()):
            first["id_token"] = self._key.id_token(grant.identity, grant.client_id)
        return first

    def _remember(self, grant: Grant, scopes: list[str]) -> str:
        token = "rt_" + secrets.token_hex(12)
        self.refresh_tokens[token] = Grant(
            grant.identity, grant.client_id, scopes, refreshable=True, session=grant.session, auth_time=grant.auth_time
        )
        return token

    # the browser

    def _authorize(self, request: Request) -> Answer:
        query = request.query
        self.authorizations.append(query)
        client_id, redirect = query.get("client_id", ""), query.get("redirect_uri", "")
        client = self.identities.clients.get(client_id)
        if client and client.redirects and redirect not in client.redirects:
            return 400, "<html>Mismatching redirect URI</html>"
        if client is None and query.get("code_challenge_method") != "S256":
            return 400, "<html>A native client must use PKCE</html>"
        if self.denies:
            answer = {"error": "access_denied", "state": query.get("state", "")}
        else:
            code = "code_" + secrets.token_hex(8)
            session = frozenset(filter(None, query.get("session_required_policies", "").split(",")))
            if query.get("session_required_mfa") == "True":
                session |= {"mfa"}
            if query.get("prompt") == "login" or any(name.startswith("session_required") for name in query):
                self.signed_in_at = time.time()
            offline = query.get("access_type") == "offline"
            scopes = split_scopes(query.get("scope", ""))
            self._codes[code] = Grant(
                self.person, client_id, scopes, offline, session, redirect, query.get("code_challenge", ""),
                self.signed_in_at,
            )  # fmt: skip
            answer = {"code": code, "state": query.get("state", "")}
        if redirect.endswith(PASTED):
            return 200, f"<html>Your code: <b id=code>{answer.get('code', '')}</b> {answer.get('error', '')}</html>"
        return 302, "<html>Back to the client</html>", {"Location": f"{redirect}?{urlencode(answer)}"}

    # what is asked about tokens

    def _revoke(self, request: Request) -> Answer:
        form = request.form()
        self.identities.client_of(request, form)
        self.tokens.pop(form.get("token", ""), None)
        self.refresh_tokens.pop(form.get("token", ""), None)
        return 200, {"active": False}

    def _introspect(self, request: Request) -> Answer:
        if self.identities.confidential(request) is None:
            raise HttpError(401, {"error": "invalid_client"})
        token = self.tokens.get(request.form().get("token", ""))
        if token is None or token.expires_at <= time.time():
            return 200, {"active": False}
        issued = int(token.expires_at - self.access_ttl)
        return 200, {
            **token.identity.claims, "active": True, "token_type": "Bearer", "scope": token.scope,
            "client_id": token.client_id, "exp": int(token.expires_at), "iat": issued, "nbf": issued,
            "aud": [token.resource_server, token.client_id], "iss": "https://auth.globus.org",
        }  # fmt: skip

    def _userinfo(self, request: Request) -> Answer:
        token = self.holder(request, HERSELF)
        if token is None:
            problem = {"status": "401", "code": "UNAUTHORIZED", "id": str(uuid.uuid4()), "title": "Unauthorized",
                       "detail": "Call must be authenticated"}  # fmt: skip
            raise HttpError(401, {"errors": [problem], "error": "unauthorized", "error_description": "Unauthorized"})
        return 200, {**token.identity.claims, "identity_set": [token.identity.claims]}


def split_scopes(text: str) -> list[str]:
    """Scopes are separated by spaces, but not within the brackets that hold what they depend on."""
    return re.findall(r"(?:\[[^\]]*\]|[^\s\[])+", text)
