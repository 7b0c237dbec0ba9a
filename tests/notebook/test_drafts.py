"""Drafts in a real kernel: which code they are about, what they show, and that nothing is sent."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.notebook.drafts import drafted_cell, foot_text, sizes_of
from jupyter_diamond.notebook.options import draft_parser, given_options, parse_submit
from tests.agent.drafting.test_rules import drafted

CODE = "from joblib import Parallel\ndone = Parallel(n_jobs=6)(work)"


@pytest.mark.parametrize(("cells", "code"), [
    ([CODE, "%diamond draft"], CODE),
    ([CODE, "", '%diamond draft -d "two GPUs"'], CODE),
    (["x = 1", CODE, "%diamond sites", "%diamond draft"], CODE),
    ([CODE, f"%diamond draft\n{'y = 2'}"], "y = 2"),
    ([f"%%diamond_submit fit --cpus 2\n{CODE}", "%diamond draft"], CODE),
    ([CODE], CODE),  # the line itself is not kept
])  # fmt: skip
def test_a_draft_is_about_the_code_below_it_else_about_the_cell_before(cells, code):
    assert drafted_cell(cells).strip() == code


def test_without_any_code_words_will_do_and_nothing_will_not():
    assert drafted_cell(["%diamond draft -d 'two GPUs'"], words="two GPUs") == ""
    with pytest.raises(InvalidRequest, match="There is no code to draft for"):
        drafted_cell(["%diamond draft"])


def test_only_what_was_set_counts_as_given():
    said = draft_parser().parse_args(["--cpus", "2", "--preemptible", "-d", "two words"])
    assert given_options(said) == {"cpus": "2", "preemptible": ""}
    options = parse_submit('fit --draft=go -d "two GPUs" --time 2h --no-model')
    assert (options.draft, options.words, options.model, options.given) == ("go", "two GPUs", False, {"time": "2h"})
    assert parse_submit("fit --draft").draft == "show"
    loose = parse_submit("fit --draft -d two A100s, at most 4 hours --cpus 2")
    assert (loose.words, loose.given) == ("two A100s,at most 4 hours", {"cpus": "2"})
    assert parse_submit("fit").draft == ""


@pytest.mark.parametrize(("line", "words"), [
    ("fit -d words", "add --draft to see one"),
    ("fit --draft=maybe", "--draft cannot be 'maybe'; choose one of show, go"),
])  # fmt: skip
def test_a_wrong_line_is_told(line, words):
    with pytest.raises(InvalidRequest, match=words):
        parse_submit(line)


def test_files_that_are_here_have_a_size(tmp_path):
    (tmp_path / "here.csv").write_bytes(b"x" * 1000)
    code = 'import pandas as pd\npd.read_csv("here.csv"); pd.read_csv("not_here.csv"); pd.read_csv("https://x/y.csv")'
    assert sizes_of(code, folder=tmp_path) == {"here.csv": 1000}


def test_refusals_of_one_reason_are_one_line():
    found = drafted("two GPUs").model_copy(update={"refusals": tuple(f"s:p{n}: It has no GPU." for n in range(6))})
    assert "- s:p0, s:p1, s:p2, s:p3 and 2 more: It has no GPU." in foot_text(found, "%%diamond_submit NAME")


def shown(ran) -> str:
    return "\n".join(each["data"].get("text/plain", "") for each in ran.displays)


def test_a_draft_of_the_cell_before_shows_reasons_and_the_line_to_paste(asking_kernel, asked_only):
    asking_kernel.ok("rows = list(range(10))\ndef work(row):\n    return row * 2")
    asking_kernel.run("from joblib import Parallel\nParallel(n_jobs=6)(work(row) for row in rows)")
    text = shown(asking_kernel.ok('%diamond draft --time 2h -d "at most 4 hours on delta"'))
    assert "%%diamond_submit NAME --cpus 6 --time 2h --site delta" in text
    assert "“at most 4 hours” asks for --time 4h, and --time 2h was given, which was kept." in text
    assert "n_jobs=6" in text
    assert "Nothing was sent." in text
    asked = asked_only.pool.drafts[-1]
    assert (asked.given, asked.words) == ({"time": "2h"}, "at most 4 hours on delta")
    assert "def work(row):" in asked.code
    assert asked.digest is not None
    assert asked.cell.startswith("from joblib import Parallel")


def test_a_draft_above_its_code(asking_kernel, asked_only):
    text = shown(asking_kernel.ok('%%diamond draft -d "one GPU"\nprint(x)'))
    assert "%%diamond_submit NAME --cpus 4 --gpus 1" in text
    assert asked_only.pool.drafts[-1].code.endswith("print(x)\n")
    ran = asking_kernel.run("%%diamond sites\nprint(x)")
    assert "%%diamond sites has no use for the code below it" in ran.everything


def test_submit_draft_sends_nothing(asking_kernel, asked_only):
    text = shown(
        asking_kernel.ok(
            "%%diamond_submit fit --draft --memory 2G\nfrom joblib import Parallel\nz = Parallel(n_jobs=3)"
        )
    )
    assert "%%diamond_submit fit --cpus 3 --memory 2G" in text
    assert asked_only.pool.tasks == {}
    assert asking_kernel.ok("print('fit' in globals())").stdout == "False\n"


def test_submit_draft_go_sends_what_was_drafted(kernel, rest):
    ran = kernel.ok(
        "%%diamond_submit fit --draft=go -d 'at most 4 hours'\nfrom joblib import Parallel\nz = Parallel(n_jobs=3)"
    )
    assert "It is sent with these options." in shown(ran)
    request = rest.pool.requests[rest.pool.named("fit").id]
    asked, envelope = rest.pool.drafts[-1], request.envelope
    assert (asked.cell, asked.digest) == (request.source, request.digest)
    assert (envelope.cpus.max, envelope.walltime_s.max) == (3, 4 * 3600)
