"""Four kinds of provider, each asked in its own form over HTTP, with its own key from its own place."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent

from jupyter_diamond.agent.models.names import key_of, read_name
from jupyter_diamond.errors import ModelProblem
from jupyter_diamond.settings import DiamondAgent
from tests.live.model_stub import call, say

KINDS = {
    "openai:gpt-5-mini": ("OPENAI_API_KEY", "Authorization", "/v1", "/v1/chat/completions"),
    "local:vendor/model-7b": ("JUPYTER_DIAMOND_MODEL_KEY", "Authorization", "/v1", "/v1/chat/completions"),
    "anthropic:claude-sonnet-5": ("ANTHROPIC_API_KEY", "Authorization", "", "/v1/messages"),
    "google:gemini-3-flash": ("GEMINI_API_KEY", "x-goog-api-key", "", "/v1beta/models/gemini-3-flash:generateContent"),
}


def nothing(*_):
    return None


@pytest.mark.asyncio
@pytest.mark.parametrize("model", KINDS)
async def test_a_provider_is_asked_in_its_own_form_with_its_own_key(model, stub, make, speaker):
    variable, header, path, asked_at = KINDS[model]
    settings = DiamondAgent(model=model, base_url=stub.root + path, answer_tokens=321)
    models = make(settings, environ={variable: "the-key", "OTHER_API_KEY": "not-this"})
    agent = Agent(output_type=str)

    @agent.tool_plain
    def wall(site: str) -> str:
        """See the pool."""
        return f"free at {site}"

    stub.play([call("wall", {"site": "delta"}), say("two are free")])
    answered = await models.run(agent, "what is free?", purpose="chat", speaker=speaker)
    assert answered.output == "two are free"
    assert answered.prompt_tokens > 0
    assert [each.path.partition("?")[0] for each in stub.asked] == [asked_at] * 2
    assert stub.asked[0].headers[header.lower()].removeprefix("Bearer ") == "the-key"
    assert "free at delta" in stub.asked[1].text
    assert "321" in stub.asked[0].text
    assert "the-key" not in stub.prompts
    shown = []

    async def listen(_context, events):
        shown.extend([event async for event in events])

    stub.play([call("wall", {"site": "anvil"}), say("none are free")])
    streamed = await models.run(
        agent, "and now?", purpose="chat", speaker=speaker, history=answered.history, events=listen
    )
    assert (streamed.output, streamed.prompt_tokens > 0, len(shown) > 3) == ("none are free", True, True)
    assert "two are free" in stub.asked[-1].text


def test_a_provider_has_its_own_address_whatever_the_environment_says(monkeypatch):
    from jupyter_diamond.agent.models.providers import build

    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(variable, "http://evil.example/v1")
    hosts = {
        model.partition(":")[0]: build(read_name(model), "k").base_url
        for model in ("openai:gpt-5-mini", "anthropic:claude-sonnet-5", "google:gemini-3-flash")
    }
    assert {name: host.split("/")[2] for name, host in hosts.items()} == {
        "openai": "api.openai.com", "anthropic": "api.anthropic.com", "google": "generativelanguage.googleapis.com",
    }  # fmt: skip


@pytest.mark.parametrize(("model", "base_url", "words"), [
    ("gpt-5", "", "names no model"),
    ("openai:", "", "names no model"),
    ("azure:x", "", "names no model"),
    ("openai:a b", "", "no name of a model"),
    ("local:llama", "", "base_url does not say where"),
    ("local:llama", "ftp://x/v1", "no http or https address"),
    ("local:llama", "http://user:pw@x/v1", "carries more than an address"),
    ("openai:gpt-5", "https://x/v1?key=abc", "carries more than an address"),
])  # fmt: skip
def test_a_name_that_is_wrong_is_told_with_what_to_write(model, base_url, words):
    with pytest.raises(ModelProblem, match=words):
        read_name(model, base_url)


@pytest.mark.parametrize(("model", "environ", "ring", "key"), [
    ("openai:m", {"OPENAI_API_KEY": "own", "JUPYTER_DIAMOND_MODEL_KEY": "ours"}, None, "ours"),
    ("openai:m", {"OPENAI_API_KEY": "own", "ANTHROPIC_API_KEY": "other"}, None, "own"),
    ("google:m", {"GEMINI_API_KEY": "own"}, None, "own"),
    ("anthropic:m", {"OPENAI_API_KEY": "other"}, "ring", "ring"),
    ("local:m", {"OPENAI_API_KEY": "other"}, None, None),
    ("local:m", {}, "ring", "ring"),
])  # fmt: skip
def test_a_key_comes_from_the_environment_or_the_keyring(model, environ, ring, key):
    asked = []

    def keyring(service, user):
        asked.append((service, user))
        return ring

    assert key_of(read_name(model, "http://127.0.0.1:1/v1"), environ, keyring) == key
    assert asked in ([], [("jupyter_diamond", model.partition(":")[0])])


def test_a_missing_key_says_where_to_put_it():
    with pytest.raises(ModelProblem, match="set ANTHROPIC_API_KEY or JUPYTER_DIAMOND_MODEL_KEY"):
        key_of(read_name("anthropic:m"), {"OPENAI_API_KEY": "other"}, nothing)


@pytest.mark.parametrize(("model", "environ", "goes"), [
    ("openai:m", {"OPENAI_API_KEY": "own"}, False),
    ("openai:m", {"JUPYTER_DIAMOND_MODEL_KEY": "own"}, False),
    ("local:m", {"JUPYTER_DIAMOND_MODEL_KEY": "own"}, True),
    ("local:m", {}, True),
])  # fmt: skip
def test_a_providers_key_never_travels_in_the_clear(model, environ, goes):
    wanted = read_name(model, "http://gpu07.cluster.example:8000/v1")
    if goes:
        key_of(wanted, environ, nothing)
    else:
        with pytest.raises(ModelProblem, match="could be read on the way"):
            key_of(wanted, environ, nothing)


def test_a_machine_without_a_keyring_has_no_key_there(monkeypatch):
    import keyring
    from keyring.backends.fail import Keyring

    from jupyter_diamond.agent.models.names import from_keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    try:
        assert from_keyring("jupyter_diamond", "openai") is None
    finally:
        keyring.set_keyring(before)
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    assert from_keyring("jupyter_diamond", "openai") is None
