"""Groups over the REST API, checked against openapi.yaml."""

from __future__ import annotations

import pytest

from jupyter_diamond.model.group import Group, GroupRequest, Member
from jupyter_diamond.server.news import news
from tests.server.rehearsal import a_request, multipart


@pytest.fixture
def submit_group(ask):
    async def submit(number=3, token="group-0000000001", bundle=b"tar"):
        members = tuple(Member(index=at, params={"lr": at / 10, "name": "x"}) for at in range(number))
        asked = GroupRequest(request=a_request(token), members=members, at_once=2)
        body, headers = multipart(
            ("request", None, "application/json", asked.model_dump_json().encode()),
            ("bundle", "bundle.tar", "application/x-tar", bundle),
        )
        return await ask("POST", "groups", body=body, headers=headers)

    return submit


async def test_a_group_is_taken_once_and_shown(ask, submit_group, service):
    first = await submit_group(bundle=b"all of it")
    assert (first.code, first.json["created"], service.bundle) == (201, True, b"all of it")
    again = await submit_group()
    assert (again.code, again.json["group"]["id"]) == (200, first.json["group"]["id"])
    group = Group.model_validate((await ask("GET", "groups/fit")).json)
    assert (group.members, group.params, group.at_once, group.states) == (3, ("lr", "name"), 2, {"waiting": 3})
    (listed,) = (await ask("GET", "groups", params={"phase": "active", "name": "fit"})).json["groups"]
    assert listed == (await ask("GET", f"groups/{group.id}")).json
    assert (await ask("GET", "groups", params={"phase": "ended"})).json == {"groups": []}
    missing = await ask("GET", "groups/nope")
    assert (missing.code, missing.json["message"].startswith("There is no group 'nope'")) == (404, True)


async def test_members_are_tasks_that_the_list_of_tasks_leaves_out(ask, submit_group, submit, service):
    group = (await submit_group()).json["group"]
    await submit(a_request("token-0000000009", "other"))
    assert [task["name"] for task in (await ask("GET", "tasks")).json["tasks"]] == ["other"]
    lines = (await ask("GET", "tasks", params={"group": "fit"})).json["tasks"]
    assert [(task["name"], task["group"], task["index"]) for task in lines] == [
        (f"fit[{index}]", group["id"], index) for index in range(3)
    ]
    asked = {"state": "waiting,running", "after": 0, "limit": 1}
    (member,) = (await ask("GET", "groups/fit/tasks", params=asked)).json["tasks"]
    assert (member["id"], member["params"]) == (lines[1]["id"], {"lr": 0.1, "name": "x"})
    wrong = await ask("GET", "groups/fit/tasks", params={"state": "happy"})
    assert (wrong.code, "the states are: waiting" in wrong.json["message"]) == (400, True)
    member = (await ask("GET", "tasks/fit[1]")).json
    assert member["member"] == {"group": group["id"], "name": "fit", "index": 1, "params": {"lr": 0.1, "name": "x"}}
    named = await ask("GET", "tasks/fit")
    assert (named.code, "is a group of 3 tasks" in named.json["message"]) == (404, True)


async def test_a_group_is_held_released_planned_anew_and_cancelled(ask, submit_group, service):
    await submit_group()
    assert (await ask("POST", "groups/fit/hold")).json["held_by"] == "you"
    assert (await ask("POST", "groups/fit/release")).json["held_by"] is None
    assert (await ask("POST", "groups/fit/replan", form={"unpin": True})).code == 200
    assert (await ask("POST", "groups/fit/cancel")).json["cancel_requested_by"] == "you"
    page = (await ask("GET", "groups/fit/events")).json
    assert [event["type"] for event in page["events"]] == [
        "group.created", "group.round_started", "group.held", "group.released", "group.cancel_requested",
    ]  # fmt: skip
    assert (await ask("GET", "groups/fit/events", params={"after": page["cursor"]})).json["events"] == []
    results = (await ask("GET", "groups/fit/results", params={"after": 0})).json
    assert (results["members"], results["missing"][0]["index"]) == ([], 0)


async def test_the_browser_hears_of_the_group_once_and_not_of_every_member_that_begins(submit_group, service):
    heard = []
    service.on_change(lambda event: heard.append(news(event)))
    group = (await submit_group()).json["group"]
    told = [(each["kind"], each["id"]) for each in heard if each]
    assert told == [("group", group["id"])] * 2


async def test_the_files_of_a_group_are_listed_and_exported(ask, submit_group, service):
    made = (await submit_group()).json["group"]
    listed = await ask("GET", f"groups/{made['id']}/files", params={"after": 1})
    assert (listed.json["group"], listed.json["next"]) == (made["id"], 1)
    crate = await ask("POST", f"groups/{made['id']}/crate", body=b'{"folder": "~/crate"}')
    assert (crate.json["folder"], crate.json["notes"]) == ("~/crate", [made["id"]])
