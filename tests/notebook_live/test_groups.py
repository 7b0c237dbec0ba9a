"""Arrays and sweeps in a notebook, on a real server: what is typed, what is seen, what comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .notebook import Notebook, until

EXAMPLES = Path(__file__).parents[2] / "example_notebooks"
SWEEP = "fit --sweep lr=0.5,2 --sweep seed=0-1 --out score"
CELL = "if lr > 1 and seed == 1:\n    raise ValueError(f'no lr of {lr}')\nscore = lr * 10 + seed"


@pytest.fixture(scope="module")
def swept(nb: Notebook) -> Notebook:
    """A sweep of four that has ended; one of its members failed."""
    nb.run("lr, scale = 'of the notebook', 3")
    nb.ran = nb.submit(SWEEP, CELL)
    return nb


def test_a_sweep_runs_each_point_and_says_so_on_one_card(swept):
    (card,) = {each.split("\n")[0].split("   ")[0] for each in swept.ran.cards}
    assert card == "fit"
    last = swept.ran.cards[-1]
    assert "4/4" in last
    assert "3 succeeded, 1 failed" in last
    assert "1 of 4 failed: 3." in last
    assert "no lr of 2" in last


def test_results_are_a_table_with_a_row_a_member(swept):
    table = json.loads(swept.value("fit.results().to_json(orient='table')"))
    rows = {row["member"]: row for row in table["data"]}
    assert [(rows[n]["lr"], rows[n]["seed"], rows[n]["score"]) for n in range(4)] == [
        (0.5, 0, 5.0), (0.5, 1, 6.0), (2.0, 0, 20.0), (2.0, 1, None),
    ]  # fmt: skip
    assert [rows[n]["state"] for n in range(4)] == ["succeeded"] * 3 + ["failed"]
    assert "no lr of 2" in rows[3]["cause"]
    assert all(rows[n]["ran s"] is not None for n in range(4))
    assert swept.value("list(fit.failed.index)") == [3]


def test_a_handle_counts_and_gives_its_members(swept):
    assert swept.value("[len(fit), fit.states, fit.state]") == [4, {"completed": 3, "failed": 1}, "failed"]
    assert swept.value("[fit[2].result(), fit[2].name, [t.name for t in fit]]") == [
        20.0, "fit[2]", [f"fit[{n}]" for n in range(4)],
    ]  # fmt: skip
    assert swept.value("lr") == "of the notebook", "what a member returns is no variable of the notebook"
    assert "has no member 9 that has begun; it has 0-3." in swept.fails("fit[9]").error


def test_its_story_and_its_row_tell_it_as_one(swept):
    story = swept.run("%diamond task fit").text
    assert "1 of 4 failed: 3." in story
    assert "4 members were asked for" in story
    assert "all of it has ended" in story
    listed = swept.run("print(diamond.tasks(name='fit')[['state']].to_string())").text
    assert "ended 4/4" in listed
    assert "group.ended" in swept.run("%diamond events fit").text
    assert "%diamond logs fit[3]" in swept.fails("%diamond logs fit").error
    assert "no lr of 2" in swept.run("%diamond logs fit[3]").text
    assert "score" in swept.run("%diamond result fit").text


def test_it_is_found_again_with_all_that_it_returned(swept):
    swept.run(
        "from jupyter_diamond.notebook import session\nsession.end()\n%reload_ext jupyter_diamond"
    )  # as a restarted kernel
    assert swept.value("[len(diamond.task('fit')), diamond.task('fit[1]').result()]") == [4, 6.0]
    assert swept.value("list(diamond.task('fit').results()['score'].fillna(-1))") == [5.0, 6.0, 20.0, -1.0]


def test_a_dry_run_shows_the_members_and_what_they_stand_in_for(nb):
    nb.run(
        "lr, runs = 'own', [{'lr': 1, 'opt': 'adam'}, {'lr': 2, 'opt': None}]\nimport pandas; pandas.options.display.max_colwidth = None\npandas.options.display.width = 200"
    )
    said = nb.run("%%diamond_submit attempt --sweep runs --first 1 --at-once 2 --dry-run\nprint(lr, opt)").text
    assert "2 members, at most 2 at once at a site, the first 1 now, the rest when these have ended well." in said
    assert "adam" in said
    assert "the notebook's own `lr` stays here" in said


def test_the_rest_of_an_array_begins_when_the_first_have_ended_and_a_shell_has_its_number(nb):
    nb.submit("steps --array 3,5 --lang bash --first 1", 'echo "number $index"', seconds=90)
    assert nb.value("[list(steps.results()['state']), steps.group.round]") == [["succeeded", "succeeded"], 2]
    assert "number 5" in nb.value("str(steps[5].logs())")
    assert "round 2 began" in nb.value("str(steps.timeline())")


def test_what_cannot_be_a_group_is_refused_before_anything_is_sent(nb):
    assert nb.refused("no --array 0-3 --sweep x=1").startswith("--array and --sweep do not go together")
    assert nb.refused("no --sweep x=1,2 --in x", "print(x)").startswith("--in names `x`, which each member is given")


def test_a_group_is_cancelled_as_one_and_wakes_who_waits_for_it(nb):
    nb.run("%%diamond_submit many --array 0-2\nimport time; time.sleep(60); print(index)")
    nb.run(
        "heard = []\nmany.on('quorum', lambda news: heard.append('one'), ended=1)\nmany.on_end(lambda news: heard.append(news.name))"
    )
    assert "a quorum of 9 would never be there" in nb.fails("many.on('quorum', print, well=9)").error
    nb.run("%diamond cancel many[1]")
    until(lambda: nb.value("many[1].state") == "cancelled", what="the end of one member")
    assert nb.value("many.wait(0.1)") is False
    nb.run("%diamond cancel many")
    assert nb.value("many.wait(60)") is True
    assert nb.value("many.states") == {"cancelled": 3}
    assert "cancelled by you" in nb.value("repr(many)")
    until(lambda: sorted(nb.value("heard")) == ["many", "one"], what="the news of the group")


def test_the_example_notebook_runs_and_its_tables_say_what_happened(nb):
    cells = json.loads((EXAMPLES / "02_sweep.ipynb").read_text())["cells"]
    shown = [nb.run("".join(cell["source"])).text for cell in cells if cell["cell_type"] == "code"]
    assert nb.value("[len(table), list(table['step'])]") == [4, [0.5, 0.5, 2.0, 2.0]]
    assert nb.value("checked.failed.index.tolist()") == [1]
    assert "a walk needs steps" in shown[-2]
