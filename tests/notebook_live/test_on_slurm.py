"""The same user on real Slurm clusters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.jupyter import JupyterServer
from tests.live.slurm import Testbed

from .notebook import Notebook, until

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def pool(testbed: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    base = tmp_path_factory.mktemp("pool")
    sites = testbed.sites_yaml(base / "sites.yaml", base / "wörk dir")
    with JupyterServer(base, notebooks=base / "note books", sites=sites) as server:
        yield Notebook(server, "on slurm.ipynb")


def test_a_cell_comes_back_from_each_cluster(pool):
    for site in ("delta", "anvil", "vista"):
        ran = pool.submit(
            f"on_{site} --site {site} --time 5m --out where", "import os\nwhere = os.environ['SLURM_CLUSTER_NAME']"
        )
        assert pool.value("where") == site
        assert f"✓ succeeded on {site}" in ran.cards[0]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fit --site delta:nope", "delta cannot run this. delta:nope: it has no partition nope: choose one of "),
        ("fit --site 'delta:cpu; touch owned'", "delta cannot run this. delta:cpu; touch owned: it has no partition"),
        ("fit --site delta --time 99d", "delta cannot run this. delta:"),
        ("fit --cpus 4000", "No site can run this. "),
    ],
)
def test_what_no_partition_can_do_is_told_before_anything_is_sent(pool, line, sentence):
    said = pool.refused(line)
    assert said.startswith(sentence), said


@pytest.mark.parametrize("account", ["no_such_account", "a\nb", "x --uid=0", "$(touch owned)", "a'b"])
def test_a_wrong_account_is_refused_in_words_whoever_sent_it(pool, account, tmp_path):
    """A client that is not our magic may send anything."""
    code = (
        "from jupyter_diamond.notebook import submit as s\nfrom jupyter_diamond.model.envelope import Envelope, Span\n"
        "old = s._request\n"
        "def changed(*a):\n"
        "    r = old(*a)\n"
        f"    return r.model_copy(update={{'envelope': r.envelope.model_copy(update={{'account': {account!r}}})}})\n"
        "s._request = changed\n"
        "try:\n    get_ipython().run_cell_magic('diamond_submit', 'odd --site anvil --time 5m --again --wait', 'print(1)')\n"
        "finally:\n    s._request = old"
    )
    said = pool.fails(code).error
    assert said.startswith("UsageError: anvil cannot run this. anvil:"), said
    assert f"you have no account {account} there" in said
    assert not list(pool.server.base.rglob("owned"))


def test_a_stopped_controller_is_told_and_nothing_is_lost(pool, testbed, tmp_path):
    gate = tmp_path / "gate"
    pool.run(
        "%%diamond_submit kept --site delta --time 5m --out v\nimport pathlib, time\n"
        f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.1)\nv = 5"
    )
    until(lambda: pool.value("kept.state.value") == "running", 30, "the job runs")
    testbed.stop_controller("delta")
    gate.touch()
    assert pool.run("kept.result(timeout=30)").text == "5"  # the file is there whatever the scheduler says
    assert "finishing, the result is here" in pool.run("print(repr(kept))").text
    testbed.start_controller("delta")
    assert pool.value("kept.wait(60)") is True
    assert "✓ succeeded on delta" in pool.run("print(repr(kept))").text


def test_cancelling_says_who(pool):
    pool.run("%%diamond_submit ends --site anvil --time 5m\nimport time; time.sleep(60)")
    until(lambda: pool.value("ends.state.value") == "running", 30, "the job runs")
    pool.run("ends.cancel()")
    assert pool.value("ends.wait(40)") is True
    assert "cancelled by you on anvil" in pool.run("print(repr(ends))").text
    assert pool.fails("ends.result()").error.startswith("ResultUnavailable: ends returned nothing. Cancelled by you.")
