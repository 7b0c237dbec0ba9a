"""Whether an act may begin is one transaction: the word, the switch, the time, foreign text; every step is told once."""

import pytest

from jupyter_diamond.errors import ApprovalVoid, NeedsApproval, NotFound, PolicyBlocked
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.store.proposals import MOST_WAITING
from tests.store.proposed import ADA, BOT, approved, budget, costs, made
from tests.store.store_samples import at


def told(store, found):
    return [event.type for event in store.events(0, 1000, f"proposal:{found.id}")]


def lines(store):
    return [line.what for line in store.audit.lines()]


def begin(store, found, *, need=None, by=BOT, seconds=2.0):
    return store.proposals.begin(found.id, need, by, at(seconds))


def test_a_word_lets_it_begin_and_every_step_is_told_once(store):
    found = approved(store)
    assert (found.standing, found.decided_by, found.expires_at) == ("approved", "ada", at(601))
    again = store.proposals.approve(found.id, found.hash, ADA, at=at(9), until=at(900))
    assert again == found
    begun = begin(store, found)
    assert begun.began_at == at(2)
    assert begin(store, found, seconds=3.0) == begun
    done = store.proposals.finish(found.id, BOT, at(4), task="t1")
    assert (done.standing, done.task) == ("done", "t1")
    assert store.proposals.finish(found.id, BOT, at(5), task="t2") == done
    assert begin(store, found, seconds=6.0) == done
    assert told(store, found) == ["approval.requested", "approval.granted", "approval.used"]
    assert lines(store) == ["proposal.made", "proposal.approved", "act.begun", "act.done"]
    assert store.audit.verify().problems == ()
    assert store.proposals.sent(found.id) == ("{}", b"data")


def test_without_a_word_it_needs_one(store):
    found = made(store)
    with pytest.raises(NeedsApproval, match=r"needs your approval first \(p0000000001") as refused:
        begin(store, found)
    assert refused.value.evidence == (found.id,)
    assert store.proposals.get(found.id) == found


def test_another_hash_is_not_approved(store):
    found = made(store)
    with pytest.raises(ApprovalVoid, match="not what is proposed now"):
        store.proposals.approve(found.id, "0" * 64, ADA, at=at(1), until=at(600))
    assert store.proposals.get(found.id).standing == "waiting"
    assert lines(store)[-1] == "approval.refused"
    assert told(store, found)[-1] == "policy.blocked"


def test_what_was_denied_is_not_done_and_not_approved(store):
    found = made(store)
    denied = store.proposals.deny(found.id, "too large", ADA, at(1))
    assert (denied.standing, denied.reason) == ("denied", "too large")
    with pytest.raises(ApprovalVoid, match="ada said not now: too large"):
        begin(store, found)
    with pytest.raises(ApprovalVoid, match="ada said not now: too large"):
        store.proposals.approve(found.id, found.hash, ADA, at=at(2), until=at(600))
    assert store.proposals.deny(found.id, "again", ADA, at(3)) == denied


def test_what_is_being_done_is_not_denied_any_more(store):
    found = approved(store)
    begin(store, found)
    with pytest.raises(ApprovalVoid, match="is being done; cancel what comes of it"):
        store.proposals.deny(found.id, "", ADA, at(3))
    store.proposals.finish(found.id, BOT, at(4), task="t1")
    with pytest.raises(ApprovalVoid, match="was done already"):
        store.proposals.deny(found.id, "", ADA, at(5))


@pytest.mark.parametrize("kind", [made, approved])
def test_what_is_too_late_is_not_done(store, kind):
    found = kind(store)
    with pytest.raises(ApprovalVoid, match="was to be decided and done by 2026-03-01 12:1"):
        begin(store, found, seconds=602.0)
    store.proposals.expire(at(602))
    assert store.proposals.get(found.id).standing == "expired"
    with pytest.raises(ApprovalVoid, match="Propose it anew"):
        store.proposals.approve(found.id, found.hash, ADA, at=at(603), until=at(900))


def test_what_has_begun_goes_on_though_it_is_late(store):
    found = approved(store)
    begin(store, found)
    store.proposals.expire(at(9000))
    assert begin(store, found, seconds=9000.0).standing == "approved"


def test_nothing_is_proposed_approved_or_begun_while_agents_are_off(store):
    waits, given = made(store), approved(store, 2)
    switched = store.switches.switch_agents(on=False, by=ADA, at=at(3))
    assert (switched.on, switched.by) == (False, "ada")
    with pytest.raises(PolicyBlocked, match="Agents are switched off"):
        begin(store, given)
    with pytest.raises(PolicyBlocked, match="Jobs that run go on"):
        store.proposals.approve(waits.id, waits.hash, ADA, at=at(4), until=at(600))
    with pytest.raises(PolicyBlocked, match="Agents are switched off"):
        made(store, 3)
    assert store.proposals.get(given.id).standing == "approved"
    store.switches.switch_agents(on=True, by=ADA, at=at(5))
    assert begin(store, given, seconds=6.0).began_at == at(6)
    assert [event.data["on"] for event in store.events(0, 1000, "agents")] == [False, True]
    assert [what for what in lines(store) if what.startswith("switch")] == ["switch.off", "switch.on"]


def test_switching_to_what_it_is_says_nothing(store):
    assert store.switches.switch_agents(on=True, by=ADA, at=at(1)).by is None
    assert lines(store) == []


def test_a_word_that_is_older_than_foreign_text_does_not_count_for_an_agent(store):
    found = approved(store, seconds=1.0)
    store.proposals.foreign("chat:one", at(2))
    with pytest.raises(NeedsApproval, match="since you approved it, text from outside"):
        begin(store, found, seconds=3.0)
    waits = store.proposals.get(found.id)
    assert (waits.standing, waits.decided_by) == ("waiting", None)
    store.proposals.approve(found.id, found.hash, ADA, at=at(4), until=at(600))
    assert begin(store, found, seconds=5.0).began_at == at(5)


def test_it_counts_where_the_person_acts_or_the_context_was_emptied(store):
    first, second = approved(store, 1), approved(store, 2)
    store.proposals.foreign("chat:one", at(2))
    assert begin(store, first, by=ADA, seconds=3.0).began_at == at(3)
    store.proposals.foreign("chat:one", None)
    assert store.proposals.foreign_since("chat:one") is None
    assert begin(store, second, seconds=4.0).began_at == at(4)


def test_foreign_text_of_another_conversation_is_none_of_this_one(store):
    found = approved(store)
    store.proposals.foreign("chat:two", at(2))
    assert begin(store, found, seconds=3.0).began_at == at(3)


def test_what_is_void_is_never_done_and_takes_nothing(store):
    budget(store, amounts=("2 core-hours",))
    found = made(store)
    begin(store, found, need=costs())
    store.proposals.void(found.id, "It would now cost more.", BOT, at(3))
    with pytest.raises(ApprovalVoid, match="It would now cost more"):
        begin(store, found, need=costs(), seconds=4.0)
    assert store.budgets.in_force(at(5))[0].used == {}
    assert lines(store)[-2:] == ["proposal.void", "act.refused"]


def test_a_channel_may_not_propose_without_end(store):
    for number in range(MOST_WAITING):
        made(store, number + 1)
    with pytest.raises(PolicyBlocked, match="50 proposals of this conversation wait"):
        made(store, 99)
    made(store, 100, by=Speaker(user="ada", agent="Diamond", channel="chat:two"))


def test_the_same_question_is_known_by_who_asked_it(store):
    found = made(store)
    assert store.proposals.same("a" * 64, BOT, since=at(-1)) == (found,)
    assert store.proposals.same("a" * 64, BOT, since=at(1)) == ()
    assert store.proposals.same("b" * 64, BOT, since=at(-1)) == ()
    assert store.proposals.same("a" * 64, Speaker(user="ada", agent="Other", channel="chat:one"), since=at(-1)) == ()


def test_lists_are_newest_first(store):
    first, second = made(store, 1), approved(store, 2)
    assert [each.id for each in store.proposals.list()] == [second.id, first.id]
    assert [each.id for each in store.proposals.list(("waiting",))] == [first.id]
    assert store.proposals.list(channel="chat:two") == ()
    with pytest.raises(NotFound, match="no proposal 'p1'"):
        store.proposals.get("p1")
