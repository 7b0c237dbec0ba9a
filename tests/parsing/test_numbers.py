"""Whole numbers in foreign text: what ``int`` takes and what machines write are not the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.parsing.numbers import whole


@pytest.mark.parametrize(("text", "number"), [("0", 0), (" 42\n", 42), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_ascii_digits_are_a_number(text, number):
    assert whole(text) == number


@pytest.mark.parametrize(
    "text", [None, "", "²", "٣", "1²", "-1", "+1", "1.0", "1 2", "1_000", "0x1", "9" * 19, "9" * 5000]
)
def test_anything_else_is_none(text):
    assert whole(text) is None


@given(st.text())
def test_no_text_raises(text):
    assert whole(text) is None or whole(text) == int(text)
