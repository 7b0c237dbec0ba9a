"""Who there is for Globus Auth: people, clients with their secrets, and what each has agreed to."""

from __future__ import annotations

import base64
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .server import Answer, HttpError, Request, Server

AT = "2026-01-01T00:00:00.000000+00:00"  # when all consents were given
PROVIDER = str(uuid.UUID(int=3))


@dataclass(frozen=True)
class Identity:
    """Somebody, or a client that acts for itself."""

    id: str
    username: str
    name: str

    @property
    def claims(self) -> dict[str, Any]:
        """What userinfo and introspection say of an identity."""
        return {"sub": self.id, "username": self.username, "preferred_username": self.username, "name": self.name,
                "email": self.username, "organization": "stand-in", "identity_provider": PROVIDER,
                "identity_provider_display_name": "stand-in"}  # fmt: skip


ALICE = Identity("11111111-1111-4111-8111-111111111111", "alice@standin.test", "Alice")
BOB = Identity("22222222-2222-4222-8222-222222222222", "bob@standin.test", "Bob")


@dataclass(frozen=True)
class Client:
    """A confidential client: it has a secret, and is an identity of its own."""

    id: str
    secret: str
    redirects: tuple[str, ...]
    identity: Identity


class Identities:
    """The register, and the routes that ask it."""

    def __init__(self, server: Server) -> None:
        self.known = {ALICE.id: ALICE, BOB.id: BOB}
        self.clients: dict[str, Client] = {}
        self._consents: dict[str, list[str]] = {}
        server.router.add("GET", "/v2/api/identities", self._identities)
        server.router.add("GET", "/v2/api/identities/{identity_id}/consents", self._list_consents)

    def add_client(self, name: str, redirects: Iterable[str], speaks_for: Identity | None) -> Client:
        client_id = str(uuid.uuid4())
        identity = speaks_for or Identity(client_id, f"{client_id}@clients.auth.globus.org", name)
        client = Client(client_id, secrets.token_hex(16), tuple(redirects), identity)
        self.clients[client_id] = client
        self.known[identity.id] = identity
        return client

    def confidential(self, request: Request) -> Client | None:
        """The client of a request that shows its id and its right secret."""
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Basic":
            return None
        client_id, _, secret = base64.b64decode(value).decode().partition(":")
        client = self.clients.get(client_id)
        return client if client and secrets.compare_digest(client.secret, secret) else None

    def client_of(self, request: Request, form: dict[str, str]) -> str:
        """The id of the client that asks. A registered one has to show its secret."""
        client = self.confidential(request)
        client_id = client.id if client else form.get("client_id", "")
        if client is None and (not client_id or client_id in self.clients):
            raise HttpError(401, {"error": "invalid_client"})
        return client_id

    def consent(self, identity: Identity, scope: str) -> None:
        given = self._consents.setdefault(identity.id, [])
        if scope not in given:
            given.append(scope)

    def consented(self, identity: Identity, scope: str) -> bool:
        return scope in self._consents.get(identity.id, ())

    def withdraw(self, identity: Identity, scope: str) -> None:
        """Take a consent back, as one can on a page of Globus."""
        self._consents[identity.id].remove(scope)

    def _identities(self, request: Request) -> Answer:
        ids = request.query.get("ids", "").split(",")
        names = request.query.get("usernames", "").split(",")
        found = [identity for identity in self.known.values() if identity.id in ids or identity.username in names]
        return 200, {"identities": [self._document(identity) for identity in found]}

    @staticmethod
    def _document(identity: Identity) -> dict[str, Any]:
        return {"id": identity.id, "username": identity.username, "name": identity.name, "email": identity.username,
                "organization": "stand-in", "identity_provider": PROVIDER, "identity_type": "login",
                "status": "used"}  # fmt: skip

    def _list_consents(self, request: Request, identity_id: str) -> Answer:
        return 200, {
            "consents": [_consent(1000 + n, scope) for n, scope in enumerate(self._consents.get(identity_id, ()))]
        }


def _consent(number: int, scope: str) -> dict[str, Any]:
    return {
        "id": number, "dependency_path": [number], "scope_name": scope, "scope": str(uuid.uuid5(uuid.NAMESPACE_URL, scope)),
        "client": str(uuid.UUID(int=2)), "effective_identity": str(uuid.UUID(int=1)), "status": "approved",
        "created": AT, "updated": AT, "last_used": AT, "allows_refresh": True, "atomically_revocable": False,
        "auto_approved": False,
    }  # fmt: skip
