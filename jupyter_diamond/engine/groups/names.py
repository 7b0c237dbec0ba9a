"""Names and keys that are drawn for a round."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import NamedTuple


class Names(NamedTuple):
    """Where tokens and keys come from; tests give their own."""

    token: Callable[[], str] = lambda: f"dmd-{secrets.token_hex(8)}"
    key: Callable[[], str] = lambda: secrets.token_hex(32)
