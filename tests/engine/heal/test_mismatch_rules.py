"""What may follow when somebody has said that a site is wrong for a task. Pure."""

import pytest

from jupyter_diamond.engine.heal.causes import Cause
from jupyter_diamond.engine.heal.mismatch import refused
from jupyter_diamond.engine.heal.steps import Follow, Stop, attempts_left, avoided, mismatched, next_step
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.healing import Checkpoint, Healing, Mismatch
from jupyter_diamond.model.states import State
from tests.engine.heal.samples import T0, attempt, task

WRONG = Mismatch(by="claude", at=T0, reason="its libfabric is broken")
ANYWHERE = Envelope()


def reported(state=State.FAILED, healing=None, **fields):
    return task(attempt(state=state, mismatch=WRONG, **fields), healing=healing)


@pytest.mark.parametrize("failure", ["app_args", "network_fabric", "image", "data", "oom", "timeout", "launch", "node"])
def test_what_fails_where_it_was_reported_to_be_wrong_is_tried_elsewhere(failure):
    step = next_step(reported(failure=failure), Cause(failure=failure))
    assert isinstance(step, Follow)
    assert (step.step, step.where) == ("migrate", "elsewhere")
    assert step.because == "attempt 1 failed at delta, which claude had reported to be wrong for it"


@pytest.mark.parametrize("failure", ["user_cancel", "lost", "credit"])
def test_what_was_ended_on_purpose_or_may_still_run_is_not_taken_elsewhere(failure):
    assert isinstance(next_step(reported(failure=failure), Cause(failure=failure)), Stop)


@pytest.mark.parametrize(("healing", "word"), [(Healing(retries=0), "--retries"), (Healing(moves=0), "--moves")])
def test_the_budgets_hold(healing, word):
    step = next_step(reported(failure="app_args", healing=healing), Cause(failure="app_args"))
    assert isinstance(step, Stop)
    assert word in step.why + step.change


def test_work_with_checkpoints_stays_with_them():
    kept = reported(failure="app_args", checkpoint=Checkpoint(name="e3", mark="1"))
    assert isinstance(next_step(kept, Cause(failure="app_args")), Stop)
    assert mismatched(kept) == {}


def test_the_site_is_left_out_in_all_later_plans():
    moved = task(attempt(1, mismatch=WRONG), attempt(2, State.PENDING, site="vista", step="migrate"))
    assert (mismatched(moved), avoided(moved)) == ({"delta": "its libfabric is broken"}, {"delta"})


@pytest.mark.parametrize(
    ("of", "pin", "words"),
    [
        (task(), ANYWHERE, "has ended (failed), and what has ended is not taken up again"),
        (task(attempt(state=State.PENDING), cancel_requested_by="you"), ANYWHERE, "is being cancelled"),
        (task(attempt(state=State.PENDING)), Envelope(site="delta"), "%diamond replan fit --unpin"),
        (task(attempt(state=State.RUNNING, segment=2)), ANYWHERE, "checkpoints at delta"),
        (task(attempt(state=State.PENDING), healing=Healing(moves=0)), ANYWHERE, "change its site 0 times (--moves)"),
        (task(attempt(state=State.RUNNING), healing=Healing(retries=0)), ANYWHERE, "tried again 0 times (--retries)"),
        (task(attempt(state=State.RUNNING)), ANYWHERE, ""),
    ],
)  # fmt: skip
def test_a_report_that_comes_too_late_or_has_no_budget_says_what_to_do(of, pin, words):
    said = refused(of, pin)
    assert words in said if words else said == ""


def test_a_waiting_task_needs_no_retry_to_move():
    waits = task(attempt(state=State.PENDING, started_at=None), healing=Healing(retries=0))
    assert refused(waits, ANYWHERE) == ""
    assert attempts_left(waits) == 0


def test_an_agents_task_is_bound_to_the_place_that_the_word_for_the_report_named():
    told = WRONG.model_copy(update={"instead": ("vista", "gg", "acc")})
    mine = task(attempt(mismatch=told, failure="app_args"), by="claude", healing=Healing(moves=0))
    approved = Envelope(site="delta", partition="cpu", account="old")
    step = next_step(mine, Cause(failure="app_args"), pin=approved)
    assert isinstance(step, Follow)
    assert (step.envelope.site, step.envelope.partition, step.envelope.account) == ("vista", "gg", "acc")
    waits = task(attempt(state=State.PENDING, started_at=None), by="claude", healing=Healing(moves=0))
    assert refused(waits, approved) == ""
    twice = task(*(attempt(n, State.PENDING, started_at=None, mismatch=told) for n in (1, 2)), by="claude")
    assert "has left 2 sites that were reported to be wrong for it" in refused(twice, approved)
