"""Times in Slurm's grammars and as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest, ParseError
from jupyter_diamond.model.snapshot import NO_LIMIT
from jupyter_diamond.parsing import durations

A_YEAR = 366 * durations.DAY


@given(st.integers(0, A_YEAR))
def test_what_we_write_for_slurm_reads_back(seconds):
    assert durations.parse_slurm(durations.to_slurm(seconds)) == seconds


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_each_of_the_six_forms_has_its_own_meaning(days, hours, minutes, seconds):
    assert durations.parse_slurm(f"{minutes}") == minutes * 60
    assert durations.parse_slurm(f"{minutes}:{seconds:02d}") == minutes * 60 + seconds
    assert durations.parse_slurm(f"{hours}:{minutes:02d}:{seconds:02d}") == hours * 3600 + minutes * 60 + seconds
    assert durations.parse_slurm(f"{days}-{hours}") == days * 86400 + hours * 3600
    assert durations.parse_slurm(f"{days}-{hours}:{minutes:02d}") == days * 86400 + hours * 3600 + minutes * 60
    whole = days * 86400 + hours * 3600 + minutes * 60 + seconds
    assert durations.parse_slurm(f"{days}-{hours:02d}:{minutes:02d}:{seconds:02d}") == whole


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_with_our_own_error(text):
    try:
        limit = durations.parse_slurm(text)
    except ParseError:
        return
    assert limit is None or limit is NO_LIMIT or (isinstance(limit, int) and limit >= 0)


@given(st.integers(1, A_YEAR))
def test_rounding_to_minutes_never_shortens(seconds):
    rounded = durations.up_to_minutes(seconds)
    assert rounded % 60 == 0
    assert 0 <= rounded - seconds < 60


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600), ("2h30m", 9000), ("1d", 86400), ("90s", 90), ("1:00:00", 3600), ("1H", 3600), (" 5m ", 300),
        ("1d12h", 129600), ("2-12:00:00", 216000), ("2-12:30", 217800),
    ],
)  # fmt: skip
def test_friendly_times(text, seconds):
    assert durations.parse_friendly(text) == seconds


def test_a_time_without_a_unit_is_refused_with_examples():
    with pytest.raises(InvalidRequest) as problem:
        durations.parse_friendly("10")
    assert problem.value.message == "10 what? Give the time a unit: 10m, 10h or 10s (or 1d, 2h30m, 1:00:00)."


@pytest.mark.parametrize(
    "text", ["", "4:00", "-5m", "0m", "h", "10 m", "10x", "m10", "unlimited", "1:2:3:4", "\u0661\u0660m", "30m2h"]
)
def test_other_friendly_times_are_refused(text):
    with pytest.raises(InvalidRequest):
        durations.parse_friendly(text)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (45, "45 s"),
        (600, "10 min"),
        (9000, "2 h 30 min"),
        (100800, "1 d 4 h"),
        (3601, "1 h"),
        (86400, "1 d"),
    ],
)
def test_words_for_people(seconds, words):
    assert durations.to_words(seconds) == words


def test_no_limit_and_unknown_have_two_different_words():
    assert durations.limit_to_words(NO_LIMIT) == "no limit"
    assert durations.limit_to_words(None) == "unknown"
    assert durations.limit_to_words(1800) == "30 min"


def test_raw_minutes_of_accounting():
    assert durations.parse_minutes("30") == 1800
    assert durations.parse_minutes("Partition_Limit") is None
    assert durations.parse_minutes("UNLIMITED") is NO_LIMIT
