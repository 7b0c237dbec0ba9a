"""Listening to a log that comes in pieces: whole lines, each once."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.engine.news.log_ear import LogEar

LOG = "epoch 1\nloss ü 0.5\r 10%\r 20%\r\n\n\nend".encode()
LINES = ["epoch 1", "loss ü 0.5", " 10%", " 20%"]


def ear(n=1):
    return LogEar(n, lambda: None)


@given(st.lists(st.integers(min_value=0, max_value=len(LOG)), max_size=6))
def test_however_it_is_cut_the_lines_are_the_same(cuts):
    listening, heard = ear(), []
    places = [0, *sorted(cuts), len(LOG)]
    for begin, end in itertools.pairwise(places):
        listening.take(1, begin, LOG[begin:end])
        heard += listening.lines()
    assert heard == LINES
    assert listening.lines(last=True) == ["end"]
    assert listening.lines(last=True) == []


def test_what_does_not_follow_is_passed_over():
    woken = []
    listening = LogEar(2, lambda: woken.append(1))
    listening.take(2, 0, b"a\nb")
    listening.take(2, 0, b"a\nb")
    listening.take(2, 7, b"x\n")
    listening.take(1, 3, b"y\n")
    listening.take(2, 3, b"c\n")
    assert (listening.lines(), listening.offset, len(woken)) == (["a", "bc"], 5, 2)
    assert (listening.wanted(2), listening.wanted(1)) == (5, None)


def test_somebody_new_hears_it_from_its_start():
    listening = ear()
    listening.take(1, 0, b"one\ntw")
    listening.lines()
    listening.begin_again()
    assert listening.wanted(1) == 0
    listening.take(1, 0, b"one\ntwo\n")
    assert listening.lines() == ["one", "two"]


def test_no_more_is_asked_for_than_can_be_kept_and_a_line_without_end_is_cut():
    listening = ear()
    while (offset := listening.wanted(1)) is not None:
        listening.take(1, offset, b"x" * (1 << 20))
    assert listening.offset == 4 << 20
    assert listening.lines() == []
    assert listening.wanted(1) == 4 << 20, "it was searched: go on"
    listening.take(1, 4 << 20, b"y\nnext\n")
    first, second = listening.lines()
    assert (set(first), second) == ({"x"}, "next")
    assert len(first) <= 4 * 4096
