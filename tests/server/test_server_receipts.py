"""Receipts, files and exports over the REST API, checked against openapi.yaml."""

from __future__ import annotations


async def test_a_receipt_is_of_the_newest_attempt_or_of_one(ask, submit, service):
    await submit()
    receipt = (await ask("GET", "tasks/fit/receipt")).json
    assert (receipt["name"], receipt["attempt"], receipt["ended"]["state"]) == ("fit", 1, "waiting")
    assert receipt["decided"]["sentence"]
    assert (await ask("GET", "tasks/fit/receipt", params={"attempt": 1})).code == 200
    gone = await ask("GET", "tasks/fit/receipt", params={"attempt": 2}, good=False)
    assert (gone.code, gone.json["message"]) == (404, "`fit` has no attempt 2; it has 1.")


async def test_files_are_listed_and_come_whole_or_in_pieces_as_downloads(ask, submit, fetch_raw, service):
    await submit()
    (listed,) = (await ask("GET", "tasks/fit/files")).json["files"]
    assert listed["ask"] == "kept/ckpt/a 1.pt"
    whole = await fetch_raw("tasks/fit/files/kept/ckpt/a%201.pt")
    assert (whole.code, whole.body) == (200, b"0123456789")
    assert whole.headers["Content-Type"] == "application/octet-stream"
    assert whole.headers["Content-Disposition"] == "attachment; filename*=UTF-8''a%201.pt"
    assert "default-src 'none'" in whole.headers["Content-Security-Policy"]
    piece = await fetch_raw("tasks/fit/files/kept/ckpt/a%201.pt?offset=8&limit=4")
    assert (piece.code, piece.body) == (200, b"89")
    assert (await fetch_raw("tasks/fit/files/job.out?offset=1")).body == b"og"


async def test_a_file_that_no_receipt_names_is_not_there(submit, fetch_raw, service):
    await submit()
    for path in ("kept/..%2Fkey", "kept/none?offset=0", "kept/", "key?offset=0"):
        assert (await fetch_raw(f"tasks/fit/files/{path}")).code == 404
    assert (await fetch_raw("tasks/fit/files/job.out?limit=99999999")).code == 400


async def test_a_task_is_exported_to_a_folder(ask, submit, service):
    await submit()
    crate = await ask("POST", "tasks/fit/crate", body=b'{"folder": "/tmp/x", "copy_bytes": 0}')
    assert (crate.code, crate.json["folder"]) == (200, "/tmp/x")
    assert (await ask("POST", "tasks/fit/crate", body=b"{}", good=False)).code == 400
