"""What a group's card says: counts, places, pace, failures; as plain text, as HTML, and as a table of results."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.group import Group, GroupShare, MemberSummary
from jupyter_diamond.model.states import Outcome, Phase, State
from jupyter_diamond.notebook.card import Card
from jupyter_diamond.notebook.group_card import GROUP, html, plain
from jupyter_diamond.notebook.group_following import GroupFollowing
from jupyter_diamond.notebook.group_results import results_table
from jupyter_diamond.notebook.group_view import Seen, group_view, pace_text
from jupyter_diamond.notebook.group_watcher import group_of
from jupyter_diamond.notebook.group_words import failures, healed_text
from jupyter_diamond.notebook.publisher import Publisher

NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)


def group(**how) -> Group:
    return Group(**{
        "id": "g0", "name": "fit", "phase": Phase.RUNNING, "members": 100, "created_at": NOW - timedelta(minutes=5),
        "envelope": Envelope(), "params": ("lr",), "outputs": ("score",), "states": {State.COMPLETED: 37, State.RUNNING: 63},
        "shares": (GroupShare(site="anvil", partition="shared", running=63, ended=37),), "why_here": "it ends soonest", **how,
    })  # fmt: skip


def member(index: int, state: State = State.COMPLETED, **how) -> MemberSummary:
    return MemberSummary(**{
        "id": f"g0-{index}", "name": f"fit[{index}]", "group": "g0", "index": index, "state": state, "phase": state.phase,
        "site": "anvil", "partition": "shared", "created_at": NOW, "started_at": NOW + timedelta(seconds=4),
        "ended_at": NOW + timedelta(seconds=10), "params": {"lr": index / 10}, **how,
    })  # fmt: skip


def test_as_text_it_is_counts_and_places_then_why_it_is_there():
    assert plain(group_view(group(), now=NOW)).split("\n") == [
        f"fit   ● running 37/100 · 37 succeeded, 63 running · 37/100 anvil:shared · as of {NOW.astimezone():%H:%M}",
        "why here: it ends soonest",
    ]  # fmt: skip


def test_when_it_has_ended_its_failures_stand_below_and_it_is_not_called_failed():
    wrong = failures(
        [
            member(4, State.FAILED, cause="ValueError: <b>no</b>"),
            member(17, State.FAILED, cause="ValueError: <b>no</b>"),
        ]
    )
    over = group(phase=Phase.ENDED, outcome=Outcome.FAILED, states={State.COMPLETED: 98, State.FAILED: 2}, ended_at=NOW,
                 cause="2 of them did not end well", charges=(Charge(unit="core-hour", actual=1.5),))  # fmt: skip
    view = group_view(over, now=NOW, seen=Seen(failures=wrong))
    assert plain(view).split("\n") == [
        "fit   ✗ ended 100/100 · 98 succeeded, 2 failed · 37/100 anvil:shared · 05:00 · 1.5 core-hours",
        "2 of 100 failed: 4, 17. ValueError: <b>no</b>",
    ]
    assert "<b>no</b>" not in html(view)
    assert "&lt;b&gt;no&lt;/b&gt;" in html(view)


def test_why_the_rest_was_never_sent_is_told_beside_the_failures():
    stopped = group(phase=Phase.ENDED, outcome=Outcome.FAILED, states={State.FAILED: 10}, rounds=2, ended_at=NOW,
                    cause="Round 2 was never sent: 10 of round 1 did not end well.")  # fmt: skip
    said = plain(group_view(stopped, now=NOW, seen=Seen(failures=failures([member(1, State.FAILED, cause="no")]))))
    assert "Round 2 was never sent" in said
    assert "90 never sent" in said


@pytest.mark.parametrize(("samples", "said"), [
    ([], ""), ([(0, 5)], ""), ([(0, 0), (10, 2)], ""), ([(0, 0), (60, 12)], "12 a minute, about 7 min left"),
    ([(0, 40), (10, 60)], "2 a second, about 20 s left"), ([(0, 0), (7200, 3)], "1.5 an hour, about 2 d 16 h left"),
    ([(0, 90), (60, 100)], ""),
])  # fmt: skip
def test_the_pace_is_that_of_what_was_seen(samples, said):
    assert pace_text(samples, 100) == said


def test_what_was_mended_is_told_with_its_numbers():
    oom, lost = (State.OUT_OF_MEMORY,), (State.OUT_OF_MEMORY, State.NODE_FAIL)
    told = healed_text(
        [
            member(4, before=oom),
            member(17, before=oom),
            member(18, before=lost),
            member(5),
            member(6, State.FAILED, before=oom),
        ]
    )
    assert told == "2 ran out of memory and ran again with more: 4, 17. 1 lost a node and ran again: 18."


def test_an_older_word_never_replaces_a_newer_one_and_the_end_wakes_who_waits():
    following, woken = GroupFollowing(group(version=5)), []
    following.on_change(lambda: woken.append(1))
    following.take_group(group(version=4, states={State.RUNNING: 100}))
    assert following.view()["progress"] == "37/100"
    following.take_outage("The Jupyter server has not answered since 12:00.")
    assert following.view()["trouble"].startswith("The Jupyter server")
    following.take_group(group(version=6, phase=Phase.ENDED, outcome=Outcome.OK, states={State.COMPLETED: 100}))
    assert following.ended.is_set()
    assert woken == [1]
    assert following.view()["trouble"] == ""


def test_an_event_of_a_member_is_one_of_its_group():
    assert [group_of(each) for each in ("task:g0-17", "group:g0", "task:t123", "site:delta")] == [
        "g0",
        "g0",
        "t123",
        "",
    ]


def test_a_card_without_a_kernel_is_printed_as_text(capsys):
    Card(Publisher(None), group_view(group(), now=NOW), slots=False, acts={}, look=GROUP).show()
    assert capsys.readouterr().out.startswith("fit   ● running 37/100")


def test_results_are_numbers_where_they_are_numbers_and_values_as_they_are():
    members = [
        member(0),
        member(1, State.FAILED, cause="ValueError: no"),
        member(2, State.PENDING, started_at=None, ended_at=None),
    ]
    paid = member(3, charges=(Charge(unit="core-hour", actual=0.5), Charge(unit="SU", predicted=2.0)))
    of = group(outputs=("score", "curve"))
    loaded = {0: ({"score": 5, "curve": [1, 2]}, ""), 3: ({"score": 7}, "`curve` did not come back: too large.")}
    table = results_table(of, [*members, paid], loaded, NOW + timedelta(seconds=30))
    assert list(table.columns) == ["lr", "state", "place", "waited s", "ran s", "charge", "cause", "score", "curve"]
    assert str(table["score"].dtype) == "Int64"
    assert table["score"].dropna().tolist() == [5, 7]
    assert table["curve"].tolist() == [[1, 2], None, None, None]
    assert table["waited s"].tolist() == [4, 4, 30, 4]
    assert table["ran s"].dropna().tolist() == [6, 6, 6]
    assert table["cause"].tolist() == ["", "ValueError: no", "", "`curve` did not come back: too large."]
    assert table.loc[3, "charge"] == "0.5 core-hours + about 2 SUs"
    assert table.index.name == "member"


def test_a_name_of_the_users_keeps_its_column():
    of = group(params=("state",), outputs=("cause",))
    table = results_table(of, [member(0, params={"state": "NY"})], {0: ({"cause": 3}, "")}, NOW)
    assert (table.loc[0, "state"], table.loc[0, "job state"], table.loc[0, "cause"]) == ("NY", "succeeded", 3)
    assert results_table(of, [], {}, NOW).empty
