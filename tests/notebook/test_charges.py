"""Charges in words: what is not known is said so, and amounts of two units are never one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.model_call import ModelUse
from jupyter_diamond.notebook.charge_text import TaskCharge, charge_text, cost_text
from jupyter_diamond.notebook.charges import models_text
from tests.store.store_samples import T0, an_attempt

LIVE = Charge(unit="core-hour", predicted=0.5, at_most=2.0, per_hour=2.0)
OVER = LIVE.model_copy(update={"actual": 0.25, "settled_at": T0})
LOST = LIVE.model_copy(update={"settled_at": T0})


@pytest.mark.parametrize(("charge", "said"), [
    (LIVE, "0.5 core-hours predicted, at most 2 core-hours reserved"),
    (OVER, "0.25 core-hours, 0.5 core-hours predicted"),
    (LOST, "not known, 0.5 core-hours predicted"),
    (OVER.model_copy(update={"actual": 0.0}), "0 core-hours, 0.5 core-hours predicted"),
    (Charge(), "not known"),
    (Charge(settled_at=T0), "not known"),
    (None, "nothing: nobody is charged for it there"),
])  # fmt: skip
def test_a_charge_in_words(charge, said):
    assert charge_text(charge) == said


def charges(*given):
    attempts = tuple(
        an_attempt(f"dmd-{n:08d}", n).model_copy(update={"charge": charge}) for n, charge in enumerate(given, start=1)
    )
    return TaskCharge(SimpleNamespace(attempts=attempts))


def test_a_tasks_charge_is_that_of_all_its_attempts():
    one = charges(OVER)
    assert (one.unit, one.predicted, one.reserved, one.actual) == ("core-hour", 0.5, 0, 0.25)
    assert repr(one) == "0.25 core-hours, 0.5 core-hours predicted"
    healed = charges(OVER, LIVE)
    assert (healed.predicted, healed.reserved, healed.actual) == (1.0, 2.0, None)
    assert repr(healed).splitlines()[1] == "attempt 2 at alpha: 0.5 core-hours predicted, at most 2 core-hours reserved"


def test_the_folded_card_says_what_it_cost_and_nothing_where_that_is_not_known():
    assert cost_text(SimpleNamespace(attempts=charges(OVER, OVER).attempts)) == "0.5 core-hours"
    for unknown in (charges(OVER, LOST), charges(LIVE), charges(None), charges()):
        assert cost_text(SimpleNamespace(attempts=unknown.attempts)) == ""


def test_what_cannot_be_added_up_is_none():
    lost = charges(OVER, LOST)
    assert (lost.actual, lost.predicted) == (None, 1.0)
    moved = charges(OVER, Charge(unit="GPU-hour", actual=1.0, predicted=1.0, at_most=1.0, settled_at=T0))
    assert (moved.unit, moved.actual, moved.predicted) == ("", None, None)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (ModelUse(), ""),
        (
            ModelUse(calls=1, prompt_tokens=3400, answer_tokens=210, seconds=0.2),
            "Language model: 1 request, 3,400 tokens in, 210 out, 1 s.",
        ),
        (
            ModelUse(calls=3, unmeasured=2, prompt_tokens=10, answer_tokens=1, seconds=90),
            "Language model: 3 requests, 10 tokens in, 1 out, 1 min 30 s; 2 of them did not say how many tokens.",
        ),
    ],
)
def test_what_a_model_took_is_said_and_unknown_tokens_are_no_zero(use, said):
    assert models_text(use) == said
