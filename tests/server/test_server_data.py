"""Transfers and data by name over HTTP: the real service moves real files on this machine."""

from __future__ import annotations

import json

import pytest

from jupyter_diamond.server.app import DiamondApp

MAKE_SERVICE = DiamondApp.make_service
REAL = pytest.mark.parametrize("make_service", [MAKE_SERVICE], indirect=True)
TOKEN = "11111111-2222-4333-8444-555555555555"


async def over(ask, ident):
    """The transfer, once it has ended."""
    cursor = 0
    while (found := (await ask("GET", f"transfers/{ident}")).json)["state"] not in ("succeeded", "failed", "cancelled"):
        page = (await ask("GET", "events", params={"after": cursor, "wait": 20})).json
        assert page["cursor"] > cursor, "nothing happened for 20 s"
        cursor = page["cursor"]
    return found


@REAL
async def test_a_transfer_is_planned_begun_once_followed_and_done_again(started, ask, tmp_path):
    source, there = tmp_path / "a file", tmp_path / "there"
    source.write_bytes(b"x" * 4096)
    ends = {"source": str(source), "destination": f"home:{there}"}
    plan = await ask("GET", "transfers/plan", params=ends)
    assert (plan.json["mover"], plan.json["rate"]) == ("copy", None)
    assert plan.json["why"]
    assert not there.exists()

    made = await ask("POST", "transfers", form={"client_token": TOKEN, **ends})
    assert made.code == 201
    same = await ask("POST", "transfers", form={"client_token": TOKEN, **ends})
    assert same.json["id"] == made.json["id"]
    done = await over(ask, made.json["id"])
    assert (done["state"], done["progress"]["bytes_sent"], there.read_bytes()) == ("succeeded", 4096, b"x" * 4096)

    again = await ask("POST", f"transfers/{done['id'][:6]}/again", form={})
    assert again.code == 201
    assert (await over(ask, again.json["id"]))["progress"]["bytes_sent"] == 0
    listed = (await ask("GET", "transfers", params={"active": "false"})).json["transfers"]
    assert [each["id"] for each in listed] == [again.json["id"], made.json["id"]]
    assert (await ask("GET", "transfers", params={"active": "true"})).json["transfers"] == []
    ended = await ask("POST", f"transfers/{done['id']}/cancel", form={})
    assert ended.json["state"] == "succeeded"


@REAL
async def test_what_cannot_be_moved_is_told_at_once_and_with_the_path(started, ask, tmp_path):
    form = {"client_token": TOKEN, "source": f"{tmp_path}/none", "destination": f"{tmp_path}/there"}
    missing = await ask("POST", "transfers", form=form)
    assert (missing.code, missing.json["code"]) == (409, "data")
    assert f"{tmp_path}/none" in missing.json["message"]
    nowhere = await ask("POST", "transfers", form={**form, "destination": "detla:/x"})
    assert nowhere.code == 400
    assert "there is no site 'detla'" in nowhere.json["message"]
    bad = await ask("POST", "transfers", form={"source": "/x"}, good=False)
    assert "client_token" in bad.json["message"]
    assert (await ask("GET", "transfers/x0000")).code == 404
    assert (await ask("GET", "transfers")).json == {"transfers": []}


@REAL
async def test_data_gets_a_name_another_copy_and_loses_it_without_losing_a_file(started, ask, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "a.npy").write_bytes(b"1" * 1000)
    (folder / "b.npy").write_bytes(b"2" * 24)
    made = await ask("POST", "data", form={"name": "set", "location": f"home:{folder}", "note": "two arrays"})
    assert made.code == 201
    assert (made.json["size"]["bytes"], made.json["size"]["files"], made.json["note"]) == (1024, 2, "two arrays")
    (copy,) = made.json["replicas"]
    assert (copy["given"], copy["state"]) == (True, "here")
    assert [each["name"] for each in (await ask("GET", "data")).json["data"]] == ["set"]

    listing = (await ask("GET", "data/set/listing", params={"site": "home"})).json
    assert [(each["path"], each["bytes"]) for each in listing["files"]] == [("a.npy", 1000), ("b.npy", 24)]
    assert (await ask("GET", "data/set/listing", params={"site": "here"})).code == 404
    (folder / "b.npy").unlink()
    seen = (await ask("POST", "data/set/check", form={})).json
    assert seen["size"]["files"] == 1
    gone = await ask("POST", "data", form={"name": "set", "location": f"here:{tmp_path}/none"})
    assert [each["state"] for each in (await ask("GET", "data/set")).json["replicas"]] == ["here", "missing"]
    assert gone.code == 201
    own = await ask("POST", "data/set/drop", form={"location": f"home:{folder}", "listing": "sha256:0"})
    assert (own.code, "not deleted" in own.json["message"]) == (400, True)
    assert (await ask("DELETE", "data/set")).json["name"] == "set"
    assert (folder / "a.npy").exists()
    assert (await ask("GET", "data/set")).code == 404
    assert json.loads((await ask("GET", "data")).body) == {"data": []}
