"""How a group is told: the words that cards, tables and the command line share."""

from __future__ import annotations

from datetime import datetime, timezone

from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.group import Group, GroupShare
from jupyter_diamond.model.states import Outcome, Phase, State
from jupyter_diamond.model.task import TaskSummary
from jupyter_diamond.notebook.group_words import (
    counts_text,
    failure_text,
    failures,
    numbers,
    progress,
    rounds_text,
    share_text,
    state_of,
)

NOW = datetime(2026, 11, 30, tzinfo=timezone.utc)


def group(**how) -> Group:
    return Group(**{"id": "g0", "name": "fit", "phase": Phase.RUNNING, "members": 100, "created_at": NOW,
                    "envelope": Envelope(), **how})  # fmt: skip


def ended(index: int, state: State, cause: str = "") -> TaskSummary:
    return TaskSummary(id=f"g0-{index}", name=f"fit[{index}]", group="g0", index=index, state=state, phase=Phase.ENDED,
                       cause=cause, created_at=NOW)  # fmt: skip


def test_a_group_says_how_many_have_ended_of_how_many():
    under_way = group(states={State.COMPLETED: 34, State.OUT_OF_MEMORY: 3, State.RUNNING: 60, State.PENDING: 3})
    assert progress(under_way) == "37/100"
    assert counts_text(under_way) == "34 succeeded, 60 running, 3 pending, 3 out of memory"
    assert state_of(under_way) is State.RUNNING


def test_members_of_later_rounds_are_told_and_so_is_what_was_never_sent():
    first = group(states={State.RUNNING: 10}, rounds=2)
    assert counts_text(first) == "10 running, 90 in later rounds"
    assert rounds_text(first) == "round 1 of 2"
    stopped = group(states={State.FAILED: 10}, rounds=2, phase=Phase.ENDED, outcome=Outcome.FAILED)
    assert counts_text(stopped) == "10 failed, 90 never sent"
    assert rounds_text(group()) == ""


def test_the_state_of_a_group_is_the_one_that_says_most():
    assert state_of(group(states={State.PENDING: 99, State.SUBMITTING: 1})) is State.PENDING
    assert state_of(group(states={State.COMPLETED: 37})) is State.WAITING
    assert state_of(group(phase=Phase.ENDED, outcome=Outcome.OK)) is State.COMPLETED
    assert state_of(group(phase=Phase.ENDED, outcome=Outcome.OOM)) is State.OUT_OF_MEMORY


def test_every_outcome_has_its_state():
    for outcome in Outcome:
        assert state_of(group(phase=Phase.ENDED, outcome=outcome)).outcome is outcome


def test_a_place_says_its_share_and_its_forecast_while_it_waits():
    share = GroupShare(site="anvil", partition="shared", waiting=63, ended=37, wait_s=600)
    assert share_text(share) == "37/100 anvil:shared ~10 min"
    assert share_text(share.model_copy(update={"running": 1, "waiting": 62})) == "37/100 anvil:shared"
    assert share_text(share.model_copy(update={"wait_s": None})) == "37/100 anvil:shared"


def test_failures_stand_together_by_cause_with_their_numbers_as_ranges():
    members = [
        ended(0, State.COMPLETED), ended(17, State.OUT_OF_MEMORY, "Killed for memory: peaked at 3.1 GB."),
        ended(18, State.OUT_OF_MEMORY, "Killed for memory: peaked at 2.9 GB."), ended(5, State.FAILED, "ValueError: no"),
        ended(4, State.OUT_OF_MEMORY, "Killed for memory: peaked at 3.0 GB."), ended(9, State.CANCELLED),
    ]  # fmt: skip
    assert [failure_text(each, 100) for each in failures(members)] == [
        "3 of 100 out of memory: 4, 17-18. Killed for memory: peaked at 3.1 GB.", "1 of 100 failed: 5. ValueError: no",
    ]  # fmt: skip


def test_a_long_list_of_numbers_is_cut_and_the_rest_counted():
    assert numbers(range(0, 100, 2)).endswith("20, 22 and 38 more")
