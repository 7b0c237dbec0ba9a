"""Waking by REST, over the real service: register, wait, acknowledge, take back."""

from __future__ import annotations

import asyncio
import time

import pytest

from jupyter_diamond.server.app import DiamondApp
from tests.engine import cells

MAKE_SERVICE = DiamondApp.make_service
pytestmark = pytest.mark.parametrize("make_service", [MAKE_SERVICE], indirect=True)
ENDED = {"id": "wish-00000001", "subject": "fit", "condition": {"kind": "terminal"}, "consumer": "agent:7"}


async def submitted(submit, source):
    bundle = cells.bundle(source)
    return (await submit(cells.request(source, bundle), bundle)).json["task"]


async def ended(ask):
    """No job is left to a server that is gone."""
    cursor = 0
    while (await ask("GET", "tasks/fit")).json["phase"] != "ENDED":
        page = (await ask("GET", "events", params={"after": cursor, "wait": 20})).json
        assert page["cursor"] > cursor, "nothing happened for 20 s"
        cursor = page["cursor"]


async def test_a_consumer_is_woken_and_acknowledges(started, ask, submit, tmp_path):
    task = await submitted(submit, cells.held(tmp_path / "go", "pass"))
    made = await ask("POST", "continuations", form=ENDED)
    assert (made.code, made.json["created"], made.json["cursor"]) == (201, True, 0)
    assert made.json["continuation"]["subject"] == f"task:{task['id']}"
    again = await ask("POST", "continuations", form=ENDED)
    assert (again.code, again.json["continuation"]) == (200, made.json["continuation"])
    listed = await ask("GET", "continuations", params={"task": "fit"})
    assert listed.json["continuations"] == [made.json["continuation"]]

    waiting = asyncio.ensure_future(ask("GET", "continuations/wait", params={"consumer": "agent:7", "wait": 25}))
    await asyncio.sleep(0)
    (tmp_path / "go").touch()
    page = (await waiting).json
    (event,) = page["events"]
    assert (event["type"], event["subject"]) == ("continuation.fired", "consumer:agent:7")
    assert (event["data"]["outcome"], event["data"]["continuation"]) == ("OK", ENDED["id"])
    assert page["cursor"] == event["seq"]
    assert (await ask("GET", "continuations/wait", params={"consumer": "agent:7"})).json == page, "told again"
    after = {"consumer": "agent:7", "after": event["seq"]}
    assert (await ask("GET", "continuations/wait", params=after)).json == {"events": [], "cursor": event["seq"]}
    acknowledged = await ask("POST", "continuations/ack", form={"consumer": "agent:7", "seq": event["seq"]})
    assert acknowledged.json == {"consumer": "agent:7", "seq": event["seq"]}
    assert (await ask("GET", "continuations/wait", params={"consumer": "agent:7"})).json["events"] == []


async def test_one_can_be_taken_back(started, ask, submit, tmp_path):
    await submitted(submit, cells.held(tmp_path / "go", "pass"))
    await ask("POST", "continuations", form=ENDED)
    assert (await ask("DELETE", "continuations/wish-00000001")).json["over"] == "withdrawn"
    assert (await ask("DELETE", "continuations/wish-00000001")).json["over"] == "withdrawn"
    assert (await ask("GET", "continuations")).json["continuations"] == []
    (tmp_path / "go").touch()
    await ended(ask)


@pytest.mark.parametrize(("change", "code", "words"), [
    ({"subject": "nothing"}, 404, "There is no task 'nothing'"),
    ({"condition": {"kind": "milestone", "pattern": r"(a)\1"}}, 400, "a back-reference"),
    ({"condition": {"kind": "overrun"}}, 400, "running_s or waiting_s"),
    ({"condition": {"kind": "sunrise"}}, 400, "condition"),
    ({"consumer": "two words"}, 400, "consumer"),
    ({"id": "short"}, 400, "id"),
    ({"lasts_s": 0}, 400, "lasts_s"),
    ({"consumer": "webhook"}, 400, "There is no webhook"),
])  # fmt: skip
async def test_what_makes_no_sense_is_refused_in_words(started, ask, submit, change, code, words):
    await submitted(submit, "pass")
    await ended(ask)
    refused = await ask("POST", "continuations", form={**ENDED, **change}, good=False)
    assert refused.code == code
    assert words in refused.json["message"]


async def test_what_was_not_told_cannot_be_acknowledged(started, ask):
    refused = await ask("POST", "continuations/ack", form={"consumer": "agent:7", "seq": 5}, good=False)
    assert (refused.code, "the newest is 0" in refused.json["message"]) == (400, True)


async def test_a_wait_for_nothing_ends_in_its_time(started, ask):
    before = time.monotonic()
    page = await ask("GET", "continuations/wait", params={"consumer": "agent:7", "wait": 0.3})
    assert page.json == {"events": [], "cursor": 0}
    assert time.monotonic() - before >= 0.3
