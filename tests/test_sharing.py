"""The processes that share the tests: a group stays in one of them, the groups come first, and nothing runs twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.sharing import GROUPS, rotated

REPOSITORY = Path(__file__).parents[1]
CONFTEST = """
import os
from pathlib import Path
import pytest
from tests.sharing import Sharing, prepare
HERE = Path(__file__).parent

def pytest_xdist_make_scheduler(config, log):
    return Sharing(config, log, HERE)

def pytest_collection_modifyitems(config, items):
    prepare(items, HERE)

@pytest.fixture(scope="session")
def testbed(): ...

@pytest.fixture(scope="session")
def one_lab(): ...

@pytest.fixture(autouse=True)
def noted(request):
    with (HERE / "ran").open("a") as file:
        file.write(f"{os.getpid()} {request.node.nodeid}\\n")
"""
MODULES = {
    "test_a.py": "def test_free(): ...\ndef test_on_clusters(testbed): ...\ndef test_free_too(): ...\n",
    "test_b.py": "def test_on_clusters(testbed): ...\ndef test_in_the_lab(one_lab): ...\ndef test_free(): ...\n",
    "test_c.py": "def test_in_the_lab(one_lab): ...\ndef test_on_clusters(testbed): ...\n",
    "test_d.py": "import pytest\n@pytest.mark.parametrize('n', range(20))\ndef test_free(n): ...\n",
}


def ran(folder: Path, processes: int) -> list[tuple[str, str]]:
    """Run the modules; what each process ran, in the order of the beginnings."""
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in MODULES.items():
        (folder / name).write_text(text)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(processes), "-q", "--rootdir", str(folder), str(folder)],
        cwd=folder,
        env={**env, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.split(" ") for line in (folder / "ran").read_text().splitlines()]
    return [(pid, nodeid) for pid, nodeid in lines]


def test_a_group_and_a_module_stay_in_one_process_and_every_test_runs_once(tmp_path: Path) -> None:
    found = ran(tmp_path, 3)
    assert len(found) == len({nodeid for _, nodeid in found}) == 28
    by_group = {
        "clusters": [pid for pid, nodeid in found if "on_clusters" in nodeid],
        "lab": [pid for pid, nodeid in found if "in_the_lab" in nodeid],
        "a": [pid for pid, nodeid in found if nodeid.startswith("test_a.py::test_free")],
        "d": [pid for pid, nodeid in found if nodeid.startswith("test_d.py")],
    }
    assert {name: len(set(pids)) for name, pids in by_group.items()} == dict.fromkeys(by_group, 1)
    assert by_group["clusters"][0] != by_group["lab"][0], "two groups began in one process, and another had none"


def test_groups_begin_first_and_in_the_order_of_the_table(tmp_path: Path) -> None:
    order = [nodeid.partition("::")[2] for _, nodeid in ran(tmp_path, 1)]
    names = [name for name, _ in GROUPS]
    assert names.index("slurm by hand") < names.index("lab")
    assert order[:5] == ["test_on_clusters"] * 3 + ["test_in_the_lab"] * 2


def test_each_process_begins_to_look_for_tests_at_another_place_and_finds_them_all() -> None:
    found = [rotated(list("abcdefg"), worker, 3) for worker in range(3)]
    assert [order[0] for order in found] == ["a", "c", "e"]
    assert [sorted(order) for order in found] == [list("abcdefg")] * 3
    assert rotated([], 2, 4) == []
