"""The key of Globus Auth: identity tokens that the SDK can verify."""

from __future__ import annotations

import functools
import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from .identities import PROVIDER, Identity
from .server import Answer, Request, Server

ISSUER = "https://auth.globus.org"


@functools.cache
def _key() -> rsa.RSAPrivateKey:
    """One for the whole run: making it takes a moment."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class SigningKey:
    """Signs identity tokens, and publishes what verifies them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        server.router.add("GET", "/.well-known/openid-configuration", self._configuration)
        server.router.add("GET", "/jwk.json", self._keys)

    def id_token(self, identity: Identity, client_id: str) -> str:
        now = int(time.time())
        claims = {"sub": identity.id, "iss": ISSUER, "aud": client_id, "iat": now, "exp": now + 172_800, "at_hash": "x",
                  "preferred_username": identity.username, "name": identity.name, "email": identity.username,
                  "identity_provider": PROVIDER}  # fmt: skip
        return jwt.encode(claims, _key(), algorithm="RS512", headers={"kid": "standin"})

    def _keys(self, _: Request) -> Answer:
        public: dict[str, Any] = json.loads(RSAAlgorithm.to_jwk(_key().public_key()))
        return 200, {"keys": [{**public, "use": "sig", "alg": "RS512", "kid": "standin"}]}

    def _configuration(self, _: Request) -> Answer:
        url = self._server.url
        return 200, {
            "issuer": ISSUER, "jwks_uri": url + "/jwk.json", "id_token_signing_alg_values_supported": ["RS512"],
            "authorization_endpoint": url + "/v2/oauth2/authorize", "token_endpoint": url + "/v2/oauth2/token",
            "userinfo_endpoint": url + "/v2/oauth2/userinfo", "revocation_endpoint": url + "/v2/oauth2/token/revoke",
        }  # fmt: skip
