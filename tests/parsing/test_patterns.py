"""Patterns that a log is searched for: they find what ``re`` finds, and take no longer for a nasty line."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.parsing.patterns import LINE, Pattern

FOUND = [
    ("epoch 10", "epoch 10 of 12", True),
    ("epoch 10$", "epoch 10 of 12", False),
    ("^epoch", "  epoch", False),
    (r"epoch (\d+)/\1", None, None),
    (r"loss[:=]\s*0\.0\d+", "epoch 3 loss: 0.042", True),
    (r"loss[:=]\s*0\.0\d+", "epoch 3 loss: 0.42", False),
    (r"\bok\b", "it is ok.", True),
    (r"\bok\b", "broken", False),
    (r"\Bok", "broken", True),
    ("(?i)error", "ERROR: no", True),
    ("(?i:e)rror", "Error", True),
    ("(?i:e)rror", "eRROR", False),
    ("[^a-z ]", "abc d", False),
    ("[^a-z ]", "abc D", True),
    ("(?i)[a-c]+!", "ABC!", True),
    ("(?i)[^a-c]", "ABC", False),
    ("a{2,3}b", "ab", False),
    ("a{2,3}b", "xaab", True),
    ("^a{2,3}b", "aaaab", False),
    ("^(?:ab|cd)*$", "abcdab", True),
    ("^(?:ab|cd)*$", "abcda", False),
    ("x*?", "", True),
    ("^$", "", True),
    ("", "anything", True),
    (r"(?a)\w+é", "aé", True),
    (r"(?a)^\w+$", "aé", False),
    (r"\w+$", "größe", True),
    (r"\S+@\S+", "mail a@b now", True),
    ("a.c", "a\tc", True),
    ("(?:)*a", "a", True),
    ("(?:^)*a", "ba", True),
    ("(?:^)+a", "ba", False),
    (r"[\d.]+%", "done 99.5%", True),
    (r"[^\s\S]", "x", False),
    (r"100%\|█+\|", "100%|████| 5/5", True),
]


@pytest.mark.parametrize(("pattern", "line", "found"), [case for case in FOUND if case[1] is not None])
def test_it_finds_what_is_there(pattern, line, found):
    assert (re.search(pattern, line) is not None) is found, "the test itself agrees with Python"
    assert Pattern(pattern).search(line) is found


SIMPLE = st.recursive(
    st.sampled_from(
        ["a", "b", "ab", ".", "[ab]", "[^a]", r"\d", r"\w", r"\b", "^", "$", r"\s", r"\W", "(?:)", "(?i:A)"]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "*?", "{1,}"])).map(
            lambda of: f"(?:{of[0]}){of[1]}"
        ),
    ),
    max_leaves=6,
)


@given(SIMPLE, st.lists(st.text("abA1 _é", max_size=8), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
def test_it_agrees_with_python(pattern, lines):
    ours, theirs = Pattern(pattern), re.compile(pattern)
    for line in lines:  # several: what the first one taught must not mislead the second
        assert ours.search(line) == (theirs.search(line) is not None), line


@pytest.mark.parametrize("pattern", [
    "(a+)+$", "(a|a)*$", "(a|aa)+$", "(.*)*x", ".*.*.*.*.*=", r"(\w+\s?)*$!", "a?" * 60 + "a" * 60, "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$", "(a|b)*a(a|b){60}c",
])  # fmt: skip
def test_a_nasty_pattern_takes_a_time_that_grows_with_the_line_only(pattern):
    """Each of these keeps ``re`` busy for years."""
    ours = Pattern(pattern)
    lines = ["a" * 59 + "!", "ab" * (LINE // 2) + "!", "x" * LINE, "a " * (LINE // 2)]
    before = time.process_time()
    for line in lines:
        ours.search(line)
    assert time.process_time() - before < 5.0


def test_a_plain_pattern_is_quick():
    ours = Pattern(r"epoch\s+\d+.*loss[:=]\s*0\.0\d+")
    line = "2026-01-01 12:00:00 INFO step 1234 epoch 17 accuracy 0.93 loss: 0.52 lr 1e-3 " * 10
    ours.search(line)
    before = time.process_time()
    for _ in range(1000):
        assert not ours.search(line)
    assert len(line) * 1000 / (time.process_time() - before) > 500_000, "characters a second"


@pytest.mark.parametrize(("pattern", "why"), [
    (r"(a)\1", "a back-reference"), ("(?=a)b", "look-around"), ("(?<!a)b", "look-around"),
    ("(a)?(?(1)b|c)", "a conditional group"), ("(", "is no regular expression"), ("[z-a]", "is no regular expression"),
    ("(?:a{400}){400}", "too large"), ("(a{50}){50}", "too large"), ("a{4294967294}", "too large"),
])  # fmt: skip
def test_what_cannot_be_searched_for_is_refused_in_a_sentence(pattern, why):
    with pytest.raises(InvalidRequest, match=why):
        Pattern(pattern)


def test_only_the_beginning_of_a_long_line_is_looked_at():
    assert Pattern("end").search("x" * (LINE - 3) + "end")
    assert not Pattern("end").search("x" * LINE + "end")
    assert not Pattern("^x+$").search("y" + "x" * LINE)
