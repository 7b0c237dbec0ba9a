"""The same user on real Slurm clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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


def test_what_a_job_leaves_is_named_fetched_and_exported(pool, tmp_path):
    cell = """
import os, pathlib
pathlib.Path("ckpt").mkdir()
for n in range(3):
    pathlib.Path(f"ckpt/{n}.pt").write_bytes(bytes([n]) * 5_000_000)
pathlib.Path("<b>bad<i>\\n'name'.csv").write_text("a,b")
answer = 42"""
    ran = pool.submit("leaves --site anvil --time 5m --out answer --stage-out 'ckpt/*' --stage-out '*.csv'", cell)
    assert "✓ succeeded on anvil" in ran.cards[0]
    shown = pool.run("%diamond manifest leaves")
    for said in (
        "✓ leaves succeeded, exit code 0",
        "files: 4 files, 14.3 MB",
        "answer: int 42",
        "%diamond fetch leaves",
    ):
        assert said in shown.text, shown.text
    html = "".join(str(output.get("data", {}).get("text/html", "")) for output in shown.outputs)
    assert "<b>bad" not in html
    assert "&lt;b&gt;bad&lt;i&gt;\\n" in html
    pool.run("import jupyter_diamond as diamond\nleaves = diamond.task('leaves')")
    assert pool.value("[leaves.manifest.where.site, leaves.manifest.ended.exit_code]") == ["anvil", 0]
    assert pool.value("sorted(file.kind for file in leaves.files)") == ["kept"] * 4 + ["log", "outputs", "value"]

    paths = pool.value(f"[str(path) for path in leaves.fetch('ckpt/*.pt', '*.csv', to={str(tmp_path / 'here')!r})]")
    assert [Path(path).read_bytes()[:1] for path in paths] == [b"a", b"\0", b"\1", b"\2"]
    first = [Path(path).stat().st_ino for path in paths]
    again = f"%diamond fetch leaves 'ckpt/*.pt' '*.csv' --to '{tmp_path / 'here'}'"
    assert "4 here:" in pool.run(again).text
    assert [Path(path).stat().st_ino for path in paths] == first, "nothing is sent for what is here"

    said = pool.run(f"%diamond export leaves '{tmp_path / 'crate'}' --copy 1M").text
    assert "2 files copied" in said
    assert "3 named with their digests" in said
    readme = (tmp_path / "crate" / "README.md").read_text()
    assert "at anvil" in readme

    pool.run("%%diamond_submit sweep --sweep n=1,2 --site anvil --time 5m --stage-out '*.txt' --wait\n"
             "open(f'{n}.txt', 'w').write(str(n))")  # fmt: skip
    pool.run("sweep = diamond.task('sweep')")
    fetched = pool.value(f"[str(path) for path in sweep.fetch(to={str(tmp_path / 'all')!r})]")
    names = [path.removeprefix(f"{tmp_path}/all/") for path in fetched]
    assert {"0000/1.txt", "0001/2.txt"} <= set(names), "a cluster that sees this folder runs them in it together"
    said = pool.run(f"%diamond export sweep '{tmp_path / 'both'}'").text
    assert "2 runs" in said
    assert (tmp_path / "both" / "sweep-0001" / "receipt.json").is_file()
