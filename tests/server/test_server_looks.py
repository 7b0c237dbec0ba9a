"""Looking around and trying a site over the REST API, checked against openapi.yaml."""

from __future__ import annotations

import asyncio

import pytest

from tests.server.rehearsal import LOG
from tests.server.test_server_api import until
from tests.store import charged

TOKEN = "smoke-token-0000001"


async def test_a_snapshot_can_be_waited_for(ask, service):
    assert (await ask("GET", "sites", params={"after": 7, "wait": 20})).json["id"] == 1
    waiting = asyncio.ensure_future(ask("GET", "sites", params={"after": 1, "wait": 0.2}))
    await until(lambda: service.waiting)
    assert (await waiting).json["id"] == 1
    assert (await ask("GET", "sites", params={"wait": 31}, good=False)).code == 400


async def test_the_past_of_a_site_keeps_unknown_apart_from_zero(ask, service):
    got = (await ask("GET", "sites/history", params={"site": "alpha", "hours": 2})).json
    (series,) = got["series"]
    assert (got["site"], got["span_s"], series["unit"]) == ("alpha", 0, "GPU")
    assert (series["free"], series["total"], series["mine_pending"]) == ([None], [8], [0])
    assert (await ask("GET", "sites/history", params={"site": "beta"})).code == 404
    for wrong in ({}, {"site": "alpha", "hours": 0}, {"site": "alpha", "hours": 5000}, {"site": "alpha", "days": 1}):
        assert (await ask("GET", "sites/history", params=wrong, good=False)).code == 400


async def test_forecasts_are_told_site_by_site_and_null_is_unknown(ask, service):
    (got,) = (await ask("GET", "forecasts")).json["sites"]
    assert (got["site"], got["n"], got["error_s"], got["methods"]) == ("alpha", 3, 12.5, {"replay": 3})
    assert (got["coverage"], got["regret_s"]) == (None, None)


async def test_charges_are_told_by_site_account_and_unit_and_null_is_unknown(ask, service):
    charged.put(service.store, 1)
    charged.put(service.store, 2, charged.decided(None, ""))
    unknown, known = (await ask("GET", "charges", params={"days": 2})).json["accounts"]
    assert (known["site"], known["account"], known["unit"], known["live"]) == ("alpha", "abc", "core-hour", 1)
    assert (known["reserved"], known["actual"], known["balance"]) == (1200 / 3600, None, None)
    assert (unknown["unit"], unknown["predicted"], unknown["unknown"]) == ("", None, 1)
    got = (await ask("GET", "charges", params={"tasks": "true"})).json
    assert [task["attempts"][0]["charge"]["per_hour"] for task in got["tasks"]] == [None, 2.0]
    for wrong in ({"days": 0}, {"days": 4000}, {"hours": 1}, {"tasks": "perhaps"}):
        assert (await ask("GET", "charges", params=wrong, good=False)).code == 400


async def test_idle_places_and_what_is_not_known_stand_apart(ask, service):
    got = (await ask("POST", "idle", form={"envelope": {"gpus": {"min": 2, "max": 2}}})).json
    assert [(place["site"], place["jobs_now"]) for place in got["places"]] == [("alpha", 3)]
    assert got["places"][0]["gpus_free"] is None
    assert [(place["site"], place["why"]) for place in got["unknown"]] == [("beta", "What is free is not known.")]


async def test_the_wait_everywhere_keeps_refused_and_unknown_apart_from_now(ask, service):
    gpu, cpu = (await ask("GET", "outlook")).json["places"]
    assert (gpu["partition"], gpu["unit"], gpu["forecast"]["wait_s"], gpu["forecast"]["low_s"]) == (
        "gpu",
        "GPU",
        600,
        None,
    )
    assert (cpu["forecast"], cpu["why"]) == (None, "Closed.")


async def test_the_login_nodes_facts(ask, service):
    got = (await ask("GET", "sites/alpha/env")).json
    assert got["facts"] == [{"name": "host", "value": "alpha-login1"}, {"name": "modules", "value": None}]
    assert got["accounts"] is None


async def test_a_look_around_is_refused_with_the_list(ask, service):
    got = await ask("POST", "sites/alpha/exec", form={"command": "ls -l"})
    assert (got.json["argv"], got.json["stdout"]) == (["ls", "-l"], LOG)
    refused = await ask("POST", "sites/alpha/exec", form={"command": "rm -rf x"})
    assert (refused.code, refused.json["code"]) == (400, "invalid_request")
    assert "squeue" in refused.json["message"]


async def test_a_file_is_put_once_and_replaced_only_when_asked(ask, service):
    octets = {"Content-Type": "application/octet-stream"}
    first = await ask("PUT", "sites/alpha/files/run.py", body=b"\x00\xff", headers=octets)
    assert (first.code, first.json["bytes"], first.json["replaced"]) == (201, 2, False)
    again = await ask("PUT", "sites/alpha/files/run.py", body=b"2", headers=octets)
    assert again.code == 409
    third = await ask("PUT", "sites/alpha/files/run.py", body=b"2", headers=octets, params={"replace": "true"})
    assert (third.code, third.json["replaced"], service.files["run.py"]) == (200, True, b"2")


async def test_a_preflight_is_told_check_by_check(ask, service):
    got = (await ask("POST", "sites/alpha/preflight", form={})).json
    assert got["checks"] == [{"name": "reachable", "answer": "ok", "sentence": "It answers."}]


async def test_a_smoke_job_is_a_task_and_is_sent_once(ask, service):
    first = await ask("POST", "sites/alpha/smoke", form={"client_token": TOKEN})
    again = await ask("POST", "sites/alpha/smoke", form={"client_token": TOKEN})
    assert (first.code, again.code) == (201, 200)
    assert first.json["task"] == again.json["task"]
    assert (await ask("GET", "tasks/smoke_alpha/accounting")).json["notes"] == ["It has no job yet."]


@pytest.mark.parametrize("token", ["", "short", "UPPER-CASE-TOKEN-1"])
async def test_a_smoke_job_needs_a_real_token(ask, service, token):
    assert (await ask("POST", "sites/alpha/smoke", form={"client_token": token}, good=False)).code == 400
