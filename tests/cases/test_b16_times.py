"""B16: time words and grammars. MM:SS read as HH:MM makes a job sixty times too long."""

import pytest

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.snapshot import NO_LIMIT
from jupyter_diamond.parsing import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800), ("4:00", 240), ("1:00:00", 3600), ("2-12", 216000), ("2-12:30", 217800), ("2-00:00:00", 172800),
        ("3-0:00", 259200), ("4-00:00:00", 345600), ("00:30:00", 1800),
    ],
)  # fmt: skip
def test_each_form_means_what_slurm_means(text, seconds):
    assert durations.parse_slurm(text) == seconds


def test_fractions_are_kept_on_demand():
    assert durations.slurm_seconds("00:24.041") == pytest.approx(24.041)
    assert durations.parse_slurm("00:24.041") == 24


@pytest.mark.parametrize("word", ["UNLIMITED", "INFINITE", "unlimited", "Infinite"])
def test_no_limit_is_its_own_value(word):
    limit = durations.parse_slurm(word)
    assert limit is NO_LIMIT
    assert limit is not None
    assert not isinstance(limit, (int, float))


@pytest.mark.parametrize("word", ["Partition_Limit", "NOT_SET", "N/A", "None", "Unknown", "INVALID", "", "NONE"])
def test_words_for_unknown_are_unknown(word):
    assert durations.parse_slurm(word) is None


@pytest.mark.parametrize("text", ["1:2:3:4", "1d", "-5", "ten", "1-2-3", "1.5", "30 min", "1:00:00 ", "½"])
def test_a_wrong_form_is_an_error_with_the_six_examples(text):
    if text.strip() != text:
        assert durations.parse_slurm(text) == 3600  # blanks around are no fault
        return
    with pytest.raises(ParseError) as problem:
        durations.parse_slurm(text)
    for example in ("30", "4:00", "1:00:00", "2-12", "2-12:30", "2-00:00:00"):
        assert example in problem.value.message
