"""Charges are reserved with the attempt and settled with its end: in that transaction, once, and never invented."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.errors import NotFound, OverBudget
from jupyter_diamond.model.charge import Held
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.states import State
from jupyter_diamond.store import Store, attempt_rows, eventlog
from tests.store.charged import HOUR, at, cap, charge_events, decided, end, put, start

LIMIT_S = 600  # of the sample's size
MOST = 2.0 * LIMIT_S / HOUR


def one(store, since=0.0):
    (row,) = store.charges.accounts(at(since))
    return row


def test_what_it_may_cost_is_reserved_with_the_attempt(store):
    task = put(store)
    charge = task.attempt.charge
    assert (charge.unit, charge.at_most, charge.predicted, charge.actual) == ("core-hour", MOST, MOST, None)
    row = one(store)
    assert (row.site, row.account, row.unit, row.attempts, row.live, row.unknown) == (
        "alpha", "abc", "core-hour", 1, 1, 0,
    )  # fmt: skip
    assert (row.predicted, row.reserved, row.actual) == (MOST, MOST, None)
    told = {"attempt": 1, "site": "alpha", "account": "abc", "unit": "core-hour", "predicted": MOST, "at_most": MOST}
    assert charge_events(store) == [("charge.reserved", told)]
    assert task.version == store.newest_event()


def test_the_end_settles_it_by_the_time_that_accounting_says(store):
    put(store)
    start(store)
    task = end(store, seconds=400.0, ran_s=300.0)
    charge = task.attempt.charge
    assert (charge.actual, charge.settled_at) == (2.0 * 300 / HOUR, at(400.0))
    row = one(store)
    assert (row.live, row.unknown, row.reserved, row.actual) == (0, 0, None, charge.actual)
    kind, told = charge_events(store)[-1]
    assert (kind, told["actual"], told["predicted"], told["ran_s"]) == ("charge.settled", charge.actual, MOST, 300.0)
    assert task.version == store.newest_event()


def test_settling_twice_changes_nothing(store):
    put(store)
    start(store)
    first = end(store, ran_s=300.0).attempt.charge
    again = end(store, seconds=9.0, ran_s=600.0).attempt.charge
    assert again == first
    assert one(store).actual == first.actual
    assert [kind for kind, _ in charge_events(store)] == ["charge.reserved", "charge.settled"]


@pytest.mark.parametrize("fails", ["charge.reserved", "charge.settled"])
def test_a_crash_in_between_leaves_neither_half(store, monkeypatch, fails):
    real = eventlog.append

    def append(connection, kind, *said, **more):
        if kind == fails:
            raise RuntimeError("the machine lost power here")
        return real(connection, kind, *said, **more)

    monkeypatch.setattr(eventlog, "append", append)
    if fails == "charge.reserved":
        with pytest.raises(RuntimeError, match="lost power"):
            put(store)
        assert store.tasks() == ()
        assert store.charges.accounts(at(0)) == ()
        return
    put(store)
    start(store)
    with pytest.raises(RuntimeError, match="lost power"):
        end(store, ran_s=300.0)
    assert (store.task("t0000001").state, one(store).live) == (State.RUNNING, 1)
    monkeypatch.undo()
    assert end(store, ran_s=300.0).attempt.charge.actual == one(store).actual == 2.0 * 300 / HOUR


def test_the_least_that_is_charged_counts_also_for_a_second(store):
    put(store, decision=decided(least_s=900))
    start(store)
    assert end(store, ran_s=1.0).attempt.charge.actual == 2.0 * 900 / HOUR


@pytest.mark.parametrize(("began", "state", "facts", "actual"), [
    (False, State.REJECTED, {}, 0.0),  # its scheduler said no: there is no job
    (False, State.CANCELLED, {}, 0.0),  # never sent, or proved absent
    (True, State.CANCELLED, {"ran_s": 0.0, "started_at": None}, 0.0),  # accounting: it left the queue unstarted
    (True, State.CANCELLED, {"ran_s": 0.0}, 0.5),  # it started, and was over within the second: the least is charged
    (True, State.LOST, {}, None),  # nobody knows how long it ran
    (True, State.FAILED, {}, None),
])  # fmt: skip
def test_nothing_is_charged_only_where_it_is_proved_that_it_never_ran(store, began, state, facts, actual):
    put(store, decision=decided(least_s=900))
    if began:
        start(store)
    charge = end(store, state=state, **facts).attempt.charge
    assert charge.settled_at is not None
    assert charge.actual == actual
    assert one(store).unknown == (actual is None)


def test_a_charge_that_nobody_knows_is_none_and_is_counted(store):
    put(store, decision=decided(None, ""))
    start(store)
    charge = end(store, ran_s=60.0).attempt.charge
    assert (charge.unit, charge.predicted, charge.at_most, charge.actual) == ("", None, None, None)
    row = one(store)
    assert (row.unit, row.attempts, row.unknown, row.predicted, row.actual) == ("", 1, 1, None, None)
    assert charge_events(store) == []


def test_where_nobody_pays_nothing_is_kept(store):
    task = put(store, decision=decided(None, "", charged=False))
    assert task.attempt.charge is None
    assert end(store, state=State.REJECTED).attempt.charge is None
    assert store.charges.accounts(at(0)) == ()
    put(store, 2, decision=decided(None, "", charged=False), caps=(cap(0.0),))


def test_of_another_size_than_was_decided_on_only_the_time_may_differ(store):
    longer = Size(cpus=2, memory_bytes=1 << 30, walltime_s=1200)
    assert put(store, 1, decided(), size=longer).attempt.charge.at_most == 2 * MOST
    wider = Size(cpus=8, memory_bytes=1 << 30, walltime_s=600)
    assert put(store, 2, decided(), size=wider).attempt.charge.at_most is None


def test_units_and_accounts_stand_apart_and_old_charges_leave_the_window(store):
    put(store, 1)
    put(store, 2, decided(1.0, "GPU-hour"))
    put(store, 3, account=None)
    assert {(row.account, row.unit): row.attempts for row in store.charges.accounts(at(0))} == {
        (None, "core-hour"): 1, ("abc", "core-hour"): 1, ("abc", "GPU-hour"): 1,
    }  # fmt: skip
    start(store, 1)
    end(store, 1, seconds=10.0, ran_s=5.0)
    assert {row.unit for row in store.charges.accounts(at(20)) if row.account} == {"GPU-hour"}
    tasks = store.charges.tasks(at(0))
    assert [task.task_id for task in tasks] == ["t0000003", "t0000002", "t0000001"]
    assert tasks[-1].attempts[0].charge == store.task("t0000001").attempt.charge


def test_a_cap_refuses_in_words_and_nothing_is_written(store):
    put(store, 1)
    start(store, 1)
    end(store, 1, ran_s=300.0)
    put(store, 2)
    newest = store.newest_event()
    with pytest.raises(OverBudget) as refused:
        put(store, 3, caps=(cap(0.6),))
    assert refused.value.message == (
        "alpha: Your cap of 0.6 core-hours in 24 hours (c.DiamondBudget.per_day) leaves 0.1 core-hours (0.17 core-hours "
        "spent, 0.33 core-hours reserved), and this job may cost up to 0.33 core-hours: ask for --time 3m, or raise the cap. "
        "Nothing was submitted."
    )
    assert store.newest_event() == newest
    with pytest.raises(NotFound):
        store.task("t0000003")
    put(store, 3, caps=(cap(0.9), cap(0.0, unit="GPU-hour")))


def test_what_was_settled_more_than_a_day_ago_no_longer_counts_by_the_day(store):
    put(store, 1)
    start(store, 1)
    end(store, 1, seconds=10.0, ran_s=600.0)
    day, ever = cap(0.5), cap(0.5, "account", site="alpha")
    with pytest.raises(OverBudget):
        put(store, 2, seconds=80_000.0, caps=(day,))
    put(store, 2, seconds=86_411.0, caps=(day,))
    with pytest.raises(OverBudget, match=r"at alpha \(c.DiamondBudget.per_account\)"):
        put(store, 3, seconds=86_412.0, caps=(ever,))


@pytest.mark.parametrize(("one_cap", "refused"), [
    (cap(0.5, "account", site="alpha", account="ABC"), True),
    (cap(0.5, "account", site="alpha", account="other"), False),
    (cap(0.5, "account", site="beta"), False),
    (cap(0.5, "task"), False),  # another task's is none of this one's
    (cap(0.3, "task"), True),
    (cap(0.5, "agent"), False),  # nobody's agent asks
])  # fmt: skip
def test_a_cap_counts_what_is_its_own(store, one_cap, refused):
    put(store, 1)
    if refused:
        with pytest.raises(OverBudget):
            put(store, 2, caps=(one_cap,))
    else:
        put(store, 2, caps=(one_cap,))


def test_what_the_default_account_pays_counts_against_the_cap_of_each(store):
    put(store, 1, account=None)
    with pytest.raises(OverBudget):
        put(store, 2, caps=(cap(0.5, "account", site="alpha", account="abc"),))


def test_an_agents_cap_counts_that_agents_tasks(store):
    mine = (cap(0.5, "agent"),)
    put(store, 1, by="writer", caps=mine)
    put(store, 2, by="reader", caps=mine)
    put(store, 3, caps=mine)
    with pytest.raises(OverBudget, match="for an agent in 24 hours"):
        put(store, 4, by="writer", caps=mine)


def test_an_unknown_charge_is_refused_under_a_cap_unless_it_is_said_that_it_will_do(store):
    with pytest.raises(OverBudget) as refused:
        put(store, 1, decided(None, ""), caps=(cap(5.0),))
    assert refused.value.message == (
        "alpha: What it is charged is not known, so your cap of 5 core-hours in 24 hours (c.DiamondBudget.per_day) cannot "
        "be kept: add --unknown-charge to send it all the same. Nothing was submitted."
    )
    put(store, 1, decided(None, "", unknown_charge=True), caps=(cap(5.0),))
    put(store, 2, decided(None, "GPU-hour"), caps=(cap(5.0),))  # of another unit, whatever the amount
    (against,) = store.charges.spent((cap(5.0),), at(1))
    assert (against.spent, against.reserved, against.unknown) == (0.0, 0.0, 1)


def test_the_flag_does_not_lift_a_cap_that_can_be_kept(store):
    with pytest.raises(OverBudget):
        put(store, 1, decided(unknown_charge=True), caps=(cap(0.1),))


def test_of_two_submissions_at_the_same_moment_one_passes(path):
    stores = [Store(path) for _ in range(4)]
    ready, fates = threading.Barrier(len(stores)), []

    def submit(number):
        ready.wait()
        try:
            put(stores[number], number, caps=(cap(1.5 * MOST),))
            fates.append("stored")
        except OverBudget:
            fates.append("refused")

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(len(stores))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(fates) == ["refused"] * 3 + ["stored"]
    assert one(stores[0]).attempts == 1
    for each in stores:
        each.close()


def test_an_end_and_what_follows_it_are_counted_once_in_their_one_transaction(store):
    """The first attempt's reservation has become what it cost by the time that the second one is held against the cap."""
    first = put(store).attempt
    start(store)
    second = first.model_copy(update={"n": 2, "token": "dmd-99999999", "state": State.WAITING, "charge": None})
    ends = {"state": State.OUT_OF_MEMORY, "ran_s": 60.0}

    def follow(most):
        with store._database.write() as connection:
            attempt_rows.change(
                connection, "t0000001", 1, at=at(5), kind="attempt.terminal", data={}, changes=ends, dedup_key="end"
            )
            attempt_rows.put(
                connection, "t0000001", second, key="cd" * 32, decision=decided(), at=at(5), caps=(cap(most, "task"),)
            )

    cost = 2.0 * 60 / HOUR
    with pytest.raises(OverBudget, match=r"Your cap of 0\.36 core-hours for one task"):
        follow(0.36)
    assert (store.task("t0000001").state, one(store).live) == (State.RUNNING, 1), "the end was not written either"
    follow(MOST + cost)
    row = one(store)
    assert (row.attempts, row.live, row.actual, row.reserved) == (2, 1, pytest.approx(cost), pytest.approx(MOST))
    (task,) = store.charges.tasks(at(0))
    assert [each.n for each in task.attempts] == [1, 2]
    assert [kind for kind, _ in charge_events(store)] == ["charge.reserved", "charge.settled", "charge.reserved"]


def test_a_balance_is_lowered_by_what_is_reserved_and_by_what_was_settled_since(store):
    put(store, 1)
    put(store, 2)
    put(store, 3, decided(None, ""))
    start(store, 2)
    end(store, 2, seconds=100.0, ran_s=300.0)
    half = 2.0 * 300 / HOUR
    before = store.charges.held({"alpha": at(50), "beta": at(50)})
    assert before == {
        "alpha": (
            Held(account="abc", unit="", unknown=1), Held(account="abc", unit="core-hour", amount=MOST + half),
        )
    }  # fmt: skip
    (_, after) = store.charges.held({"alpha": at(150)})["alpha"]
    assert after.amount == MOST


RUNS = st.lists(
    st.tuples(
        st.sampled_from([("core-hour", 2.0), ("GPU-hour", 0.5), ("core-hour", None), ("", None)]),
        st.sampled_from(["abc", "xyz", None]),
        st.sampled_from(["live", "ran", "rejected", "lost", "unstarted"]),
        st.integers(0, 5000),
        st.sampled_from([0, 900]),
    ),
    max_size=8,
)


@given(RUNS)
@settings(max_examples=40, deadline=None)
def test_sums_are_those_of_the_attempts_and_never_negative(runs):
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "diamond" / "store.sqlite")
        for number, ((unit, per_hour), account, fate, ran_s, least_s) in enumerate(runs):
            put(store, number, decided(per_hour, unit, least_s=least_s), account=account)
            if fate in ("ran", "lost", "unstarted"):
                start(store, number)
            if fate == "ran":
                end(store, number, ran_s=float(ran_s))
            elif fate == "rejected":
                end(store, number, state=State.REJECTED)
            elif fate == "lost":
                end(store, number, state=State.LOST)
            elif fate == "unstarted":
                end(store, number, state=State.CANCELLED, ran_s=0.0, started_at=None)
            end(store, number, seconds=9.0, ran_s=1.0) if fate != "live" else None
        attempts = [store.task(f"t{number:07d}").attempt for number in range(len(runs))]
        rows = store.charges.accounts(at(0))
        day = store.charges.spent((cap(1.0), cap(1.0, unit="GPU-hour")), at(20))
        store.close()
    assert sum(row.attempts for row in rows) == len(attempts)
    for row in rows:
        own = [a.charge for a in attempts if (a.account, a.charge.unit) == (row.account, row.unit)]
        live = [charge for charge in own if charge.settled_at is None]
        assert (row.attempts, row.live) == (len(own), len(live))
        assert row.predicted == total(charge.predicted for charge in own)
        assert row.reserved == total(charge.at_most for charge in live)
        assert row.actual == total(charge.actual for charge in own)
        assert all(amount is None or amount >= 0 for amount in (row.predicted, row.reserved, row.actual))
    for against in day:
        own = [a.charge for a in attempts if a.charge.unit in (against.cap.unit, "")]
        due = [each.at_most if each.actual is None else each.actual for each in own if each.settled_at is not None]
        assert against.spent == pytest.approx(sum(amount for amount in due if amount is not None))
        reserved = [each.at_most for each in own if each.settled_at is None and each.at_most is not None]
        assert against.reserved == pytest.approx(sum(reserved))


def total(amounts):
    known = [amount for amount in amounts if amount is not None]
    return pytest.approx(sum(known)) if known else None
