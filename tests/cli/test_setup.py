"""Setting up: what doctor finds missing, and the first site catalogue."""

from __future__ import annotations

import re
import sqlite3
import stat
from pathlib import Path

import pytest

from jupyter_diamond.cli.scaffold import scaffold
from jupyter_diamond.sites.catalogue import load_catalogue
from jupyter_diamond.store import Store
from jupyter_diamond.store.glance import glance


def checks(said):
    return {check["name"]: (check["answer"], check["sentence"]) for check in said.json["checks"]}


def test_doctor_works_without_a_server_and_says_so(alone):
    said = alone("doctor", "--json")
    found = checks(said)
    assert said.status == 0
    assert found["server"][0] == "warn"
    assert "jupyter lab" in found["server"][1]
    assert [done["site"] for done in said.json["sites"]] == ["here"]
    assert {check["answer"] for check in said.json["sites"][0]["checks"]} == {"ok"}


def test_doctor_says_what_is_switched_off(alone):
    config = Path(alone.env["JUPYTER_CONFIG_DIR"]) / "jupyter_server_config.d" / "jupyter_diamond.json"
    config.write_text(config.read_text().replace("true", "false"))
    said = alone("doctor", "--json")
    assert said.status == 1
    assert checks(said)["server extension"] == (
        "fail", f"{config} switches it off: jupyter server extension enable jupyter_diamond.",
    )  # fmt: skip


def test_doctor_points_at_the_line_of_a_broken_catalogue(alone):
    path = Path(alone.env["JUPYTER_DIAMOND_SITES"])
    path.write_text("sites:\n  - name: delta\n    shceduler: slurm\n")
    said = alone("doctor", "--json")
    assert said.status == 1
    assert checks(said)["catalogue"][0] == "fail"
    assert f"{path}, line" in checks(said)["catalogue"][1]


def test_doctor_names_a_site_that_does_not_answer(alone):
    Path(alone.env["JUPYTER_DIAMOND_SITES"]).write_text(
        "sites:\n  - {name: delta, scheduler: slurm, env: {PATH: /nowhere}}\n"
    )
    said = alone("doctor", "--json")
    tried = {done["site"]: done["checks"] for done in said.json["sites"]}
    assert (said.status, tried["delta"][0]["answer"], tried["here"][0]["answer"]) == (1, "fail", "ok")


def test_a_store_is_looked_at_and_never_made(tmp_path):
    path = tmp_path / "diamond" / "store.sqlite"
    assert glance(path) == (False, "", None)
    assert not path.parent.exists()
    store = Store(path)
    assert glance(path) == (True, "", None)
    assert store.take_lease("host:1:a", at=__import__("time").time(), ttl_s=15)
    holder, left = glance(path).lease
    assert (holder, 10 < left <= 15) == ("host:1:a", True)
    store.close()


def test_a_store_of_something_else_is_told(tmp_path):
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE t (x)")
    other.close()
    assert "another program" in glance(path).problem
    path.write_bytes(b"no database at all, only some text that is long enough to be looked at as a header")
    assert "cannot be used" in glance(path).problem


def test_the_first_catalogue_is_private_and_is_written_once(alone):
    path = Path(alone.env["JUPYTER_DIAMOND_SITES"])
    assert alone("init-sites").status == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_catalogue(path, this_machine=None) == ()
    path.write_text("mine\n")
    again = alone("init-sites")
    assert (again.status, "was not touched" in again.err, path.read_text()) == (1, True, "mine\n")


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"^  # - name: (\S+)$", scaffold(), re.MULTILINE)) - {"mycluster"})
)
def test_each_machine_of_the_catalogue_loads_when_uncommented(name, tmp_path):
    text = scaffold()
    block = next(part for part in text.split("\n\n") if f"# - name: {name}\n" in part + "\n")
    lines = [line.replace("# ", "", 1) for line in block.splitlines()[1:] if line.startswith("  # ")]
    (tmp_path / "sites.yaml").write_text("sites:\n" + "\n".join(lines) + "\n")
    (site,) = load_catalogue(tmp_path / "sites.yaml", this_machine=None)
    assert (site.name, site.transport, site.machine, site.account) == (name, "ssh", name, "TODO")


def test_a_batch_script_is_read_without_a_server(alone, tmp_path):
    (tmp_path / "job.sh").write_text("#!/bin/bash\n#SBATCH -c 2 --array=1-3\nhostname\n")
    said = alone.json("import", str(tmp_path / "job.sh"))
    assert said["cell"] == "%%diamond_submit job --lang bash --cpus 2\nhostname\n"
    assert [each["fate"] for each in said["options"]] == ["kept", "unsupported"]
    assert "jupyter diamond idle --cpus 2" in alone("import", str(tmp_path / "job.sh")).out
    assert alone("import", str(tmp_path / "gone.sh")).status == 4
