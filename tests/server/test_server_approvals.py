"""A person's word over REST: what agents propose, standing budgets, the switch, the audit."""

import json

import pytest

from jupyter_diamond.model.proposal import Terms
from tests.store.proposed import BOT, budget, proposed
from tests.store.store_samples import at


@pytest.fixture
def waits(submit, service):
    """A proposal to cancel a task, which waits for a word."""

    async def waits(number=1):
        task = (await submit()).json["task"]
        terms = Terms(act="cancel", subject=f"task:{task['id']}", site="alpha", arguments={"made_by": "you"})
        found = proposed(number, lasts_s=1e9).model_copy(
            update={"terms": terms, "hash": terms.hash, "title": "Cancel fit"}
        )
        return service.store.proposals.make(found, "", b"")

    return waits


async def test_a_proposal_is_listed_shown_approved_and_done_once(ask, service, waits):
    found = await waits()
    listed = (await ask("GET", "proposals", params={"standing": "waiting,approved"})).json["proposals"]
    assert [each["id"] for each in listed] == [found.id]
    shown = (await ask("GET", f"proposals/{found.id}")).json
    assert (shown["hash"], shown["standing"], shown["by"]["agent"]) == (found.hash, "waiting", "Diamond")
    done = (await ask("POST", f"proposals/{found.id}/approve", form={"hash": found.hash})).json
    assert (done["standing"], done["terms"]["subject"]) == ("done", f"task:{done['task']}")
    assert service.store.task("fit").cancel_requested_by == "Diamond"
    again = await ask("POST", f"proposals/{found.id}/approve", form={"hash": found.hash})
    assert again.json == done
    assert (await ask("GET", "proposals", params={"channel": "chat:two"})).json["proposals"] == []


async def test_another_hash_a_denied_one_and_an_unknown_one_are_refused(ask, service, waits):
    found = await waits()
    refused = await ask("POST", f"proposals/{found.id}/approve", form={"hash": "0" * 64})
    assert (refused.code, refused.json["code"]) == (409, "approval_void")
    denied = await ask("POST", f"proposals/{found.id}/deny", form={"reason": "not yet"})
    assert (denied.json["standing"], denied.json["reason"]) == ("denied", "not yet")
    refused = await ask("POST", f"proposals/{found.id}/approve", form={"hash": found.hash})
    assert "said not now: not yet" in refused.json["message"]
    assert (await ask("GET", "proposals/p9999999999")).code == 404
    assert (await ask("GET", "proposals", params={"standing": "eaten"}, good=False)).json["code"] == "invalid_request"
    assert service.store.task("fit").cancel_requested_by is None


async def test_the_switch_ends_it_and_jobs_can_still_be_cancelled(ask, service, waits):
    found = await waits()
    assert (await ask("GET", "agents/switch")).json["on"] is True
    off = (await ask("POST", "agents/switch", form={"on": False})).json
    assert off["on"] is False
    refused = await ask("POST", f"proposals/{found.id}/approve", form={"hash": found.hash})
    assert (refused.code, refused.json["code"]) == (403, "policy_blocked")
    assert "Jobs that run go on" in refused.json["message"]
    assert (await ask("POST", "tasks/fit/cancel")).json["cancel_requested_by"] == "you"


async def test_standing_budgets_are_listed_and_revoked(ask, service):
    kept = budget(service.store, lasts_s=1e9, scope={"agent": "Diamond"}, amounts=("2 GPU-hours",), jobs=3)
    (listed,) = (await ask("GET", "budgets")).json["budgets"]
    assert (listed["id"], listed["allowance"]["amounts"], listed["used"]) == (kept.id, ["2 GPU-hours"], {})
    assert (await ask("DELETE", f"budgets/{kept.id}")).json["revoked_at"] is not None
    assert (await ask("GET", "budgets")).json["budgets"] == []
    assert (await ask("DELETE", "budgets/b9999999999")).code == 404
    assert (await ask("POST", "budgets", form={"allowance": {"jobs": 0}}, good=False)).code == 400


async def test_the_audit_is_paged_checked_and_exported(ask, service):
    for number in range(3):
        service.store.audit.note("act.done", BOT, at=at(number), site="alpha")
    page = (await ask("GET", "audit", params={"after": 1, "limit": 1})).json
    assert ([line["seq"] for line in page["lines"]], page["cursor"]) == ([2], 2)
    checked = (await ask("GET", "audit/verify")).json
    assert (checked["lines"], checked["problems"]) == (3, [])
    export = await ask("GET", "audit/export")
    assert export.type == "application/x-ndjson"
    assert [json.loads(line)["seq"] for line in export.body.decode().splitlines()] == [1, 2, 3]


async def test_on_a_shared_hub_server_guests_say_nothing(ask, service, waits, monkeypatch):
    found = await waits()
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    refused = await ask("POST", f"proposals/{found.id}/approve", form={"hash": found.hash})
    assert (refused.code, refused.json["code"]) == (403, "policy_blocked")
    assert "only its owner may approve" in refused.json["message"]
    for path, form in (("agents/switch", {"on": False}), ("budgets", {}), (f"proposals/{found.id}/deny", {})):
        assert (await ask("POST", path, form=form)).json["code"] == "policy_blocked"
    assert service.store.proposals.get(found.id).standing == "waiting"
    assert service.store.switches.agents().on
    assert (await ask("GET", "proposals")).code == 200


async def test_what_happens_is_told_to_the_page(ask, service, waits):
    heard = []
    service.on_change(lambda event: heard.append((event.type, event.subject)))
    found = await waits()
    await ask("POST", f"proposals/{found.id}/deny", form={})
    await ask("POST", "agents/switch", form={"on": False})
    assert ("approval.denied", f"proposal:{found.id}") in heard
    assert ("agents.switched", "agents") in heard
