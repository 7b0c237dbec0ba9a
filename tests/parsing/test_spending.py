"""Caps as the settings say them: read with their unit, or refused with the setting and what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.parsing.spending import amount_of, read_account_caps, read_caps
from jupyter_diamond.placement.words import charge

UNITS = {"delta": ("core-hour", "GPU-hour"), "vista": ("node-hour",), "mine": ()}


def caps(*said, units=UNITS):
    return read_caps("day", said, units, setting="per_day")


@pytest.mark.parametrize("text", ["20 GPU-hours", "20 gpu-hour", " 20.0  GPU hours ", "20 GPU-HOUR"])
def test_an_amount_is_read_in_the_sites_own_spelling(text):
    (cap,) = caps(text)
    assert (cap.amount, cap.unit, cap.scope) == (20.0, "GPU-hour", "day")


def test_each_unit_has_a_cap_of_its_own():
    assert [cap.unit for cap in caps("1 core-hour", "0 node-hours")] == ["core-hour", "node-hour"]
    with pytest.raises(InvalidRequest, match="per_day says twice how many core-hours"):
        caps("1 core-hour", "2 core-hours")


def test_where_no_units_are_known_any_may_be_meant():
    assert caps("5 SUs", units={"mine": ()})[0].unit == "SU"
    assert caps("5 SU", units={"mine": ()})[0].unit == "SU"


@pytest.mark.parametrize(("text", "said"), [
    ("5", "per_day: '5' is no amount with its unit; write for example '20 GPU-hours'."),
    ("many core-hours", "per_day: 'many core-hours' is no amount"),
    ("-5 core-hours", "per_day: '-5 core-hours' is no amount"),
    ("5 SU", ("per_day: no site of yours charges in SUs, so a cap of '5 SU' would never hold; they charge in GPU-hours or "
     "core-hours or node-hours.")),
])  # fmt: skip
def test_what_would_never_hold_is_an_error_that_says_what_would(text, said):
    with pytest.raises(InvalidRequest) as refused:
        caps(text)
    assert refused.value.message.startswith(said)


def test_accounts_are_named_by_site_and_account():
    found = read_account_caps(
        {"delta": ["5 core-hours", "2 GPU-hours"], "delta/abc": "1 core-hour", "mine": "7 SU"}, UNITS, setting="x"
    )
    assert [(cap.site, cap.account, cap.amount, cap.unit) for cap in found] == [
        ("delta", None, 5.0, "core-hour"), ("delta", None, 2.0, "GPU-hour"), ("delta", "abc", 1.0, "core-hour"),
        ("mine", None, 7.0, "SU"),
    ]  # fmt: skip


@pytest.mark.parametrize(("given_caps", "said"), [
    ({"moon": "1 core-hour"}, "x: there is no site 'moon'; the sites are: delta, vista, mine."),
    ({"delta/": "1 core-hour"}, "x: 'delta/' names no account; write delta or delta/ACCOUNT."),
    ({"vista": "1 GPU-hour"}, ("x['vista']: vista does not charge in GPU-hours but in node-hours, so a cap of '1 GPU-hour' "
     "would never hold.")),
    ({"delta/abc": ["1 core-hour", "2 core-hours"]}, "x['delta/abc'] says twice how many core-hours; keep one of them."),
])  # fmt: skip
def test_a_wrong_place_or_unit_is_named(given_caps, said):
    with pytest.raises(InvalidRequest) as refused:
        read_account_caps(given_caps, UNITS, setting="x")
    assert refused.value.message == said


def refusal_of(text):
    try:
        caps(text, units={})
    except InvalidRequest as refused:
        return refused.message
    return None


@given(st.text(max_size=20))
def test_any_text_is_a_cap_or_our_own_error(text):
    assert (refusal_of(text) or "per_day: ").startswith("per_day: ")


def test_an_amount_is_read_as_our_own_sentences_write_it():
    for amount in (0.5, 20, 1000, 1_234_567.25):
        assert amount_of(charge(amount, "GPU-hour"), "a budget") == (amount, "GPU-hour")
