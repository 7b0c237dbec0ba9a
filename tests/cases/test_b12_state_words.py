"""B12: state words outside the table are unknown, never an end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.model.states import State
from jupyter_diamond.parsing import states


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("CANCELLED by 5001", State.CANCELLED),
        ("OUT_OF_ME+", State.OUT_OF_MEMORY),
        ("COMPLETIN", State.COMPLETING),
        ("COMPLETI+", State.COMPLETING),
        ("SUSPENDED", State.SUSPENDED),
        ("RESV_DEL_HOLD", State.PENDING),
        ("LAUNCH_FAILED", State.NODE_FAIL),
        ("SPECIAL_EXIT", State.PENDING),
        ("completed", State.COMPLETED),
        ("CANCELLED+", State.CANCELLED),
        ("TO", State.TIMEOUT),
        ("OOM", State.OUT_OF_MEMORY),
        ("BF", State.NODE_FAIL),
        ("DL", State.DEADLINE),
        ("CG", State.COMPLETING),
        ("NODE_FAIL", State.NODE_FAIL),
        ("PREEMPTED", State.PREEMPTED),
    ],
)
def test_documented_words_codes_and_cut_words(text, state):
    found = states.job_state(text)
    assert found.state is state
    assert found.raw == text


@pytest.mark.parametrize(
    "text",
    ["SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "PREEMPTED+REQUEUED", "S", "RQ", "RH", "RV", "REVOKED"],
)
def test_what_is_not_an_end_is_not_terminal(text):
    assert not states.job_state(text).state.terminal


@pytest.mark.parametrize(
    "text", ["", "JOBARRAYID", "COMP", "COMPLET", "DONE", "FINISHED", "CANCEL", "XX", "ENDED", "C"]
)
def test_unknown_and_ambiguous_words_are_unknown(text):
    # COMPLET could be COMPLETED or COMPLETING; CANCEL is a unique prefix and is read
    expected = State.CANCELLED if text == "CANCEL" else State.UNKNOWN
    assert states.job_state(text).state is expected


@given(st.text(max_size=20))
def test_no_unlisted_word_is_ever_an_end(text):
    found = states.job_state(text)
    if not found.word:
        assert found.state is State.UNKNOWN
    if found.state.terminal:
        assert states.JOB_STATES[found.word] is found.state


def test_who_cancelled_is_kept():
    assert states.job_state("CANCELLED by 5001").cancelled_by == "5001"
    assert states.job_state("CANCELLED").cancelled_by is None


def test_every_short_code_of_the_manual_is_known():
    manual = [
        "BF",
        "CA",
        "CD",
        "CF",
        "CG",
        "DL",
        "F",
        "NF",
        "OOM",
        "PD",
        "PR",
        "R",
        "RD",
        "RF",
        "RH",
        "RQ",
        "RS",
        "RV",
        "SI",
        "SE",
        "SO",
        "ST",
        "S",
        "TO",
    ]
    assert [code for code in manual if not states.job_state(code).word] == []
