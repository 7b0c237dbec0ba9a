"""Ranges as people type them in magics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Span
from jupyter_diamond.parsing import memory
from jupyter_diamond.parsing.spans import parse_span

G = 1 << 30


@pytest.mark.parametrize(
    ("text", "kind", "span"),
    [
        ("4", "count", Span(min=4, max=4)),
        ("2-4", "count", Span(min=2, max=4)),
        ("0", "count", Span(min=0, max=0)),
        (" 1 - 16 ", "count", Span(min=1, max=16)),
        ("2G", "memory", Span(min=2 * G, max=2 * G)),
        ("2G-8G", "memory", Span(min=2 * G, max=8 * G)),
        ("2-8G", "memory", Span(min=2 * G, max=8 * G)),
        ("512M-2G", "memory", Span(min=G // 2, max=2 * G)),
        ("10m", "duration", Span(min=600, max=600)),
        ("10m-1h", "duration", Span(min=600, max=3600)),
        ("1:00:00-2:00:00", "duration", Span(min=3600, max=7200)),
        ("2-12:30:00", "duration", Span(min=217800, max=217800)),
    ],
)
def test_ranges(text, kind, span):
    assert parse_span(text, kind) == span


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("4-2", "count", "--cpus: the range '4-2' runs backwards; write it as 2-4."),
        ("-4", "count", "--cpus: '-4' is not a count. Write a whole number such as 4, or a range such as 2-4."),
        ("2.5", "count", "--cpus: '2.5' is not a count. Write a whole number such as 4, or a range such as 2-4."),
        ("4", "memory", "--cpus: 4 what? Give the memory a unit: 4G or 4M."),
        ("2-8", "memory", "--cpus: 2 what? Give the memory a unit: 2G or 2M."),
        ("10-60", "duration", "--cpus: 10 what? Give the time a unit: 10m, 10h or 10s (or 1d, 2h30m, 1:00:00)."),
        ("1h-10m", "duration", "--cpus: the range '1h-10m' runs backwards; write it as 10m-1h."),
        ("", "count", "--cpus: '' is not a count. Write a whole number such as 4, or a range such as 2-4."),
        ("2-", "count", "--cpus: the range '2-' has no end. Write it as 2 or as LEAST-MOST."),
        ("-2G", "memory", "--cpus: Memory cannot be negative, got '-2G'. Write for example 512M, 2G, 40G or 1.5T."),
    ],
)
def test_refusals_name_the_option_and_show_what_to_write(text, kind, words):
    with pytest.raises(InvalidRequest) as problem:
        parse_span(text, kind, what="--cpus")
    assert problem.value.message == words


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_counts_round_trip(low, high):
    low, high = sorted((low, high))
    assert parse_span(f"{low}-{high}") == Span(min=low, max=high)


@given(st.text(max_size=10), st.sampled_from(["count", "memory", "duration"]))
def test_any_text_is_a_span_or_our_own_error(text, kind):
    try:
        span = parse_span(text, kind)
    except InvalidRequest:
        return
    assert 0 <= span.min <= span.max


def test_a_memory_range_reads_what_memory_writes():
    assert parse_span(f"{memory.to_words(2 * G)}-{memory.to_words(3 * G)}", "memory") == Span(min=2 * G, max=3 * G)
