"""Standing budgets: reserved with the act, settled by what its task was charged, never passed together."""

import contextlib
import threading

import pytest

from jupyter_diamond.errors import NeedsApproval, NotFound
from jupyter_diamond.model.proposal import Need, Speaker
from jupyter_diamond.store import Store
from tests.store.charged import HOUR, end, put, start
from tests.store.proposed import ADA, BOT, budget, costs, made
from tests.store.store_samples import at


def used(store, seconds=10.0):
    (found,) = store.budgets.in_force(at(seconds))
    return found.used


def begin(store, found, need=None, *, by=BOT, seconds=2.0):
    return store.proposals.begin(found.id, need or costs(), by, at(seconds))


def refused(store, number=1, need=None, **fields):
    with pytest.raises(NeedsApproval) as found:
        begin(store, made(store, number, **fields), need)
    return found.value.message


def test_a_budget_lets_pass_what_it_covers_and_counts_it(store):
    kept = budget(store, amounts=("5 core-hours",), jobs=3)
    found = begin(store, made(store))
    assert (found.standing, found.budget, found.decided_by) == ("approved", kept.id, None)
    assert used(store) == {"core-hour": 2.0, "jobs": 1.0}
    begin(store, found)
    assert used(store) == {"core-hour": 2.0, "jobs": 1.0}
    begin(store, made(store, 2))
    assert "it leaves 1 core-hour, and this may cost up to 2 core-hours" in refused(store, 3)
    assert [line.what for line in store.audit.lines()][:3] == ["budget.set", "proposal.made", "proposal.covered"]


@pytest.mark.parametrize(("need", "said"), [
    (costs(1.0, "GPU-hour"), "it allows nothing that is charged in GPU-hours"),
    (Need(jobs=1, unknown=True), "what this may cost is not known"),
    (costs(0.0, jobs=4), "it leaves 3 jobs, and this is 4 jobs"),
    (Need(transferred_bytes=101), "it leaves 100 bytes to move, and this is 101 bytes"),
])  # fmt: skip
def test_what_it_does_not_cover_needs_a_word(store, need, said):
    budget(store, amounts=("5 core-hours",), jobs=3, transferred_bytes=100)
    assert said in refused(store, need=need)
    assert used(store) == {}


def test_no_amounts_lets_nothing_pass_that_costs_and_all_that_does_not(store):
    budget(store)
    assert "charged in core-hours" in refused(store)
    assert begin(store, made(store, 2), costs(0.0)).standing == "approved"
    assert "0 bytes to move" in refused(store, 3, Need(transferred_bytes=1))


@pytest.mark.parametrize(("scope", "covered"), [
    ({"channel": "chat:one"}, True), ({"channel": "chat:two"}, False), ({"agent": "Diamond"}, True),
    ({"agent": "Other"}, False), ({"site": "alpha"}, True), ({"site": "beta"}, False),
    ({"channel": "chat:one", "agent": "Diamond", "site": "alpha", "per": "day"}, True),
])  # fmt: skip
def test_it_holds_where_all_of_its_scope_agrees(store, scope, covered):
    budget(store, scope=scope, amounts=("5 core-hours",))
    found = made(store)
    if covered:
        assert begin(store, found).budget is not None
    else:
        with pytest.raises(NeedsApproval):
            begin(store, found)


def test_a_second_budget_takes_what_the_first_has_not(store):
    budget(store, 1, amounts=("1 core-hour",))
    second = budget(store, 2, seconds=1.0, amounts=("2 core-hours",))
    assert begin(store, made(store)).budget == second.id


def test_it_ends_and_can_be_revoked(store):
    kept = budget(store, lasts_s=100.0, amounts=("9 core-hours",))
    assert begin(store, made(store)).budget == kept.id
    with pytest.raises(NeedsApproval):
        begin(store, made(store, 2, seconds=1.0), seconds=101.0)
    other = budget(store, 2, amounts=("9 core-hours",))
    revoked = store.budgets.revoke(other.id, ADA, at(3))
    assert revoked.revoked_at == at(3)
    assert store.budgets.revoke(other.id, ADA, at(4)).revoked_at == at(3)
    assert store.budgets.in_force(at(101)) == ()
    with pytest.raises(NotFound, match="no standing budget b9"):
        store.budgets.revoke("b9", ADA, at(5))


def test_while_foreign_text_is_in_the_conversation_no_budget_counts(store):
    budget(store, amounts=("9 core-hours",))
    store.proposals.foreign("chat:one", at(1))
    assert "so standing budgets do not count" in refused(store)
    assert used(store) == {}


def test_a_person_is_asked_though_a_budget_is_there(store):
    budget(store, amounts=("9 core-hours",))
    with pytest.raises(NeedsApproval):
        begin(store, made(store, by=ADA), by=ADA)


def test_it_is_settled_by_what_the_task_was_charged(store):
    budget(store, amounts=("3 core-hours",))
    found = begin(store, made(store))
    task = put(store)
    store.proposals.finish(found.id, BOT, at(3), task=task.id)
    start(store)
    assert used(store)["core-hour"] == 2.0
    end(store, seconds=400.0, ran_s=300.0)
    assert used(store, 500.0)["core-hour"] == pytest.approx(2.0 * 300 / HOUR)
    assert begin(store, made(store, 2)).budget is not None


def test_a_charge_that_nobody_knows_keeps_what_was_reserved(store):
    budget(store, amounts=("3 core-hours",))
    found = begin(store, made(store))
    task = put(store, decision=None)
    store.proposals.finish(found.id, BOT, at(3), task=task.id)
    start(store)
    end(store, seconds=400.0)  # nobody says how long it ran
    most = task.attempt.charge.at_most
    assert used(store, 500.0)["core-hour"] == pytest.approx(most)
    assert most > 0


def test_what_came_of_nothing_new_is_given_back(store):
    budget(store, amounts=("2 core-hours",), jobs=1)
    found = begin(store, made(store))
    store.proposals.finish(found.id, BOT, at(3), task="t0", used=False)
    assert used(store) == {}


def test_by_the_day_only_the_last_day_counts(store):
    budget(store, scope={"per": "day"}, lasts_s=7 * 86_400.0, jobs=1)
    found = begin(store, made(store), costs(0.0))
    store.proposals.finish(found.id, BOT, at(3), task=put(store, seconds=3.0).id)
    assert used(store)["jobs"] == 1.0
    later = 86_400.0 + 10
    assert used(store, later).get("jobs", 0.0) == 0.0
    assert begin(store, made(store, 2, seconds=later), costs(0.0), seconds=later).budget is not None


def test_two_never_pass_one_budget_together(path):
    stores = [Store(path), Store(path)]
    try:
        budget(stores[0], amounts=("3 core-hours",))
        both = [made(stores[0], number) for number in (1, 2)]
        passed, gate = [], threading.Barrier(2)

        def act(store, found):
            gate.wait()
            with contextlib.suppress(NeedsApproval):
                passed.append(begin(store, found).id)

        threads = [threading.Thread(target=act, args=pair) for pair in zip(stores, both, strict=True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(passed) == 1
        assert used(stores[0])["core-hour"] == 2.0
    finally:
        for store in stores:
            store.close()


def test_model_tokens_are_counted_from_the_calls(store):
    from sqlalchemy import insert

    from jupyter_diamond.store.schema import model_calls

    kept = budget(store, scope={"channel": "chat:one"}, model_tokens=100)
    assert store.budgets.tokens_left(BOT, at(1)) == (kept.model_copy(update={"used": {"tokens": 0.0}}), 100)
    rows = [
        {"at": at(when).timestamp(), "channel": channel, "purpose": "chat", "model": "m", "prompt_tokens": 60,
         "answer_tokens": answer, "seconds": 1.0, "outcome": "ok"}
        for when, channel, answer in ((-5, "chat:one", 1), (2, "chat:one", 50), (3, "chat:two", 9), (4, "chat:one", None))
    ]  # fmt: skip
    with store._database.write() as connection:
        connection.execute(insert(model_calls), rows)
    assert store.budgets.tokens_left(BOT, at(5))[1] == 100 - 60 - 50 - 60
    assert store.budgets.tokens_left(Speaker(user="ada", agent="Diamond", channel="chat:two"), at(5)) is None
