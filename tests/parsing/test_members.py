"""What --array and --sweep may say, and what each point then is."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.parsing.members import parse_array, parse_sweep, ranges

NUMBERS = st.sets(st.integers(0, 5000), min_size=1, max_size=200)


@pytest.mark.parametrize(("said", "numbers", "at_once"), [
    ("0-3", (0, 1, 2, 3), None), ("1,3,7-9", (1, 3, 7, 8, 9), None), ("0-9:2", (0, 2, 4, 6, 8), None),
    ("0-99%10", tuple(range(100)), 10), ("5", (5,), None), ("3,1,1-3", (1, 2, 3), None), ("1, 3", (1, 3), None),
])  # fmt: skip
def test_an_array_is_written_as_slurm_takes_it(said, numbers, at_once):
    assert parse_array(said) == (numbers, at_once)


@pytest.mark.parametrize(("said", "sentence"), [
    ("", "not a list of numbers"), ("0-", "not a list of numbers"), ("a-b", "not a list of numbers"),
    ("-1", "not a list of numbers"), ("1,,2", "not a list of numbers"), ("9-0", "write it as 0-9"),
    ("0-9:0", "has no step"), ("0-9%0", "1 or more"), ("0-9%", "1 or more"),
    ("0-10000", "makes 10,001 members; a group has at most 10,000"), ("0-999999999", "too large a number"),
    ("10000000", "too large a number; the largest is 9,999,999"), ("0-9999,20000", "makes 10,001 members"),
])  # fmt: skip
def test_what_is_no_array_is_refused_with_a_sentence(said, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        parse_array(said)


@given(NUMBERS)
def test_numbers_written_as_ranges_are_read_back(numbers):
    assert parse_array(ranges(numbers))[0] == tuple(sorted(numbers))


@given(NUMBERS, st.integers(1, 9))
def test_a_cut_list_counts_what_it_leaves_out(numbers, most):
    said, _, left = ranges(numbers, most).partition(" and ")
    shown = parse_array(said)[0]
    assert len(shown) + int(left.split()[0].replace(",", "") if left else 0) == len(numbers)


def test_of_several_the_first_varies_slowest():
    points = parse_sweep(["lr=1e-3,1e-4", "seed=0-2"])
    assert points == [{"lr": lr, "seed": seed} for lr in (1e-3, 1e-4) for seed in (0, 1, 2)]
    assert [list(point) for point in points] == [["lr", "seed"]] * 6


@pytest.mark.parametrize(("said", "values"), [
    ("1,2,3", [1, 2, 3]), ("0-4", [0, 1, 2, 3, 4]), ("0-10:5,20", [0, 5, 10, 20]), ("-2-1", [-2, -1, 0, 1]),
    ("-4--2", [-4, -3, -2]), ("1e-3,.5,2.,-1.5E+2", [0.001, 0.5, 2.0, -150.0]), ("1.0", [1.0]),
    ("true,False,None", [True, False, None]), ("adam,sgd", ["adam", "sgd"]), ("'a,b',\"c d\",x", ["a,b", "c d", "x"]),
    ("'1','True'", ["1", "True"]), ("''", [""]), ('"say \\"hi\\""', ['say "hi"']), ("007,2024-01", ["007", "2024-01"]),
    ("2024-01-31", ["2024-01-31"]), ("a=b", ["a=b"]), (" 1, 2 ", [1, 2]), ("1,1.0,True", [1, 1.0, True]),
    ("data/a.csv,data/b.csv", ["data/a.csv", "data/b.csv"]), ("it\"'\"s", ["it\"'\"s"]),
])  # fmt: skip
def test_values_are_numbers_truths_and_texts(said, values):
    found = [point["x"] for point in parse_sweep([f"x={said}"])]
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(("said", "sentence"), [
    (["lr="], "lists no values"), (["lr=1,,2"], "has an empty value; write '' for an empty text"),
    (["lr=1", "lr=2"], "gives lr twice, in lr=1 and in lr=2"), (["9x=1"], "'9x' is not a variable's name"),
    (["=1"], "'' is not a variable's name"), (["class=1"], "word of Python's own"), (["__name__=1"], "word of Python's own"),
    (["a=0-99", "b=0-99", "c=0,1"], "makes 20,000 members; a group has at most 10,000"),
    (["a=0-999999999999"], "makes 1,000,000,000,000 members"), (["a=9-1"], "runs backwards; write 1-9, or in quotes"),
    (["a=1,2,1"], "lists 1 twice; to run every point several times, sweep one more name: --sweep repeat=0-4"),
    (["a=nan"], "in quotes it is a text: 'nan'"), (["a=1e999"], "finite"), (["a='x"], "a quote is not closed"),
    (["a=0-9:0"], "has no step"), (["a=" + "x" * 5000], "too long to be swept"), (["runs"], "no such variable"),
    (["a b"], "says no values"), (["a='x'y'"], "a quote is not closed"),
])  # fmt: skip
def test_what_is_no_sweep_is_refused_with_a_sentence(said, sentence):
    with pytest.raises(InvalidRequest) as no:
        parse_sweep(said)
    assert sentence in no.value.message


def test_rows_of_a_variable_are_points_and_multiply_with_others():
    runs = [{"lr": 0.1, "opt": "adam"}, {"lr": 0.2, "opt": None}]
    assert parse_sweep(["runs"], {"runs": runs}) == runs
    assert parse_sweep(["runs", "seed=0-1"], {"runs": runs}) == [
        {**row, "seed": seed} for row in runs for seed in (0, 1)
    ]


def test_a_table_gives_pythons_own_values():
    table = pd.DataFrame({
        "n": [1, 2], "lr": [0.5, math.nan], "deep": [True, False], "opt": ["a", None], "k": pd.array([3, None], "Int64"),
    })  # fmt: skip
    points = parse_sweep(["runs"], {"runs": table})
    assert points == [
        {"n": 1, "lr": 0.5, "deep": True, "opt": "a", "k": 3}, {"n": 2, "lr": None, "deep": False, "opt": None, "k": None},
    ]  # fmt: skip
    assert [type(value) for value in points[0].values()] == [int, float, bool, str, int]
    assert type(parse_sweep(["runs"], {"runs": [{"a": np.int64(3)}]})[0]["a"]) is int


@pytest.mark.parametrize(("held", "sentence"), [
    (3, "`runs` is a int, not a list of dicts or a DataFrame"), ([], "is empty"), ([{}], "is empty"),
    (pd.DataFrame(), "is empty"), ([{"a": 1}, {"b": 1}], "row 1 and row 0 do not have the same names (a, b)"),
    ([{"a": [1]}], "row 0, a is a list"), ([{"a": pd.Timestamp(0)}], "is a Timestamp"), ([{1: 2}], "1 is not a variable's name"),
    ([{"a b": 2}], "'a b' is not a variable's name"), ([{"a": math.inf}], "finite"), ([{"a": "\ud800"}], "cannot be sent"),
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"), ([{"a": 1}] * 10_001, "makes 10,001 members"),
    ("ab", "is a str, not a list"), (["lr"], "not a list of dicts"),
])  # fmt: skip
def test_rows_that_cannot_be_points_are_refused_with_a_sentence(held, sentence):
    with pytest.raises(InvalidRequest) as no:
        parse_sweep(["runs"], {"runs": held})
    assert sentence in no.value.message


PLAIN = st.one_of(
    st.booleans(), st.none(), st.integers(-(10**17), 10**17), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
)  # fmt: skip


def written(value: object) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


@given(st.lists(PLAIN, min_size=1, max_size=8, unique_by=lambda v: (type(v), v)))
def test_whatever_is_written_comes_back_as_it_was(values):
    found = [point["x"] for point in parse_sweep([f"x={','.join(map(written, values))}"])]
    assert list(map(repr, found)) == list(map(repr, values))


@pytest.mark.parametrize(
    "read", [parse_array, lambda text: parse_sweep([text]), lambda text: parse_sweep([f"x={text}"])]
)
@given(text=st.text(max_size=40))
def test_any_text_is_either_read_or_refused_with_a_sentence(read, text):
    try:
        found = read(text)
    except InvalidRequest as no:
        found = no.message
    assert found
