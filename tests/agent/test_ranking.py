"""A model may turn the feasible places around, and nothing else; whatever else it says changes nothing."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest
import pytest_asyncio
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from jupyter_diamond.agent.desk import AgentDesk
from jupyter_diamond.agent.models.access import Models
from jupyter_diamond.agent.ranking import Ranker
from jupyter_diamond.engine.ledger import Ledger
from jupyter_diamond.model.decision import Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.placement.explain_rows import how
from jupyter_diamond.settings import DiamondAgent
from tests.agent.drafting.pools import PlanningService
from tests.live.model_stub import ModelStub, late

pytestmark = pytest.mark.asyncio

ADA = Speaker(user="ada", channel="rest")
SITES = {"anvil", "delta", "vista"}


@pytest_asyncio.fixture
async def decision():
    return await PlanningService(only=SITES).plan(Envelope())


@pytest_asyncio.fixture
async def ranked():
    made = []

    async def ranked(decision, answer, prompts=None):
        def speak(messages, info):
            if prompts is not None:
                prompts.append(str(messages[-1].parts[-1].content))
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, answer)])

        models = Models(
            DiamondAgent(model="openai:m", base_url=""), logging.getLogger("tests"), environ={"OPENAI_API_KEY": "k"},
            make=lambda *_: FunctionModel(speak),
        )  # fmt: skip
        made.append(models)
        return await Ranker(models)(decision, ADA)

    yield ranked
    for models in made:
        await models.close()


def places(decision):
    by_rank = sorted((each.rank, at) for at, each in enumerate(decision.candidates) if each.rank)
    return [at for _, at in by_rank]


def apart(decision):
    """The same with no two places equal by the objective, so that any order is allowed."""
    return decision.model_copy(update={"ties": ()})


async def test_the_models_order_is_taken_and_said(decision, ranked):
    decision = apart(decision)
    before = places(decision)
    count = len(before)
    found = await ranked(decision, {"order": list(range(count, 0, -1)), "reason": "The last is emptiest."})
    assert places(found) == before[::-1]
    assert (found.mode, found.chosen, found.alternatives) == ("model", before[-1], tuple(before[::-1][1:4]))
    assert "The last is emptiest." in found.ranking
    assert decision.sentence in found.sentence
    assert "in a model's order" in how(found)
    untouched = [each.model_copy(update={"rank": None}) for each in found.candidates]
    assert untouched == [each.model_copy(update={"rank": None}) for each in decision.candidates]


async def test_the_same_first_place_keeps_its_sentence(decision, ranked):
    count = len(places(decision))
    found = await ranked(decision, {"order": list(range(1, count + 1)), "reason": "As it is."})
    assert (found.chosen, found.sentence, found.mode) == (decision.chosen, decision.sentence, "model")


BAD = {
    "names another": (lambda n: [*range(1, n), n + 5], "names a place that is not among them"),
    "leaves one out": (lambda n: list(range(1, n)), "leaves out 1 of"),
    "names one twice": (lambda n: [1, *range(1, n)], "names one place twice"),
    "says nothing": (lambda n: [], "leaves out"),
    "counts from zero": (lambda n: list(range(n)), "names a place that is not among them"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
async def test_an_order_that_is_none_changes_nothing(decision, ranked, bad):
    order, words = BAD[bad]
    found = await ranked(decision, {"order": order(len(places(decision))), "reason": "x"})
    assert words in found.ranking
    assert found.model_copy(update={"ranking": ""}) == decision


@pytest.mark.parametrize("answer", [{}, {"order": "first"}, {"order": [1.5], "reason": 3}])
async def test_an_answer_in_no_form_changes_nothing(decision, ranked, answer):
    found = await ranked(decision, answer)
    assert "The rules' own order stands." in found.ranking
    assert found.model_copy(update={"ranking": ""}) == decision


async def test_equals_stay_in_the_order_that_decides_between_them(decision, ranked):
    before = places(decision)
    tied = decision.model_copy(update={"ties": tuple(before[1:]), "tie_break": "the lower charge"})
    found = await ranked(tied, {"order": list(range(len(before), 0, -1)), "reason": "x"})
    assert "equal by the objective, between which the lower charge decides" in found.ranking
    assert places(found) == before


async def test_a_place_that_misses_a_wish_stays_behind(decision, ranked):
    decision = apart(decision)
    before = places(decision)
    wish = Verdict(rule="deadline", answer="fail", observed="", required="", sentence="Too late.", soft=True)
    candidates = list(decision.candidates)
    candidates[before[-1]] = candidates[before[-1]].model_copy(update={"verdicts": (wish,)})
    decision = decision.model_copy(update={"candidates": tuple(candidates)})
    found = await ranked(decision, {"order": list(range(len(before), 0, -1)), "reason": "x"})
    assert "misses a wish" in found.ranking
    assert places(found) == before


@pytest.mark.parametrize(
    "envelope", [Envelope(site="delta"), Envelope(objective="random", seed=1), Envelope(objective="shortest_queue")]
)
async def test_where_there_is_nothing_to_order_nobody_is_asked(ranked, envelope):
    decision = await PlanningService(only=SITES).plan(envelope)
    prompts = []
    assert await ranked(decision, {"order": [1], "reason": "x"}, prompts) == decision
    assert prompts == []


async def test_infeasible_places_are_not_shown_to_the_model(ranked):
    service = PlanningService(only=SITES)
    decision = await service.plan(Envelope(gpus={"min": 1, "max": 1}))
    prompts = []
    await ranked(decision, {"order": [1], "reason": "x"}, prompts)
    shown = prompts[0]
    for each in decision.candidates:
        assert (f" {each.site}:{each.partition}," in shown) == each.feasible


async def test_a_late_model_changes_nothing(decision):
    with ModelStub([late(60.0)]) as stub:
        settings = DiamondAgent(model="local:stub", base_url=stub.url, ranking_s=0.3)
        models = Models(settings, logging.getLogger("tests"), environ={}, keyring=lambda *_: None)
        await models.model()
        found = await Ranker(models)(decision, ADA)
        await models.close()
    assert "did not answer in time" in found.ranking
    assert found.model_copy(update={"ranking": ""}) == decision


@pytest.mark.parametrize(
    ("ranking", "model", "on"), [(True, "openai:m", True), (True, "", False), (False, "openai:m", False)]
)
async def test_a_model_orders_plans_only_where_the_user_turned_it_on(ranking, model, on, tmp_path):
    ledger = Ledger(tmp_path / "store.sqlite")
    await ledger.open()
    service = SimpleNamespace(ledger=ledger, reorder=None, on_change=lambda _listener: None)
    AgentDesk(service, log=logging.getLogger("tests"), settings=DiamondAgent(ranking=ranking, model=model))
    assert (service.reorder is not None) == on
    await ledger.close()
