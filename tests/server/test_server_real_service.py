"""The whole way over HTTP: the real service with this machine as its site."""

from __future__ import annotations

import json

import pytest

from jupyter_diamond.server.app import DiamondApp
from tests.engine import cells

MAKE_SERVICE = DiamondApp.make_service


@pytest.mark.parametrize("make_service", [MAKE_SERVICE], indirect=True)
async def test_a_cell_goes_in_and_its_result_comes_out(started, ask, submit):
    status = (await ask("GET", "status")).json
    assert status["advances_work"] is True
    (site,) = (await ask("GET", "sites")).json["sites"]
    assert (site["site"], site["health"]) == ("here", "online")

    source = "print('<b>hello</b>')\nanswer = 6 * 7"
    bundle = cells.bundle(source, outputs=("answer",))
    request = cells.request(source, bundle, outputs=("answer",))
    made = await submit(request, bundle)
    assert made.code == 201
    assert (await submit(request, bundle)).json["task"]["id"] == made.json["task"]["id"]
    plan = await ask("POST", "plan", form={"envelope": json.loads(request.envelope.model_dump_json())})
    assert plan.json["candidates"][0]["site"] == "here"
    (place,) = (await ask("GET", "outlook")).json["places"]
    assert (place["site"], place["unit"], place["why"]) == ("here", "CPU", "")

    cursor = 0
    while (task := (await ask("GET", "tasks/fit")).json)["phase"] != "ENDED":
        page = (await ask("GET", "events", params={"after": cursor, "wait": 20})).json
        assert page["cursor"] > cursor, "nothing happened for 20 s"
        cursor = page["cursor"]
    assert (task["outcome"], task["cause"]) == ("OK", "")

    result = (await ask("GET", "tasks/fit/result")).json
    (value,) = result["manifest"]["values"]
    assert (await ask("GET", f"tasks/fit/files/{value['file']}")).body == b"42"
    assert "<b>hello</b>" in (await ask("GET", "tasks/fit/logs", params={"tail": 1000})).json["text"]
    assert (await ask("GET", "tasks", params={"phase": "ended"})).json["tasks"][0]["outcome"] == "OK"
    assert (await ask("GET", "tasks/fit/decision")).json["chosen"] == 0
    assert (await ask("GET", "tasks/fit/files/key", good=False)).code == 404
    assert (await ask("POST", "tasks/fit/cancel", form={})).json == task
