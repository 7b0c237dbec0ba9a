"""What the browser is told: ids only, and nothing that others forge."""

from __future__ import annotations

import asyncio
import json

import pytest
from jsonschema import Draft7Validator

from jupyter_diamond.model.event import Event
from jupyter_diamond.server.news import SCHEMA, SCHEMA_ID, news
from tests.server.rehearsal import T0


def an_event(subject, seq=7):
    return Event(seq=seq, at=T0, type="attempt.trouble", subject=subject, data={"why": "secret"})


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        ("task:t1", {"kind": "task", "id": "t1", "version": 7}),
        ("site:alpha", {"kind": "site", "id": "alpha", "version": 7}),
        ("login", {"kind": "login", "id": "", "version": 7}),
        ("server:host:1", None),
    ],
)
def test_news_are_ids_only(subject, told):
    assert news(an_event(subject)) == told
    if told is not None:
        Draft7Validator(SCHEMA).validate(told)


async def test_a_browser_hears_of_a_submission(jp_ws_fetch, submit, service):
    socket = await jp_ws_fetch("api", "events", "subscribe")
    got = await submit()
    heard = []
    while len(heard) < 2:
        message = json.loads(await asyncio.wait_for(socket.read_message(), 10))
        if message["schema_id"] == SCHEMA_ID:
            heard.append({name: message[name] for name in ("kind", "id", "version")})
    task = got.json["task"]["id"]
    assert heard == [{"kind": "task", "id": task, "version": 1}, {"kind": "task", "id": task, "version": 2}]
    socket.close()


async def test_forged_news_change_nothing(jp_fetch, submit, service):
    await submit()
    before = service.store.newest_event()
    forged = {"schema_id": SCHEMA_ID, "version": "1", "data": {"kind": "task", "id": "t1", "version": 99}}
    assert (await jp_fetch("api", "events", method="POST", body=json.dumps(forged))).code == 204
    assert service.store.newest_event() == before
