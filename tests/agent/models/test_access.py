"""Every way in which a model's answer can be wrong is one sentence, leaves a conversation that goes on, and is noted."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timezone

import pytest
import pytest_asyncio
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter

from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.errors import DiamondError, ModelProblem
from jupyter_diamond.settings import DiamondAgent
from tests.live.model_stub import EMPTY, HUGE, ToolCall, Turn, call, drop, fail, late, noise, refuse, say

LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
SECRET = "sk-canary-0123456789"

pytestmark = pytest.mark.asyncio


def walled() -> Agent[None, str]:
    agent = Agent(output_type=str)

    @agent.tool_plain
    def wall(site: str = "") -> str:
        """See the pool."""
        return f"free: {site}"

    return agent


async def listen(_context, events):
    async for _ in events:
        pass


@pytest_asyncio.fixture
async def ledger(tmp_path):
    ledger = Ledger(tmp_path / "store.sqlite")
    await ledger.open()
    yield ledger
    await ledger.close()


@pytest.fixture
def models(make):
    return make()


def ask(models, speaker, prompt="hello", **how):
    return models.run(walled(), prompt, purpose="chat", speaker=speaker, **how)


FAULTS = {
    "throttled": ([fail(429, retry_after=0), fail(429, retry_after=0), fail(429, retry_after=0)], "throttled", "429"),
    "throttled for long": ([fail(429, retry_after=3600)], "throttled", "wait 3600 s"),
    "failed": ([fail(500)] * 3, "failed", "status 500"),
    "wrong key": ([fail(401)], "refused_key", "does not accept the key"),
    "no such model": ([fail(404)], "not_configured", "no model"),
    "empty": ([EMPTY] * 2, "bad_answer", "empty"),
    "malformed arguments": ([call("wall", "{site: ")] * 2, "bad_answer", "cannot be read"),
    "unknown tool": ([call("launch_missiles", {})] * 2, "bad_answer", "launch_missiles"),
    "wrong type": ([call("wall", {"site": [1, 2]})] * 2, "bad_answer", "wall"),
    "refusal": ([refuse()], "refused", "refuses"),
    "huge": ([HUGE], "too_long", "more than 200,000 are not taken"),
    "endless": (lambda _messages: call("wall"), "too_long", "5 times"),
}


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_bad_answer_is_a_sentence_and_the_conversation_goes_on(fault, streaming, stub, models, speaker):
    script, kind, words = FAULTS[fault]
    stub.play(script)
    events = listen if streaming else None
    with pytest.raises(ModelProblem) as told:
        await ask(models, speaker, events=events)
    assert (told.value.kind, words in told.value.message) == (kind, True), told.value.message
    assert len(told.value.message) < 250
    stub.play([say("here again")])
    answered = await ask(models, speaker, "and now?", history=told.value.history, events=events)
    assert answered.output == "here again"
    assert_valid(stub.asked[-1].messages)


@pytest.mark.parametrize("fault", [None, 401], ids=["of a program", "of a service"])
async def test_a_programs_own_fault_leaves_its_place_in_the_log_and_a_services_does_not(
    fault, stub, models, speaker, caplog
):
    agent = Agent(output_type=str)

    @agent.tool_plain
    def broken() -> str:
        """Fail."""
        raise ZeroDivisionError(SECRET)

    stub.play([call("broken")] if fault is None else [fail(fault)])
    with pytest.raises(ModelProblem):
        await models.run(agent, "hello", purpose="chat", speaker=speaker)
    told = [each.getMessage() for each in caplog.records if "was ended by" in each.getMessage()]
    assert len(told) == (fault is None)
    assert all("ZeroDivisionError at " in each and "test_access.py:" in each for each in told)
    assert SECRET not in caplog.text


def assert_valid(messages):
    """As OpenAI's API demands: each call of a tool is answered right after it, by its id, and none is without a call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        for each in message.get("tool_calls") or []:
            waiting.append(each["id"])
            json.loads(each["function"]["arguments"])
    assert waiting == []


@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "streamed"])
async def test_an_answer_that_breaks_off_is_asked_for_again_unless_it_was_shown(streaming, stub, models, speaker):
    stub.play([drop("a long answer that breaks off", 700 if streaming else 60), say("whole")])
    if streaming:
        with pytest.raises(ModelProblem) as told:
            await ask(models, speaker, events=listen)
        assert told.value.kind == "dropped"
        stub.play([say("whole")])
    answered = await ask(models, speaker)
    assert answered.output == "whole"


async def test_something_else_that_answers_is_told(stub, models, speaker):
    stub.play([noise()])
    with pytest.raises(ModelProblem, match="something else answered"):
        await ask(models, speaker)


async def test_a_rest_that_the_provider_asks_for_is_kept(stub, models, speaker):
    stub.play([fail(429, retry_after=1), say("now")])
    answered = await ask(models, speaker)
    assert (answered.output, answered.requests, answered.seconds >= 1.0) == ("now", 2, True)


async def test_a_model_that_is_too_slow_is_not_waited_for(stub, models, speaker):
    stub.play([late(60.0)])
    with pytest.raises(ModelProblem, match="did not answer in time") as told:
        await ask(models, speaker, seconds=0.3)
    assert told.value.kind == "late"


async def test_a_server_that_is_away_is_told(make, speaker):
    models = make(DiamondAgent(model="local:x", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ModelProblem, match="cannot be reached"):
        await ask(models, speaker, seconds=0.5)


async def test_what_was_done_stays_in_the_conversation_when_the_turn_fails(stub, models, speaker):
    stub.play([call("wall", {"site": "delta"}), fail(400)])
    with pytest.raises(ModelProblem) as told:
        await ask(models, speaker)
    kept = ModelMessagesTypeAdapter.dump_json(list(told.value.history)).decode()
    assert "free: delta" in kept
    assert "no answer:" in kept


async def test_a_turn_cut_between_two_tools_leaves_no_call_unanswered(stub, models, speaker):
    agent = walled()

    @agent.tool_plain
    async def slow() -> str:
        """Takes long."""
        await asyncio.sleep(60)
        return "never"

    stub.play([Turn(calls=(ToolCall("slow", {}), ToolCall("wall", {})))])
    with pytest.raises(ModelProblem) as told:
        await models.run(agent, "go", purpose="chat", speaker=speaker, seconds=0.01)
    stub.play([say("on")])
    await ask(models, speaker, history=told.value.history)
    assert_valid(stub.asked[-1].messages)


async def test_each_request_is_a_row_and_unknown_tokens_are_not_zero(stub, make, ledger, speaker):
    models = make(ledger=ledger)
    stub.play([fail(500), call("wall"), say("done"), say("silent", usage=False), fail(500), say("streamed")])
    first = await ask(models, speaker)
    second = await ask(models, speaker)
    third = await ask(models, speaker, events=listen)
    assert (first.requests, first.prompt_tokens is not None, second.prompt_tokens, third.answer_tokens) == (
        3,
        True,
        None,
        2,
    )
    rows = await ledger.do(ledger.store.model_calls.newest)
    assert [row.outcome for row in rows] == ["ok", "failed", "ok", "ok", "ok", "failed"]
    assert [row.prompt_tokens is None for row in rows] == [False, True, True, False, False, True]
    assert {(row.model, row.purpose, row.channel) for row in rows} == {("local:stub", "chat", "chat:c1")}
    use = await ledger.do(ledger.store.model_calls.use, LONG_AGO)
    assert (use.calls, use.unmeasured) == (6, 3)
    assert use.prompt_tokens == first.prompt_tokens + third.prompt_tokens
    assert (await ledger.do(ledger.store.model_calls.use, LONG_AGO, "chat:other")).calls == 0


class Stern:
    """A warden that lets so many requests pass."""

    def __init__(self, most):
        self.left, self.asked_by = most, []

    async def may_ask_model(self, speaker):
        self.asked_by.append(speaker)
        self.left -= 1
        if self.left < 0:
            raise DiamondError("Agents are switched off.")


async def test_the_warden_is_asked_before_each_request(stub, make, speaker):
    warden = Stern(1)
    models = make(warden=warden)
    stub.play([call("wall")])
    with pytest.raises(DiamondError, match="switched off"):
        await ask(models, speaker)
    assert (stub.calls, warden.asked_by) == (1, [speaker, speaker])


async def test_too_many_tokens_end_the_turn(stub, settings, make, speaker):
    settings.turn_tokens = 50
    stub.play([call("wall")])
    with pytest.raises(ModelProblem, match="all that one turn may take"):
        await ask(make(), speaker)


async def test_without_a_model_nobody_is_asked(make, speaker, stub):
    models = make(DiamondAgent(model="", base_url=stub.url), environ={"JUPYTER_DIAMOND_MODEL_KEY": "k"})
    assert not models.configured
    assert "No language model is set up" in models.describe()
    with pytest.raises(ModelProblem, match="No language model is set up"):
        await ask(models, speaker)
    assert stub.calls == 0


async def test_the_key_goes_to_the_provider_and_nowhere_else(stub, settings, make, ledger, speaker, caplog):
    caplog.set_level("DEBUG")
    models = make(ledger=ledger, environ={"JUPYTER_DIAMOND_MODEL_KEY": SECRET})
    echo = f"Incorrect API key provided: {SECRET}"
    stub.play([say("ok"), fail(401, said=echo), fail(400, said=echo)])
    await ask(models, speaker)
    assert stub.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    shown = [models.describe()]
    for _ in range(2):
        with pytest.raises(ModelProblem) as told:
            await ask(models, speaker)
        shown += [told.value.message, *told.value.evidence, str(told.value.__cause__), str(told.value.history)]
    shown += [stub.prompts, str(await ledger.do(ledger.store.model_calls.newest)), str(settings.trait_values())]
    shown += [record.getMessage() for record in caplog.records]
    assert [text for text in shown if SECRET in text] == []
