"""Caps and own reservations in a decision: a dearer place gives way, and the sentence says what stands against it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jupyter_diamond.model.balance import Balance, Balances
from jupyter_diamond.model.charge import Charge, Held, SpendingCap, Spent
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.limits import SiteLimits
from jupyter_diamond.model.states import State
from jupyter_diamond.placement.budget import as_ended, lowered, refused, too_dear
from jupyter_diamond.placement.explain import explain
from tests.placement.profiles import NOW, H
from tests.placement.test_outcome_rules import ask, gpus, rec, said
from tests.store.store_samples import an_attempt


def against(amount, *, spent=0.0, reserved=0.0, unknown=0, unit="GPU-hour", scope="day", **more):
    cap = SpendingCap(scope=scope, amount=amount, unit=unit, **more)
    return Spent(cap=cap, spent=spent, reserved=reserved, unknown=unknown)


def test_a_cap_that_leaves_too_little_refuses_with_all_that_stands_against_it():
    decision = ask(gpus(4, hours=2, site="it"), spent=(against(10.0, spent=2.5, reserved=1.0, unknown=2),))
    assert decision.choice is None
    assert too_dear(decision)
    assert decision.sentence == (
        "it cannot run this. it:gpu: your cap of 10 GPU-hours in 24 hours (c.DiamondBudget.per_day) leaves 6.5 GPU-hours "
        "(2.5 GPU-hours spent, 1 GPU-hour reserved, 2 attempts of unknown charge), and this job may cost up to 8 GPU-hours: ask "
        "for --time 1h37m, or raise the cap."
    )
    assert said(decision, "budget").change == "--time 1h37m"
    assert ask(gpus(4, hours=1, site="it"), spent=(against(10.0, spent=2.5, reserved=1.0),)).choice is not None


def test_the_named_change_passes():
    spent = (against(10.0, spent=9.0),)
    change = said(ask(gpus(2, hours=2), spent=spent), "budget").change
    assert change == "--time 30m"
    assert ask(Envelope(gpus=Span.exactly(2), walltime_s=Span.exactly(1800)), spent=spent).choice is not None


@pytest.mark.parametrize(("standing", "said_last"), [
    (against(1.0, spent=1.0), "raise the cap, or wait until some of it is free again."),
    (against(1.0, reserved=1.0, scope="account", site="it"), "raise the cap, or wait until some of it is free again."),
    (against(1.0, spent=1.0, scope="account", site="it"), "raise the cap, or ask for less."),
    (against(0.5, scope="task"), "ask for --time 30m, or raise the cap."),
    (against(0.0), "raise the cap, or ask for less."),
])  # fmt: skip
def test_what_helps_is_named(standing, said_last):
    found = said(ask(gpus(1), spent=(standing,)), "budget")
    assert found.answer == "fail"
    assert found.sentence.endswith(f": {said_last}")


def test_a_shorter_time_that_was_allowed_is_taken_by_itself():
    ranges = Envelope(gpus=Span.exactly(1), walltime_s=Span(min=H, max=4 * H))
    choice = ask(ranges, spent=(against(2.0),)).choice
    assert choice.size.walltime_s == H


def test_a_cap_of_another_unit_site_account_or_agent_says_nothing():
    other = (
        against(0.0, unit="core-hour"), against(0.0, scope="account", site="there"),
        against(0.0, scope="account", site="it", account="xyz"), against(0.0, scope="agent"),
    )  # fmt: skip
    found = said(ask(gpus(1), spent=other), "budget")
    assert (found.answer, found.required) == ("pass", "any")
    assert said(ask(gpus(1), spent=other, by="writer"), "budget").answer == "fail"


def test_an_unknown_charge_is_refused_unless_it_will_do():
    bare = rec(charge=None)
    found = said(ask(gpus(1, site="it"), bare, spent=(against(5.0),)), "budget")
    assert (found.answer, found.change) == ("fail", "--unknown-charge")
    will_do = gpus(1, site="it", unknown_charge=True)
    assert ask(will_do, bare, spent=(against(5.0),)).choice is not None
    assert ask(gpus(1, site="it", unknown_charge=True), spent=(against(0.5),)).choice is None, "known and too dear"


def test_too_dear_is_only_what_nothing_else_refuses():
    spent = (against(0.0),)
    assert too_dear(ask(gpus(1), spent=spent))
    assert not too_dear(ask(gpus(64), spent=spent))


@pytest.mark.parametrize(("left", "least_s", "change"), [
    (0.5, 0, "--time 30m"), (0.5, 3600, ""), (0.01, 0, ""), (1.0, 0, "--time 1h"),
])  # fmt: skip
def test_a_shorter_time_is_offered_only_where_it_is_charged_less(left, least_s, change):
    charge = Charge(unit="GPU-hour", at_most=2.0, per_hour=1.0, least_s=least_s)
    assert refused(against(left), charge, 2 * H, unknown=False).change.option == change


def test_the_whole_cap_may_be_spent():
    charge = Charge(unit="GPU-hour", at_most=0.1, per_hour=0.1)
    assert refused(against(0.3, spent=0.1, reserved=0.1), charge, H, unknown=False) is None


ENDED = an_attempt().model_copy(
    update={
        "site": "it", "account": "abc", "state": State.FAILED, "ran_s": 1800.0, "started_at": NOW,
        "charge": Charge(unit="GPU-hour", at_most=2.0, per_hour=1.0),
    }
)  # fmt: skip


@pytest.mark.parametrize(("changes", "spent", "reserved"), [
    ({}, 0.5, 1.0),
    ({"ran_s": None}, 2.0, 1.0),  # nobody can tell: all that it could have cost
    ({"ran_s": 0.0, "started_at": None}, 0.0, 1.0),
    ({"state": State.RUNNING}, 0.0, 3.0),
    ({"state": State.PENDING, "started_at": None, "ran_s": None}, 0.0, 1.0),  # taken back before another follows
    ({"charge": None}, 0.0, 3.0),
    ({"charge": Charge(unit="core-hour", at_most=2.0, per_hour=1.0)}, 0.0, 3.0),
    ({"charge": ENDED.charge.model_copy(update={"settled_at": NOW})}, 0.0, 3.0),  # the sums have it already
])  # fmt: skip
def test_an_end_that_is_not_stored_yet_counts_as_what_it_cost(changes, spent, reserved):
    found = as_ended(against(9.0, reserved=3.0), ENDED.model_copy(update=changes), by=None)
    assert (found.spent, found.reserved) == (spent, reserved)


# -- balances ---------------------------------------------------------------------------------------------------------


def told(*accounts, unit=""):
    rows = tuple(Balance(account=name, left=left, unit=unit) for name, left in accounts)
    return Balances(site="it", command="accounts", read_at=NOW - timedelta(seconds=60), accounts=rows)


def held(amount, account="abc", unit="GPU-hour"):
    return Held(account=account, unit=unit, amount=amount)


def test_what_own_tasks_have_taken_is_no_longer_there_and_is_said():
    balances = lowered(told(("abc", 10.0)), (held(4.0),), None)
    decision = ask(gpus(4, hours=2, site="it"), balances=balances)
    assert "this job may cost up to 8 GPU-hours, and abc has 10 left, 4 GPU-hours of it taken by tasks of yours" in (
        decision.sentence
    )
    assert said(decision, "credit").change == "--time 1h30m"
    fits = ask(gpus(1, hours=2, site="it"), balances=balances)
    assert fits.choice is not None
    assert said(fits, "credit").sentence == (
        "abc has 10 GPU-hours left, 4 GPU-hours of it taken by tasks of yours; it is charged at most 2 GPU-hours."
    )
    assert "taken by tasks of yours" in explain(decision)
    assert any("4 GPU-hours of it taken by tasks of yours" in line for line in fits.warnings)
    assert "4 GPU-hours of it taken by tasks of" in explain(fits)


def test_what_is_held_in_another_unit_or_on_another_account_lowers_nothing():
    balances = lowered(told(("abc", 10.0), ("xyz", 1.0)), (held(9.0, unit="core-hour"), held(9.0, "xyz")), None)
    assert ask(gpus(4, hours=2), balances=balances).choice is not None


@pytest.mark.parametrize(("limits", "accounts", "lowers"), [
    (SiteLimits(read_at=NOW, default_account="abc"), (("abc", 10.0), ("xyz", 10.0)), True),
    (None, (("abc", 10.0),), True),
    (None, (("abc", 10.0), ("xyz", 10.0)), False),  # nobody knows who pays
])  # fmt: skip
def test_the_default_account_is_lowered_where_it_is_known(limits, accounts, lowers):
    found = lowered(told(*accounts), (held(4.0, account=None),), limits)
    assert (found.of("abc").taken("GPU-hour") == 4.0) is lowers
    assert found.of("abc").left == 10.0
