"""What a user writes to name a model, and where its key is looked for. No key is ever kept, logged or shown."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from jupyter_diamond.errors import ModelProblem

Provider = Literal["openai", "anthropic", "google", "local"]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
KEY = "JUPYTER_DIAMOND_MODEL_KEY"
"""The variable that goes before a provider's own."""
OWN_KEYS: dict[Provider, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",), "anthropic": ("ANTHROPIC_API_KEY",), "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "local": (),
}  # fmt: skip
"""A provider's own variables. A server of the user's is given none of them: they are for somebody else."""
KEYRING = "jupyter_diamond"
"""The service in the keyring of the operating system; its user name is the provider's."""
_EXAMPLES = "openai:gpt-5-mini, anthropic:claude-sonnet-5, google:gemini-3-flash, or local:NAME with a base_url"


class ModelName(NamedTuple):
    """A provider's model. ``base_url`` None: where the provider has it."""

    provider: Provider
    name: str
    base_url: str | None = None

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.provider}:{self.name}"


def read_name(model: str, base_url: str = "") -> ModelName:
    """The model that ``PROVIDER:NAME`` names. Raises ModelProblem with one sentence."""
    word, address = model.strip(), base_url.strip() or None
    provider, colon, name = word.partition(":")
    if not colon or not name or provider not in PROVIDERS:
        raise ModelProblem(f"{model!r} names no model; write {_EXAMPLES}.", kind="not_configured")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}", name):
        raise ModelProblem(f"{name[:60]!r} is no name of a model; write {_EXAMPLES}.", kind="not_configured")
    if provider == "local" and address is None:
        raise ModelProblem(
            f"{word} is a server of yours, and base_url does not say where it is: set c.DiamondAgent.base_url or "
            "JUPYTER_DIAMOND_MODEL_URL, e.g. http://127.0.0.1:11434/v1.",
            kind="not_configured",
        )
    if address is not None:
        _check_address(address)
    return ModelName(provider, name, address)


def _check_address(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelProblem(f"base_url {address!r} is no http or https address.", kind="not_configured")
    if parts.username or parts.password or parts.query:
        raise ModelProblem(
            f"base_url carries more than an address; a key belongs in the environment variable {KEY}.",
            kind="not_configured",
        )


def in_the_clear(address: str | None) -> bool:
    """Whether what is sent there could be read on the way."""
    parts = urlsplit(address or "https://")
    return parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1")


Keyring = Callable[[str, str], "str | None"]


def key_of(wanted: ModelName, environ: Mapping[str, str] = os.environ, keyring: Keyring | None = None) -> str | None:
    """The key for a model; None where a server of the user's needs none. Raises ModelProblem where one is missing."""
    given = environ.get(KEY) or next((environ[name] for name in OWN_KEYS[wanted.provider] if environ.get(name)), None)
    key = given or (keyring or from_keyring)(KEYRING, wanted.provider)
    if key is not None and not key.isascii():
        raise ModelProblem(f"The key for {wanted.text} has letters that no key has; set it anew.", kind="no_key")
    if key is None and wanted.provider != "local":
        own = " or ".join(OWN_KEYS[wanted.provider])
        raise ModelProblem(
            f"There is no key for {wanted.text}: set {own} or {KEY} in the environment that JupyterLab is started "
            f"from, or store it once with: keyring set {KEYRING} {wanted.provider}.",
            kind="no_key",
        )
    if key is not None and in_the_clear(wanted.base_url) and (wanted.provider != "local" or not environ.get(KEY)):
        raise ModelProblem(
            f"{wanted.base_url} is not https, and the key for {wanted.text} could be read on the way: write https, or "
            f"for a server of yours in your own network name it local:{wanted.name} and give it a key by {KEY}.",
            kind="no_key",
        )
    return key


def from_keyring(service: str, user: str) -> str | None:
    """What the operating system's keyring holds; None also where there is no keyring."""
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    try:
        return keyring.get_password(service, user)
    except (KeyringError, RuntimeError, OSError):  # locked, or no keyring runs: as on most servers
        return None
