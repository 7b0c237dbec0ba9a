"""From a name to a model of pydantic-ai. Everything heavy is imported here, and only when a model is first asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_diamond.errors import ModelProblem

from .names import ModelName

if TYPE_CHECKING:
    from pydantic_ai.models import Model

INSTALL = "pip install 'jupyter-diamond[ai]'"
NO_KEY = "none"
"""What a server of the user's is sent in place of a key: its client wants one."""


def not_installed(missing: ImportError) -> ModelProblem:
    """What to do where the extra is missing."""
    return ModelProblem(
        f"What speaks to language models is not installed where JupyterLab runs: {INSTALL}, then restart JupyterLab.",
        kind="not_installed",
        evidence=(str(missing)[:300],),
    )


def build(wanted: ModelName, key: str | None) -> Model:
    """The model, with its client. It asks nobody yet. Raises ModelProblem where its library is missing."""
    try:
        return {"openai": _openai, "local": _local, "anthropic": _anthropic, "google": _google}[wanted.provider](
            wanted, key
        )
    except ImportError as missing:
        raise not_installed(missing) from missing


def _openai(wanted: ModelName, key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    address = wanted.base_url or "https://api.openai.com/v1"  # named, so that no other variable leads the key elsewhere
    return OpenAIChatModel(wanted.name, provider=OpenAIProvider(base_url=address, api_key=key))


def _local(wanted: ModelName, key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    assert wanted.base_url is not None, "read_name asks for it"
    provider = OpenAICompatibleProvider("local", base_url=wanted.base_url, api_key=key or NO_KEY)
    return OpenAIChatModel(wanted.name, provider=provider)


def _anthropic(wanted: ModelName, key: str | None) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    address = wanted.base_url or "https://api.anthropic.com"
    return AnthropicModel(wanted.name, provider=AnthropicProvider(api_key=key, base_url=address))


def _google(wanted: ModelName, key: str | None) -> Model:
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    address = wanted.base_url or "https://generativelanguage.googleapis.com"
    return GoogleModel(wanted.name, provider=GoogleProvider(api_key=key, base_url=address))
