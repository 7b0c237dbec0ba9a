"""The options of groups in a %%diamond_submit line: members, rounds, how many at once; and what does not go together."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.notebook.options import parse_submit
from jupyter_diamond.notebook.sweep import Sweep, shell_words


def points(line: str, **variables) -> list[dict]:
    sweep = parse_submit(f"fit {line}", variables=variables).sweep
    return [] if sweep is None else [member.params for member in sweep.members]


def test_without_members_it_is_one_task():
    assert parse_submit("fit --cpus 2").sweep is None


def test_an_array_gives_each_member_its_index():
    sweep = parse_submit("fit --array 3,7-8%2").sweep
    assert [(member.index, member.params, member.round) for member in sweep.members] == [
        (3, {"index": 3}, 1), (7, {"index": 7}, 1), (8, {"index": 8}, 1),
    ]  # fmt: skip
    assert (sweep.at_once, sweep.next_round) == (2, "ok")


def test_the_first_are_sent_and_the_rest_is_a_round_of_its_own():
    sweep = parse_submit("fit --sweep x=0-3 --first 1 --next-round ended --at-once 2").sweep
    assert [member.round for member in sweep.members] == [1, 2, 2, 2]
    assert sweep == Sweep(sweep.members, 2, "ended")


@pytest.mark.parametrize(("line", "values"), [
    ("--sweep x='a,b',c", ["a,b", "c"]), ('--sweep x="a b",c --wait', ["a b", "c"]), ("--sweep 'x=\"a,b\",c'", ["a,b", "c"]),
    ("--sweep x=1, 2, -3 --in y", [1, 2, -3]), ("--sweep=x=1,2", [1, 2]), ('--sweep "x=1, 2"', [1, 2]),
    ("--sweep x='1','2'", ["1", "2"]),
])  # fmt: skip
def test_quotes_of_a_shell_and_those_of_values_do_not_get_in_each_other_s_way(line, values):
    assert [point["x"] for point in points(line)] == values


def test_rows_come_from_the_notebook():
    assert points("--sweep runs", runs=[{"a": 1}, {"a": 2}]) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize(("line", "sentence"), [
    ("--array 0-3 --sweep x=1", "--array and --sweep do not go together: the members of a sweep are numbered from 0."),
    ("--at-once 2", "--at-once is for several members; say which with --array 0-99 or --sweep lr=1,2."),
    ("--first 2", "--first is for several members"), ("--next-round ok", "--next-round is for several members"),
    ("--array 0-3 --first 4", "--first 4 leaves none for later: there are 4 members."),
    ("--array 0-3 --first 0", "--first '0' is not a number of members; write a whole number from 1 to 10,000."),
    ("--array 0-3 --next-round ok", "--next-round says when the rest is sent; say with --first 10 how many go first."),
    ("--array 0-3%2 --at-once 3", "--array says 2 at once (%2), and --at-once 3; say it once."),
    ("--array", "--array needs a value, e.g. --array 0-99."), ("-a 0-3", "has no option -a; write --array."),
    ("--array 0-3 --next-round never", "--next-round cannot be 'never'; choose one of ok, ended."),
    ("--sweep x='a", "a quote is not closed"), ("--sweep", "--sweep needs a value, e.g. --sweep lr=1e-3,1e-4."),
])  # fmt: skip
def test_what_does_not_go_together_is_refused_with_a_sentence(line, sentence):
    with pytest.raises(InvalidRequest) as no:
        parse_submit(f"fit {line}")
    assert sentence in no.value.message


@given(st.text(st.sampled_from("ab '\"\\\t-=,"), max_size=20))
def test_but_for_sweeps_words_are_those_of_a_shell(line):
    def read(how):
        try:
            return how(line)
        except ValueError:
            return "refused"

    assert read(shell_words) == read(shlex.split)
