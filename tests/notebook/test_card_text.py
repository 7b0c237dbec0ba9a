"""What a card says in every state, as text and as HTML."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.jobs import NativeJob
from jupyter_diamond.model.states import ReasonClass, State
from jupyter_diamond.model.task import Attempt, Captured, Task
from jupyter_diamond.notebook.card_text import html, plain, printable, tail_lines
from jupyter_diamond.notebook.card_view import KernelSide, card_view
from jupyter_diamond.notebook.vocabulary import GLYPH, LOOK, byte_size, clock, size_text, span_of_time

from .rest_server import Pool

NOW = datetime(2026, 11, 30, 14, 30, tzinfo=timezone.utc)
EVIL = "<script>alert('x')</script>&\"\x1b[31m\x00"


def task(state: State, *, task: dict | None = None, **attempt) -> Task:
    base = {
        "n": 1, "token": "dmd-aaaaaaaa", "site": "delta", "partition": "gpuA100x4", "native": NativeJob(id="812345"),
        "size": Size(nodes=2, gpus=4, walltime_s=240), "state": state, "created_at": NOW - timedelta(minutes=9), "state_since": NOW,
    }  # fmt: skip
    fields = {
        "id": "t1", "name": "fit", "language": "python", "state": state, "phase": state.phase, "outcome": state.outcome,
        "created_at": NOW - timedelta(minutes=9), "source": "", "digest": "", "envelope": Envelope(),
        "why_here": "starts soonest of 5 feasible", "attempts": (Attempt(**{**base, **attempt}),), **(task or {}),
    }  # fmt: skip
    return Task(**fields)


def test_the_text_of_an_ended_card_is_its_first_and_its_last_line():
    ended = task(State.COMPLETED, started_at=NOW - timedelta(seconds=41), ended_at=NOW)
    assert plain(card_view(ended, now=NOW, here=KernelSide(bound=("model", "scores")))) == (
        "fit   ✓ succeeded on delta:gpuA100x4 · job 812345 · 2 nodes \u00d7 1 core, 4 GPUs · 00:41 · model, scores in the kernel\n"
        "why here: starts soonest of 5 feasible"
    )


def test_an_ended_card_says_what_it_cost():
    cost = Charge(unit="GPU-hour", predicted=4.0, at_most=4.0, actual=0.5, settled_at=NOW)
    times = {"started_at": NOW - timedelta(seconds=41), "ended_at": NOW}
    view = card_view(task(State.COMPLETED, charge=cost, **times), now=NOW)
    assert " · 00:41 · 0.5 GPU-hours\n" in plain(view)
    assert "0.5 GPU-hours, 4 GPU-hours predicted" in html(view)
    live = card_view(task(State.RUNNING, charge=cost.model_copy(update={"actual": None, "settled_at": None})), now=NOW)
    assert "GPU-hours" not in plain(live)
    assert "4 GPU-hours predicted, at most 4 GPU-hours reserved" in html(live)


def test_the_card_says_which_segment_it_shows():
    view = card_view(task(State.RUNNING, segment=2, task={"healing": Healing(segments=5)}), now=NOW)
    assert "· job 812345 · segment 2 of 5 ·" in plain(view)
    assert "segment" not in plain(card_view(task(State.RUNNING), now=NOW))


def test_a_failed_card_ends_with_the_cause_and_what_to_do():
    failed = task(State.OUT_OF_MEMORY, task={"cause": "Killed for memory: asked 2 GB.", "next": "Ask for more."})
    assert plain(card_view(failed, now=NOW)).split("\n")[1] == "Killed for memory: asked 2 GB. Ask for more."


def test_an_error_s_own_words_and_what_to_do_are_two_sentences():
    failed = task(State.FAILED, task={"cause": "KeyError: 'validation'", "next": "Read its traceback."})
    assert plain(card_view(failed, now=NOW)).split("\n")[1] == "KeyError: 'validation'. Read its traceback."


def test_who_cancelled_is_said_once():
    cancelled = task(State.CANCELLED, task={"cause": "Cancelled by you.", "cancel_requested_by": "you"})
    assert html(card_view(cancelled, now=NOW)).lower().count("cancelled by you") == 1
    by_others = task(State.CANCELLED, task={"cause": "Cancelled at the site by operator."})
    assert "Cancelled at the site by operator." in html(card_view(by_others, now=NOW))


def test_a_card_that_may_still_change_carries_its_time():
    assert "as of " in plain(card_view(task(State.RUNNING, started_at=NOW), now=NOW))
    assert "as of " not in plain(card_view(task(State.CANCELLED), now=NOW))


@pytest.mark.parametrize("state", list(State))
def test_every_state_has_a_mark_a_tone_and_a_word(state):
    view = card_view(task(state), now=NOW)
    assert view["glyph"] == GLYPH[LOOK[state].mark]
    assert view["tone"] == LOOK[state].tone
    assert view["word"]
    assert f'data-state="{state.value}"' in html(view)


def test_why_a_job_waits_is_said_by_class():
    mine = card_view(task(State.PENDING, reason="AssocMaxJobsLimit", reason_class=ReasonClass.WAITS_ON_YOU), now=NOW)
    assert mine["sentence"] == "waits on you: delta says AssocMaxJobsLimit"
    soon = card_view(
        task(
            State.PENDING,
            reason="Priority",
            reason_class=ReasonClass.WILL_RUN,
            expected_start_at=NOW + timedelta(minutes=10),
        ),
        now=NOW,
    )
    assert soon["sentence"] == ""
    assert soon["timing"].startswith("starts in about 10 min, says delta · will run (Priority)")


def test_a_forecast_that_has_passed_is_not_shown():
    late = card_view(task(State.PENDING, expected_start_at=NOW - timedelta(minutes=1)), now=NOW)
    assert "starts in" not in late["timing"]


def test_a_result_that_overtakes_the_scheduler_is_not_called_a_success():
    view = card_view(task(State.RUNNING, started_at=NOW), now=NOW, here=KernelSide(result_here=True))
    assert view["word"] == "finishing, the result is here"
    assert view["state"] == "completing"
    assert not view["ended"]


def test_trouble_at_the_site_is_shown_while_the_task_lives_only():
    trouble = "delta did not answer for 4 min."
    assert card_view(task(State.UNKNOWN, trouble=trouble), now=NOW)["trouble"] == trouble
    assert card_view(task(State.COMPLETED, trouble=trouble), now=NOW)["trouble"] == ""


def test_foreign_text_never_becomes_markup():
    evil = task(
        State.FAILED, partition=EVIL, nodes=EVIL, raw_state=EVIL, folder=EVIL, evidence=(EVIL,),
        task={"cause": EVIL, "next": EVIL, "why_here": EVIL, "captured": (Captured(name=EVIL, type=EVIL, travels="value", detail=EVIL),)},
    )  # fmt: skip
    made = html(card_view(evil, now=NOW, here=KernelSide(bound=(EVIL,), note=EVIL, outage=EVIL)), log=EVIL)
    assert "<script" not in made
    assert "\x1b" not in made
    assert "\x00" not in made
    assert made.count("&lt;script&gt;") > 8


def test_the_chosen_candidate_comes_first_and_refusals_carry_their_reason():
    decision: Decision = Pool().plan(Envelope())
    rows = card_view(task(State.RUNNING), now=NOW, decision=decision)["candidates"]
    assert [(row["place"], row["starts"]) for row in rows] == [
        ("delta:gpuA100x4", "now"), ("delta:cpu", "after 14 others"), ("vista:gh", "not here"),
    ]  # fmt: skip
    assert rows[0]["chosen"]
    assert rows[2]["reason"] == "its limit is 30 min, and you asked for more."


def test_a_candidate_that_would_do_says_where_it_stood():
    rows = card_view(task(State.RUNNING), now=NOW, decision=Pool().plan(Envelope()))["candidates"]
    assert [row["reason"] for row in rows[:2]] == ["chosen", "feasible, rank 2"]


def test_a_simulated_site_says_so():
    decision = Pool().plan(Envelope())
    simulated = tuple(c.model_copy(update={"simulated": True}) for c in decision.candidates)
    view = card_view(task(State.RUNNING), now=NOW, decision=decision.model_copy(update={"candidates": simulated}))
    assert "simulated" in plain(view)
    assert "data-simulated" in html(view)


def test_terminal_escapes_and_overwritten_lines_are_taken_out():
    assert printable("\x1b[1;32mok\x1b[0m\x1b]0;title\x07 1%\r2%\x08") == "2%"
    assert printable("a\r\nb") == "a\nb"
    assert tail_lines("".join(f"{n}\n" for n in range(500)), 2) == "498\n499"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "00:00"), (41.9, "00:41"), (240, "04:00"), (3661, "1:01:01"), (90061, "1 d 01:01"), (-5, "00:00")],
)
def test_elapsed_times(seconds, shown):
    assert clock(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(12, "12 s"), (480, "8 min"), (5400, "1 h 30 min"), (7200, "2 h"), (3 * 86400, "3 d")]
)
def test_durations_in_words(seconds, shown):
    assert span_of_time(seconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 B"), (512, "512 B"), (1536, "1.5 KB"), (2 << 30, "2 GB"), (150 << 20, "150 MB")]
)
def test_sizes(count, shown):
    assert byte_size(count) == shown


def test_what_was_asked_for():
    assert size_text(Size(cpus=4, memory_bytes=2 << 30, walltime_s=1)) == "4 cores, 2 GB"
    assert size_text(Size(nodes=2, gpus=4, walltime_s=1)) == "2 nodes \u00d7 1 core, 4 GPUs"
