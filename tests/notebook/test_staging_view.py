"""What a card says of data on its way to a site, and away from it."""

from __future__ import annotations

from datetime import timedelta

from jupyter_diamond.model.data import Location, Staged
from jupyter_diamond.model.states import State
from jupyter_diamond.notebook.card_text import html, plain
from jupyter_diamond.notebook.card_view import KernelSide, card_view

from .test_card_text import EVIL, NOW, task
from .test_data_words import a_transfer


def drawn(state, *transfers, **attempt):
    told = {each.id: each for each in transfers}
    return card_view(task(state, native=None, **attempt), now=NOW, here=KernelSide(transfers=told))


def staged(*names, transfer="4f2a91cc77"):
    return tuple(Staged(name=name, path=f"/scratch/{name}", transfer=transfer) for name in names)


def test_a_task_whose_data_is_on_its_way_shows_how_far_that_is():
    view = drawn(State.STAGING_IN, a_transfer(), staged=staged("imagenet"))
    assert plain(view).splitlines() == [
        "fit   → staging in to delta:gpuA100x4 · 2 nodes \u00d7 1 core, 4 GPUs · as of " + view["as_of"],
        "→ imagenet  ▮▮▮▮▯▯▯▯▯▯▯▯▯▯▯▯▯▯▯▯  31 GB of 145 GB · 88 MB/s · about 22 min left",
    ]
    assert "31 GB of 145 GB" in html(view)


def test_what_was_there_is_said_and_one_transfer_of_two_names_is_shown_once():
    both = (*staged("imagenet", "labels"), *staged("words", transfer=None))
    view = drawn(State.STAGING_IN, a_transfer(), staged=both)
    assert [(row["what"], row["word"], row["text"]) for row in view["staging"]] == [
        ("imagenet", "", "31 GB of 145 GB · 88 MB/s · about 22 min left"),
        ("words", "was there", "/scratch/words"),
    ]


def test_what_needs_the_user_has_its_sentence_and_a_web_page_and_nothing_else():
    stuck = a_transfer("needs_you", trouble=f"Globus wants your consent. {EVIL}", link="https://auth.globus.org/x")
    view = drawn(State.STAGING_IN, stuck, staged=staged("imagenet"))
    (row,) = view["staging"]
    assert (row["tone"], row["word"], row["link"]) == ("warning", "needs you", "https://auth.globus.org/x")
    assert plain(view).endswith("https://auth.globus.org/x")
    assert "<script" not in html(view)
    other = stuck.model_copy(update={"link": "javascript:alert(1)"})
    assert drawn(State.STAGING_IN, other, staged=staged("imagenet"))["staging"][0]["link"] == ""


def test_files_that_are_brought_away_say_where_to_and_the_job_is_not_over():
    home = Location(kind="home", path="/results")
    out = a_transfer(request={"purpose": "stage_out", "dataset": None, "destination": home})
    view = drawn(State.STAGING_OUT, out, staged_out=("4f2a91cc77",), job_state=State.COMPLETED)
    assert (view["word"], view["ended"]) == ("staging out", False)
    assert view["staging"][0]["what"] == "imagenet to home:/results"
    here = KernelSide(result_here=True, transfers={out.id: out})
    result_came = card_view(task(State.STAGING_OUT, staged_out=(out.id,)), now=NOW, here=here)
    assert result_came["word"] == "staging out"


def test_nothing_is_said_of_it_once_the_job_waits_or_has_ended():
    for state in (State.PENDING, State.RUNNING, State.COMPLETED):
        times = {"started_at": NOW - timedelta(seconds=9), "ended_at": NOW}
        assert drawn(state, a_transfer(), staged=staged("imagenet"), **times)["staging"] == []
