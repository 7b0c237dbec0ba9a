"""Transfers in the store: one for a token, nothing after its end, bounded logs, and how fast two places were seen to be."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.errors import InvalidRequest, NotFound
from jupyter_diamond.model.data import Location
from jupyter_diamond.model.transfer import Progress, Transfer, TransferRequest
from jupyter_diamond.store.transfers import LOG_LINES

NOW = datetime(2026, 11, 30, tzinfo=timezone.utc)
HERE, THERE = Location(kind="home", path="/from"), Location(kind="site", site="delta", path="/to")


def made(number, **fields):
    request = TransferRequest(client_token=f"{number:016}", source=HERE, destination=THERE, **fields)
    return Transfer(
        id=f"x{number:010x}", request=request, mover="rsync", created_at=NOW, deadline=NOW, state_since=NOW
    )  # fmt: skip


def end(store, transfer, *, sent, seconds, after_s=0.0):
    began = NOW + timedelta(seconds=after_s)
    return store.transfers.change(
        transfer.id, at=NOW, kind="transfer.ended", state="succeeded", started_at=began,
        ended_at=began + timedelta(seconds=seconds), progress=Progress(bytes_sent=sent),
    )  # fmt: skip


def test_a_token_is_one_transfer_whose_events_name_what_it_is_for(store):
    wanted = made(1, dataset="imagenet")
    first, new = store.transfers.create(wanted)
    again, newer = store.transfers.create(made(1).model_copy(update={"id": "xother"}))
    assert (new, newer, again.id) == (True, False, first.id)
    (event,) = store.events(0, 10)
    assert (event.type, event.subject, event.seq) == ("transfer.created", f"transfer:{first.id}", first.version)
    assert event.data == {"state": "waiting", "from": "home:/from", "to": "delta:/to", "dataset": "imagenet"}
    assert store.transfers.find_token(wanted.request.client_token) == first


def test_what_has_ended_stays_as_it_is(store):
    transfer, _ = store.transfers.create(made(1))
    ended = end(store, transfer, sent=1, seconds=1.0)
    assert store.transfers.change(transfer.id, at=NOW, kind="transfer.trouble", state="active") == ended
    assert store.transfers.request_cancel(transfer.id, "you", NOW) == ended
    assert (store.transfers.active(), store.transfers.list(active=False)) == ((), (ended,))


def test_a_log_keeps_its_beginning_and_its_end(store):
    transfer, _ = store.transfers.create(made(1))
    for page in range(3):
        lines = [f"line {page * 100 + line}" for line in range(100)]
        transfer = store.transfers.change(transfer.id, at=NOW, log=lines)
    assert (len(transfer.log), transfer.log[0], transfer.log[-1]) == (LOG_LINES, "line 0", "line 299")


def test_the_newest_say_most_about_how_fast_two_places_are(store):
    assert store.transfers.rate("home", "delta") is None
    for number, rate in enumerate((1_000_000, 2_000_000, 9_000_000)):
        end(store, store.transfers.create(made(number))[0], sent=10 * rate, seconds=10.0, after_s=100.0 * number)
    end(store, store.transfers.create(made(7))[0], sent=1000, seconds=5.0, after_s=500.0)
    weights = (0.49, 0.7, 1.0)
    right = sum(w * r for w, r in zip(weights, (1e6, 2e6, 9e6), strict=True)) / sum(weights)
    assert store.transfers.rate("home", "delta") == pytest.approx(right)
    assert store.transfers.rate("delta", "home") is None


def test_the_beginning_of_an_id_is_enough_where_it_is_one_s_alone(store):
    first, second = (store.transfers.create(made(number))[0] for number in (0x1A, 0x1B))
    assert store.transfers.get(second.id) == second
    with pytest.raises(InvalidRequest, match="more than one"):
        store.transfers.get(first.id[:5])
    for ref in ("x", "nope", "%%%%"):
        with pytest.raises(NotFound, match="no transfer"):
            store.transfers.get(ref)
    assert store.transfers.like(made(9).request) is None, "none has ended well"
    end(store, first, sent=1, seconds=1.0)
    assert store.transfers.like(made(9).request).id == first.id
