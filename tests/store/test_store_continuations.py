"""Continuations and cursors: told once, told in order, told again until it is acknowledged."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import Conflict, InvalidRequest, NotFound
from jupyter_diamond.model.continuation import Milestone, Registration, Terminal
from jupyter_diamond.store import Store, continuations
from tests.store.store_samples import at, put_task


def wish(number: int = 1, consumer: str = "monday", **fields) -> Registration:
    return Registration(
        id=f"wish-{number:08d}", subject="t0000001", consumer=consumer,
        condition=fields.pop("condition", Terminal()), **fields,
    )  # fmt: skip


def fire(store, number=1, moment=9.0, **data):
    return store.continuations.close(
        f"wish-{number:08d}", "fired", {"id": f"n{number}", **data}, at=at(moment), dedup_key=f"1:completed:{moment}"
    )


def test_a_registration_is_kept_once_whatever_is_sent_again(store):
    put_task(store)
    first = store.continuations.register(wish(lasts_s=60), "t0000001", at(5))
    again = store.continuations.register(wish(lasts_s=90), "t0000001", at(6))
    assert (first.created, again.created) == (True, False)
    assert again.continuation == first.continuation
    assert (first.continuation.subject, first.continuation.expires_at) == ("task:t0000001", at(65))
    assert store.continuations.waiting() == (first.continuation,)
    assert [event.type for event in store.events(0, 10, "consumer:monday")] == ["continuation.registered"]
    with pytest.raises(Conflict, match="another one"):
        store.continuations.register(wish(condition=Milestone(pattern="x")), "t0000001", at(7))
    with pytest.raises(Conflict, match="another one"):
        store.continuations.register(wish(consumer="tuesday"), "t0000001", at(7))


def test_it_fires_once(store):
    put_task(store)
    store.continuations.register(wish(), "t0000001", at(5))
    event = fire(store)
    assert (event.type, event.subject, event.data) == ("continuation.fired", "consumer:monday", {"id": "n1"})
    assert fire(store) is None
    assert fire(store, moment=10.0) is None
    assert store.continuations.waiting() == ()
    known = store.continuations.known("wish-00000001").continuation
    assert (known.over, known.fired_at, known.event) == ("fired", at(9), event.seq)
    assert store.continuations.pending("monday") == (event,)


def test_telling_and_noting_it_are_one_transaction(store, path):
    put_task(store)
    store.continuations.register(wish(), "t0000001", at(5))
    with pytest.raises(InvalidRequest, match="more than the 8192"):
        fire(store, bulk="x" * 9000)
    reopened = Store(path)
    assert [each.id for each in reopened.continuations.waiting()] == ["wish-00000001"]
    assert reopened.continuations.pending("monday") == ()
    reopened.close()


def test_news_are_told_again_until_they_are_acknowledged(store, path):
    put_task(store)
    told = []
    for number in range(1, 6):
        store.continuations.register(wish(number), "t0000001", at(5))
        told.append(fire(store, number))
    assert store.continuations.pending("monday") == tuple(told)
    assert store.continuations.pending("monday", limit=2) == tuple(told[:2])
    assert store.continuations.ack("monday", told[1].seq, at(20)).seq == told[1].seq
    reopened = Store(path)
    assert reopened.continuations.pending("monday") == tuple(told[2:])
    assert reopened.continuations.ack("monday", told[0].seq, at(21)).seq == told[1].seq, "a cursor never goes back"
    assert reopened.continuations.pending("monday", after=0) == tuple(told), "who asks for it may read it all again"
    assert reopened.continuations.pending("monday", after=told[3].seq) == (told[4],)
    reopened.close()


def test_two_consumers_have_their_own_news_and_cursors(store):
    put_task(store)
    store.continuations.register(wish(1, "monday"), "t0000001", at(5))
    store.continuations.register(wish(2, "tuesday"), "t0000001", at(5))
    first, second = fire(store, 1), fire(store, 2)
    store.continuations.ack("monday", first.seq, at(20))
    assert store.continuations.pending("monday") == ()
    assert store.continuations.pending("tuesday") == (second,)
    assert (store.continuations.cursor("monday"), store.continuations.cursor("tuesday")) == (first.seq, 0)


def test_what_is_not_there_yet_cannot_be_acknowledged(store):
    put_task(store)
    store.continuations.register(wish(), "t0000001", at(5))
    event = fire(store)
    with pytest.raises(InvalidRequest, match=f"the newest is {event.seq}"):
        store.continuations.ack("monday", event.seq + 1, at(20))
    assert store.continuations.pending("monday") == (event,)


def test_one_that_is_taken_back_never_fires(store):
    put_task(store)
    store.continuations.register(wish(), "t0000001", at(5))
    assert store.continuations.withdraw("wish-00000001", at(6)).over == "withdrawn"
    assert fire(store) is None
    assert store.continuations.pending("monday") == ()
    assert store.continuations.withdraw("wish-00000001", at(7)).over == "withdrawn"
    with pytest.raises(NotFound):
        store.continuations.withdraw("wish-00000099", at(7))


def test_a_consumer_cannot_wait_for_ever_more(store, monkeypatch):
    most = 20
    monkeypatch.setattr(continuations, "MOST_WAITING", most)
    put_task(store)
    for number in range(most):
        store.continuations.register(wish(number), "t0000001", at(5))
    with pytest.raises(InvalidRequest, match="withdraw some"):
        store.continuations.register(wish(most), "t0000001", at(5))
    store.continuations.register(wish(most + 1, "tuesday"), "t0000001", at(5))
    store.continuations.withdraw("wish-00000007", at(6))
    store.continuations.register(wish(most), "t0000001", at(5))
