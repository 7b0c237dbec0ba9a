"""``jupyter diamond data`` and ``transfer``, as lines and as JSON."""

from __future__ import annotations

import pytest


@pytest.fixture
def shots(tmp_path):
    folder = tmp_path / "shots"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.bin").write_bytes(b"x" * 1000)
    return folder


def test_data_gets_a_name_is_looked_at_and_forgotten(cli, shots):
    assert "No data has a name yet" in cli("data").out
    made = cli("data", "add", "shots", str(shots), "--note", "three shots")
    assert made.status == 0
    assert made.out.splitlines()[0] == "shots  2.9 KB in 3 files"
    (shots / "2.bin").unlink()
    assert cli.json("data", "check", "shots")["size"]["files"] == 2
    row = cli("data").out.splitlines()[1]
    assert row.startswith("shots  1.9 KB      2  home:")
    assert cli.json("data")["data"][0]["note"] == "three shots"
    own = cli("data", "drop", "shots", "here")
    assert own.status == 4
    assert "No copy of shots lies at here; there is: home." in own.err
    assert "its files stay" in cli("data", "remove", "shots").out
    assert (shots / "1.bin").exists()
    assert cli("data", "show", "shots").status == 4


def test_a_transfer_is_waited_for_and_its_status_says_how_it_went(cli, shots, tmp_path):
    there = tmp_path / "there"
    plan = cli("transfer", str(shots), str(there), "--dry-run")
    assert plan.out.startswith("By a copy: ")
    moved = cli("transfer", str(shots), str(there), "--wait")
    assert (moved.status, len(list(there.iterdir()))) == (0, 3)
    assert "moved     2.9 KB in 3 files" in moved.out
    (found,) = cli.json("transfer")["transfers"]
    again = cli.json("transfer", "again", found["id"], "--wait")
    assert (again["state"], again["progress"]["bytes_sent"]) == ("succeeded", 0)
    missing = cli("transfer", f"{shots}/none", str(there), "--wait")
    assert (missing.status, f"{shots}/none" in missing.err) == (1, True)
    assert cli("transfer", "/a").status == 2
