"""Drafts over the REST API, checked against openapi.yaml."""

from __future__ import annotations


async def test_a_draft_has_options_reasons_and_a_place(ask, service):
    asked = {
        "words": "on alpha, at most 4 hours",
        "code": "import os\nos.environ['OMP_NUM_THREADS'] = '6'",
        "given": {"memory": "2G"},
    }
    got = (await ask("POST", "draft", form=asked)).json
    assert got["options"] == {"cpus": "6", "memory": "2G", "time": "4h", "site": "alpha"}
    assert got["envelope"]["cpus"] == {"min": 6, "max": 6}
    assert (got["source"], got["model"], got["raw"], got["feasible"]) == ("rules", None, None, True)
    assert got["where"] == "alpha:short can start it now."
    assert {each["field"]: each["evidence"] for each in got["reasons"]}["cpus"].startswith("line 2: os.environ")


async def test_what_was_given_wrongly_is_a_sentence(ask, service):
    got = await ask("POST", "draft", form={"given": {"cpus": "many"}})
    assert (got.code, got.json["code"]) == (400, "invalid_request")
    assert "--cpus" in got.json["message"]
    assert (await ask("POST", "draft", form={"language": "cobol"}, good=False)).code == 400
