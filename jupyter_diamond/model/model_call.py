"""What one call of a language model took."""

from __future__ import annotations

from .base import UtcTime, Value


class ModelCall(Value):
    """One request to a model. Tokens are None where the provider does not say: unknown is never zero."""

    at: UtcTime
    channel: str
    purpose: str
    """``chat``, ``draft``, ``ranking``."""
    model: str
    """``PROVIDER:NAME``."""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    seconds: float
    outcome: str
    """``ok``, ``cancelled``, or what kind of problem it was."""


class ModelUse(Value):
    """What several calls took together."""

    calls: int = 0
    unmeasured: int = 0
    """So many of them did not say how many tokens they took: the sums are too small by these."""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
