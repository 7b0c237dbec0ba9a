"""The REST API: every answer and every refusal, checked against openapi.yaml."""

from __future__ import annotations

import asyncio
import json
import re
import time
from urllib.parse import quote

import pytest
from ruamel.yaml import YAML

from jupyter_diamond.errors import StoreError
from jupyter_diamond.model.task import Submitted, Task
from jupyter_diamond.server import openapi
from jupyter_diamond.server.handlers import OPENAPI, ROUTES
from tests.server.rehearsal import LOG, a_request, at, multipart


async def until(true, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not (answer := true()):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.01)
    return answer


async def test_the_handshake(ask, service):
    got = await ask("GET", "status")
    assert (got.code, got.type) == (200, "application/json")
    assert got.json["limits"] == {"value_bytes": 1, "bundle_bytes": 2, "inline_result_bytes": 3}
    assert got.json["store_path"].endswith("diamond/store.sqlite")


async def test_sites_keep_unknown_and_no_limit_apart(ask, service):
    (site,) = (await ask("GET", "sites")).json["sites"]
    assert (site["records"][0]["walltime_cap_s"], site["records"][0]["max_nodes"]) == ("no_limit", None)
    assert (await ask("POST", "sites/refresh", form={"site": "alpha"})).json["sites"] == [site]
    assert (await ask("POST", "sites/refresh", form={})).code == 200
    assert (await ask("POST", "sites/refresh")).code == 200
    missing = await ask("POST", "sites/refresh", form={"site": "beta"})
    assert (missing.code, missing.json["code"], missing.json["message"]) == (404, "not_found", "There is no site beta.")


async def test_an_interpreter_and_what_it_lacks(ask, service):
    got = await ask("POST", "sites/alpha/interpreter", form={"python": None, "modules": ["torch"]})
    assert (got.json["executable"], got.json["missing"]) == ("/alpha/python3", ["torch"])


async def test_an_environment_is_asked_for_by_name_or_by_what_it_is_built_from(ask, service):
    env = {"name": "requirements", "requirements": "rich\n", "python": "3.11"}
    got = await ask("POST", "sites/alpha/interpreter", form={"env": env, "packages": ["rich"]})
    assert got.code == 200
    got = await ask("GET", "sites/alpha/environments")
    assert [each["name"] for each in got.json["named"]] == ["torch"]
    assert got.json["built"] == []


async def test_a_plan_starts_nothing(ask, service):
    got = await ask("POST", "plan", form={"envelope": {"cpus": {"min": 2, "max": 4}}})
    assert got.json["envelope"]["cpus"] == {"min": 2, "max": 4}
    got = await ask("POST", "plan", form={"envelope": {}, "members": 30, "at_once": 8})
    assert got.json["sentence"] == "30 of them, 8 at a time."
    assert service.store.newest_event() == 0


async def test_a_task_is_taken_once(ask, submit, service):
    bundle = bytes(range(256)) * 300 + b"\r\n--8f7e6d5"
    first = await submit(bundle=bundle)
    assert first.code == 201
    assert service.bundle == bundle
    task = Submitted.model_validate_json(first.body).task
    assert (task.name, task.source) == ("fit", a_request().source)
    again = await submit()
    assert again.code == 200
    assert again.json["task"] == first.json["task"]
    assert (await ask("GET", f"tasks/{task.id}")).json == first.json["task"]
    assert Task.model_validate((await ask("GET", "tasks/fit")).json) == task


async def test_a_refusal_of_the_service_is_told_as_it_is(submit, service):
    got = await submit(a_request(name="clash"))
    assert got.code == 409
    assert got.json == {
        "code": "conflict",
        "message": "`clash` is still running.",
        "transient": False,
        "evidence": ["t1"],
    }


async def test_tasks_are_listed_and_filtered(ask, submit, service):
    for number, name in enumerate(["a", "b", "a"]):
        assert (await submit(a_request(f"token-{number:010d}", name))).code == 201
    lines = (await ask("GET", "tasks")).json["tasks"]
    assert [line["name"] for line in lines] == ["a", "b", "a"]
    assert lines[0]["created_at"] > lines[1]["created_at"]
    some = await ask("GET", "tasks", params={"name": "a", "phase": "active", "notebook": "work/a.ipynb", "limit": 1})
    assert some.json["tasks"] == [lines[0]]
    assert (await ask("GET", "tasks", params={"phase": "ended"})).json["tasks"] == []
    assert (await ask("GET", "tasks", params={"before": lines[0]["id"], "limit": 1})).json["tasks"] == [lines[1]]
    newer = await ask("GET", "tasks", params={"newer": lines[2]["version"]})
    assert newer.json["tasks"] == [lines[1], lines[0]]


async def test_cancel_decision_and_events_of_a_task(ask, submit, service):
    await submit()
    assert (await ask("POST", "tasks/fit/cancel", form={})).json["cancel_requested_by"] == "you"
    assert (await ask("GET", "tasks/fit/decision")).json["candidates"][0]["verdicts"][0]["answer"] == "pass"
    page = (await ask("GET", "tasks/fit/events", params={"after": 1, "limit": 5})).json
    assert [event["type"] for event in page["events"]] == ["decision.made", "task.cancel_requested"]
    assert page["cursor"] == 3


async def test_what_has_not_started_is_planned_anew_held_and_released(ask, submit, service):
    await submit()
    assert (await ask("POST", "tasks/fit/hold", form={})).json["held_by"] == "you"
    assert (await ask("POST", "tasks/fit/release", form={})).json["held_by"] is None
    wanted = (await ask("POST", "tasks/fit/replan", form={"unpin": True})).json["attempts"][-1]["withdrawal"]
    assert (wanted["by"], wanted["then"], wanted["unpin"]) == ("you", "replan", True)
    assert (await ask("POST", "tasks/fit/replan", form={"pin": 1}, good=False)).code == 400
    service.store.update_attempt(
        service.store.task("fit").id, 1, at=at(10), type="attempt.state_changed", data={}, changes={"state": "running"}
    )
    refused = await ask("POST", "tasks/fit/hold", form={})
    assert (refused.code, refused.json["code"]) == (409, "conflict")


async def test_logs_are_text_in_json(ask, submit, service):
    await submit()
    got = await ask("GET", "tasks/fit/logs")
    assert (got.type, got.json["text"]) == ("application/json", LOG)
    assert (await ask("GET", "tasks/fit/logs", params={"offset": 8, "limit": 6})).json["text"] == "alert("
    assert (await ask("GET", "tasks/fit/logs", params={"tail": 1})).json["text"] == "\n"


async def test_a_result_comes_when_it_is_there(ask, submit, service):
    await submit()
    early = await ask("GET", "tasks/fit/result")
    assert (early.code, early.json["code"], early.json["transient"]) == (409, "result_unavailable", True)
    service.store.update_attempt(
        service.store.task("fit").id, 1, at=at(1), type="attempt.terminal", data={}, changes={"state": "completed"}
    )
    got = await ask("GET", "tasks/fit/result")
    assert got.json["inline"] == {"x.npy": "AA=="}
    assert got.json["outputs"][0]["text"] == LOG


async def test_a_file_is_a_download_and_never_a_page(ask, submit, service):
    await submit()
    got = await ask("GET", "tasks/fit/files/job.out")
    assert (got.body, got.type) == (LOG.encode(), "application/octet-stream")
    assert got.headers["Content-Disposition"] == "attachment; filename*=UTF-8''job.out"
    assert "default-src 'none'" in got.headers["Content-Security-Policy"]
    assert (await ask("GET", "tasks/fit/files/result/x.npy")).body == b"\x93NUMPY"
    named = await ask("GET", "tasks/fit/files/result/größe.json")
    assert (named.body, named.headers["Content-Disposition"]) == (
        b"7",
        "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.json",
    )


@pytest.mark.parametrize(
    "path",
    [
        "key", "bundle.tar", "runner.py", "job.sh", "claim", "result", "result/", "result/../key", "result/..%2Fkey",
        "result/%2e%2e/key", "..%2f..%2fkey", "%2Fetc%2Fpasswd", "result/a/b", "result/.hidden", "result/..", "job.out/",
        "job.out%00", "result/x%0A", "./job.out", "result//x", "result/x%5C..%5Ckey", "outputs.jsonl%20",
    ],
)  # fmt: skip
async def test_nothing_else_can_be_fetched(fetch_raw, submit, service, path):
    await submit()
    service.files = AnyFile()
    got = await fetch_raw(f"tasks/fit/files/{path}")
    assert got.code == 404
    assert b"secret" not in got.body


class AnyFile(dict):
    def __missing__(self, path):
        return b"secret"


async def test_a_poll_waits_for_news(ask, submit, service):
    start = (await ask("GET", "events", params={"after": -1})).json
    assert start == {"events": [], "cursor": 0}
    poll = asyncio.create_task(ask("GET", "events", params={"after": 0, "wait": 20}))
    await until(lambda: service.waiting == 1)
    await submit()
    page = (await asyncio.wait_for(poll, 10)).json
    assert [event["seq"] for event in page["events"]] == [1, 2]
    assert page["cursor"] == 2
    assert (await ask("GET", "events", params={"after": 1, "limit": 1})).json["events"] == page["events"][1:]


async def test_a_poll_without_news_ends_in_time(ask, service):
    assert (await ask("GET", "events", params={"after": 0, "wait": 0.05})).json == {"events": [], "cursor": 0}


async def test_a_poll_of_a_client_that_left_ends(service, http_server, http_server_port, jp_base_url, jp_auth_header):
    port = http_server_port[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"GET {jp_base_url}jupyter_diamond/api/events?after=0&wait=30 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    writer.write((head + f"Authorization: {jp_auth_header['Authorization']}\r\n\r\n").encode())
    await until(lambda: service.waiting == 1)
    writer.close()
    await until(lambda: service.waiting == 0)
    assert await reader.read() == b""


async def test_an_open_poll_does_not_keep_the_server_busy(ask, service, jp_serverapp):
    settings = jp_serverapp.web_app.settings
    settings.pop("api_last_activity", None)
    await ask("GET", "events", params={"after": -1})
    assert "api_last_activity" not in settings
    await ask("GET", "status")
    assert "api_last_activity" in settings


# ---- bad input: one sentence that names the field


@pytest.mark.parametrize(
    ("request_line", "how", "sentence"),
    [
        ("POST plan", {"form": {"envelope": {"cpus": {"min": -1, "max": 2}}}},
         "The request is not valid: envelope.cpus.min: input should be greater than or equal to 0, not -1."),
        ("POST plan", {"form": {"envelope": {"cpus": {"min": 4, "max": 2}}}},
         "The request is not valid: envelope.cpus: the range 4-2 runs backwards."),
        ("POST plan", {"form": {"envelope": {"cpu": 1}}},
         "The request is not valid: envelope.cpu: extra inputs are not permitted, not 1."),
        ("POST plan", {"form": {}}, "The request is not valid: envelope: field required."),
        ("POST plan", {"body": b"{"}, "The request is not valid: invalid JSON: EOF while parsing an object"),
        ("POST plan", {"body": b'"\xff"'}, "The request is not valid: invalid JSON"),
        ("POST plan", {"body": b"[]"}, "The request is not valid: input should be an object."),
        ("POST sites/alpha/interpreter", {"form": {"modules": "os"}}, "The request is not valid: modules: input"),
        ("GET tasks", {"params": {"limit": "many"}},
         "The request is not valid: limit: input should be a valid integer, unable to parse string as an integer, not 'many'."),
        ("GET tasks", {"params": {"phase": "done"}}, "The request is not valid: phase: input should be 'active' or 'ended', not 'done'."),
        ("GET tasks", {"params": {"nmae": "x"}}, "The request is not valid: nmae: extra inputs are not permitted, not 'x'."),
        ("GET tasks", {"params": {"limit": 0, "phase": "x"}}, " (1 more problem)."),
        ("GET events", {"params": {"wait": 31}}, "wait: input should be less than or equal to 30, not '31'."),
        ("GET events", {"params": {"wait": "nan"}}, "The request is not valid: wait: input should be"),
        ("GET events", {"params": {"after": -2}}, "after: input should be greater than or equal to -1, not '-2'."),
        ("GET tasks/fit/logs", {"params": {"limit": 1 << 40}}, "limit: input should be less than or equal to 4194304"),
    ],
)  # fmt: skip
async def test_bad_input_is_one_sentence(ask, service, request_line, how, sentence):
    got = await ask(*request_line.split(), **how, good=False)
    assert (got.code, got.json["code"]) == (400, "invalid_request")
    assert sentence in got.json["message"]
    assert "\n" not in got.json["message"]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ([], "this one has 0 and 0"),
        ([("request", None, "application/json", b"{}")], "this one has 1 and 0"),
        ([("bundle", "b", "application/x-tar", b"")] * 2, "this one has 0 and 2"),
        ([("request", None, "application/json", b"{}"), ("bundle", "b", "a/b", b"")],
         "client_token: field required (5 more problems)"),
        ([("request", None, "a/b", b'{"name": "\\ud800"}'), ("bundle", "b", "a/b", b"")], "invalid JSON"),
    ],
)  # fmt: skip
async def test_a_bad_submission_is_one_sentence(ask, service, parts, sentence):
    body, headers = multipart(*parts)
    got = await ask("POST", "tasks", body=body, headers=headers, good=False)
    assert got.code == 400
    assert sentence in got.json["message"]
    assert service.store.newest_event() == 0


async def test_a_broken_multipart_body_is_refused(ask, service):
    got = await ask(
        "POST", "tasks", body=b"garbage", headers={"Content-Type": "multipart/form-data; boundary=x"}, good=False
    )
    assert got.code == 400
    assert got.json["message"]


async def test_jupyterlab_s_time_stamp_is_no_parameter(ask, service):
    assert (await ask("GET", "tasks", params={"1700000000000": ""}, good=False)).code == 200


@pytest.mark.parametrize("ref", ["nosuch", "..", "%2e%2e%2fkey", "t0' OR 1=1 --", "<b>x</b>", "a%00b", "é"])
async def test_an_unknown_task_is_not_found(fetch_raw, service, ref):
    got = await fetch_raw(f"tasks/{quote(ref, safe='')}")
    assert got.code == 404
    assert got.headers["Content-Type"] == "application/json"
    assert json.loads(got.body)["message"].startswith("There is no task ")


async def test_a_bug_of_ours_is_told_without_its_inside(ask, service):
    got = await ask("GET", "tasks/bug")
    assert (got.code, got.json["code"]) == (500, "internal")
    assert "secret detail" not in got.body.decode()
    assert "Traceback" not in got.body.decode()


async def test_a_verb_that_is_not_there(fetch_raw, service):
    got = await fetch_raw("tasks/fit", method="DELETE")
    assert (got.code, json.loads(got.body)["code"]) == (405, "http_405")


# ---- openapi.yaml


async def test_the_description_is_served(ask, service):
    got = await ask("GET", "openapi.yaml")
    assert (got.type, got.body) == ("application/yaml", OPENAPI.read_bytes())


def test_the_description_is_current():
    """Make it new with: python -m jupyter_diamond.server.openapi"""
    text = OPENAPI.read_text(encoding="utf-8")
    assert openapi.current(text) == text


def test_every_route_and_verb_is_described_and_no_other():
    paths = YAML(typ="safe").load(OPENAPI)["paths"]
    described = {(path, verb) for path, item in paths.items() for verb in item if verb != "parameters"}
    served = set()
    for route, handler in ROUTES:
        matching = [path for path in paths if re.fullmatch(route, "/jupyter_diamond/api" + path)]
        assert matching, route
        verbs = {verb for verb in ("get", "post", "put", "patch", "delete", "head") if verb in vars(handler)}
        served |= {(path, verb) for path in matching for verb in verbs}
    assert described == served


# ---- start and stop


async def test_requests_before_the_start_are_told_to_try_again(extension, ask):
    got = await ask("GET", "status")
    assert (got.code, got.json["code"], got.json["transient"]) == (503, "server_unavailable", True)


class Broken:
    ledger = None

    def on_change(self, listener):
        pass

    async def start(self):
        raise StoreError("The task store /x is damaged; move it away.")

    async def stop(self):
        self.stopped = True


@pytest.mark.parametrize("make_service", [lambda app: Broken()], indirect=True)
async def test_a_store_that_cannot_be_used_is_told_to_every_request(started, ask):
    got = await ask("GET", "tasks")
    assert (got.code, got.json["code"]) == (500, "store")
    assert got.json["message"] == "The task store /x is damaged; move it away."
    await started.stop_extension()
    assert started.service.stopped


def bad_catalogue(app):
    raise StoreError("The site catalogue /c has a mistake in line 3.")


@pytest.mark.parametrize("make_service", [bad_catalogue], indirect=True)
async def test_a_bad_catalogue_is_told_and_does_not_stop_jupyter(started, ask, jp_fetch):
    assert (await ask("GET", "sites")).json["message"] == "The site catalogue /c has a mistake in line 3."
    assert (await jp_fetch("api", "status")).code == 200


async def test_stopping_answers_open_polls_and_stops_the_service(ask, started):
    service = started.service
    poll = asyncio.create_task(ask("GET", "events", params={"after": 0, "wait": 30}))
    await until(lambda: service.waiting == 1)
    await started.stop_extension()
    got = await asyncio.wait_for(poll, 10)
    assert (got.code, got.json["code"], got.json["transient"]) == (503, "server_unavailable", True)
    assert service.stopped
    assert (await ask("GET", "status")).code == 503
