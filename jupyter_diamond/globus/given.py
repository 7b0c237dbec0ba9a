"""Tokens that somebody else got: ``JUPYTER_DIAMOND_TOKENS`` as JSON, or as ``@file`` with JSON in it.

Understood are what Globus answers to a login, what its SDK stores, and the short ``{"funcx_service": "TOKEN"}``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .problems import LoginNeeded
from .sources import TOKENS

COMPUTE = "funcx_service"


@dataclass(frozen=True)
class Given:
    """One token. ``expires_at`` is a Unix time; None where nobody said."""

    token: str = field(repr=False)
    expires_at: float | None = None


def given_tokens(text: str) -> dict[str, Given]:
    """Tokens by the name of their service. Raises LoginNeeded with a sentence that holds nothing of them."""
    where = TOKENS
    if text.startswith("@"):
        where = f"The file of {TOKENS}"
        try:
            text = Path(text[1:]).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError) as problem:
            reason = problem.strerror if isinstance(problem, OSError) else "it is no text"
            raise LoginNeeded(f"{where} cannot be read ({reason}): write it anew.") from None
    try:
        found = dict(_tokens(json.loads(text)))
    except (ValueError, TypeError, AttributeError, KeyError):
        # never with its cause: the parser's own words repeat the text
        raise LoginNeeded(f'{where} is not JSON with tokens, such as {{"{COMPUTE}": "…"}}: correct it.') from None
    if COMPUTE not in found:
        raise LoginNeeded(f"{where} holds no token of Globus Compute ({COMPUTE}): add it.")
    return found


def _tokens(found: Any) -> Iterator[tuple[str, Given]]:
    if not isinstance(found, Mapping):
        raise TypeError("not an object")
    if isinstance(found.get("data"), Mapping) and "format_version" in found:  # a token file of the Globus SDK
        for stored in found["data"].values():
            yield from _tokens(stored)
        return
    if isinstance(found.get("tokens"), Mapping):  # a token file of ours
        found = found["tokens"]
    if "access_token" in found:  # what the token endpoint answered
        for one in (found, *found.get("other_tokens", ())):
            yield str(one["resource_server"]), _token(one)
        return
    for name, one in found.items():
        if isinstance(one, str | Mapping):
            yield str(name), _token(one)


def _token(one: str | Mapping[str, Any]) -> Given:
    if isinstance(one, str):
        text, expires = one, None
    else:
        text, expires = one["access_token"], one.get("expires_at_seconds")
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or " " in text or not text:
        raise TypeError("not a token")
    return Given(text, None if expires is None else float(expires))
