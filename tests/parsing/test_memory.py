"""Amounts of memory, from Slurm and from people."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest, ParseError
from jupyter_diamond.model.snapshot import NO_LIMIT
from jupyter_diamond.parsing import memory


@pytest.mark.parametrize(
    ("text", "size"),
    [("2G", 2 << 30), ("40G", 40 << 30), ("1.5T", 3 << 39), ("512M", 512 << 20), ("4gb", 4 << 30), ("2GiB", 2 << 30)],
)
def test_friendly_amounts_are_binary(text, size):
    assert memory.parse_friendly(text) == size


def test_an_amount_without_a_unit_is_refused_with_examples():
    with pytest.raises(InvalidRequest) as problem:
        memory.parse_friendly("4")
    assert problem.value.message == "4 what? Give the memory a unit: 4G or 4M."


def test_a_negative_amount_is_refused():
    with pytest.raises(InvalidRequest) as problem:
        memory.parse_friendly("-2G")
    assert problem.value.message == "Memory cannot be negative, got '-2G'. Write for example 512M, 2G, 40G or 1.5T."


@pytest.mark.parametrize("text", ["", "G", "2 G", "0G", "2X", "1e3G", "2Gn", "0.0000000001K"])
def test_other_friendly_amounts_are_refused(text):
    with pytest.raises(InvalidRequest):
        memory.parse_friendly(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("514000M", 514000 << 20), ("1000G", 1000 << 30), ("1100K", 1100 << 10), ("257400", 257400 << 20), ("0", 0),
        ("1.50G", 3 << 29), ("3792Mc", 3792 << 20), ("N/A", None), ("", None), ("UNLIMITED", NO_LIMIT),
    ],
)  # fmt: skip
def test_amounts_as_slurm_writes_them(text, size):
    assert memory.parse_slurm(text) == size


@pytest.mark.parametrize("text", ["lots", "-5M", "5 M", "M"])
def test_other_amounts_of_slurm_are_errors(text):
    with pytest.raises(ParseError):
        memory.parse_slurm(text)


@given(st.integers(1, 1 << 50))
def test_mebibytes_are_rounded_up(size):
    assert 0 <= memory.up_to_mib(size) * memory.MIB - size < memory.MIB


@given(st.integers(1 << 10, 1 << 55))
def test_words_read_back_to_within_five_percent(size):
    back = memory.parse_friendly(memory.to_words(size))
    assert abs(back - size) <= size * 0.05


def test_words():
    assert memory.to_words(40 << 30) == "40G"
    assert memory.to_words(3 << 39) == "1.5T"
    assert memory.to_words(257400 << 20) == "251.4G"
