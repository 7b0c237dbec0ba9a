"""Data by name and transfers as a notebook has them, and the example of data in place where there is no cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "example_notebooks"


def test_a_transfer_is_planned_begun_waited_for_and_done_again(nb):
    nb.run("from pathlib import Path\nPath('a b.bin').write_bytes(b'x' * 3000)")
    plan = nb.run("%diamond transfer './a b.bin' './there.bin' --dry-run").text
    assert plan.startswith("By a copy: ")
    assert nb.value("Path('there.bin').exists()") is False
    done = nb.run("moved = diamond.transfer('./a b.bin', './there.bin')\nmoved.wait().state").text
    assert "arrived: 2.9 KB in 1 file" in done
    assert "'succeeded'" in done
    assert nb.value("Path('there.bin').stat().st_size") == 3000
    again = nb.run("%diamond transfer again " + nb.value("moved.id")[:6]).text
    assert "from      home:" in again
    assert (
        nb.run("%diamond transfer './a b.bin' ./there.bin --wait")
        .text.splitlines()[0]
        .startswith("✓ a b.bin  arrived: nothing")
    )
    listed = nb.run("%diamond transfer").text
    assert listed.count("arrived") == 3
    assert nb.value("list(diamond.transfers(active=True).index)") == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("%diamond transfer /a", "takes two locations, from where and to where"),
        ("%diamond transfer detla:/a /b", "there is no site 'detla'"),
        ("%diamond transfer /nothing/here /b", "/nothing/here"),
        ("%diamond transfer /a /b --sync newest", "--sync cannot be 'newest'"),
        ("%diamond transfer /a /b --wiat", "did you mean --wait?"),
        ("%diamond transfer show x0000", "x0000"),
        ("%diamond data ad x /a", "did you mean add?"),
        ("%diamond data add 1x /a", "1x"),
        ("%diamond data show nothing", "nothing"),
    ],
)
def test_what_cannot_be_is_one_sentence(nb, line, sentence):
    refused = nb.fails(line)
    assert sentence in refused.error
    assert "Traceback" not in refused.text


def completed(nb, line):
    return nb.value(f"get_ipython().complete('', {line!r}, {len(line)})[1]")


def test_help_and_completion_know_both(nb):
    assert "deletes a copy that a stage-in made" in " ".join(nb.run("%diamond data ?").text.split())
    assert "--deadline TIME" in nb.run("%diamond transfer --help").text
    assert {"add", "check", "drop"} <= set(completed(nb, "%diamond data "))
    assert "here:" in completed(nb, "%diamond transfer ")
    assert "checksum" in completed(nb, "%diamond transfer /a /b --sync ")


def test_the_example_notebook_runs_on_this_machine_alone_and_moves_nothing_twice(nb):
    cells = json.loads((EXAMPLES / "03_data.ipynb").read_text())["cells"]
    shown = [nb.run("".join(cell["source"])).text for cell in cells if cell["cell_type"] == "code"]
    assert "shots  3.6 MB in 8 files" in shown[2]
    assert "shots: 3.6 MB in 8 files, at here already; nothing is moved." in shown[3]
    assert nb.value("[round(average, 3), len(list(Path('results').rglob('*.txt')))]") == [4.0, 8]
    assert "means/7.txt" in shown[6]
    assert nb.value("count") == 8
    nb.run("%diamond data remove shots")
    assert nb.value("Path('shots/7.f64').exists()") is True
    assert nb.value("len(diamond.datasets())") == 0
