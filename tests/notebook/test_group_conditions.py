"""What may be waited for of a group, in a notebook's words."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.continuation import AttemptFailed, Quorum, Terminal
from jupyter_diamond.notebook.conditions import group_condition


def test_a_quorum_is_a_number_or_a_share_that_ended_or_ended_well():
    assert group_condition("quorum", well=10) == Quorum(count=10, well=True)
    assert group_condition("quorum", ended=1) == Quorum(count=1)
    assert group_condition("quorum", ended=0.9) == Quorum(share=0.9)
    assert group_condition("quorum", well=1.0) == Quorum(share=1.0, well=True)
    assert (group_condition("ended"), group_condition("failed")) == (Terminal(), AttemptFailed())


@pytest.mark.parametrize(("what", "how"), [
    ("quorum", {}), ("quorum", {"ended": 1, "well": 1}), ("ended", {"well": 2}), ("milestone", {}), ("running", {}),
    ("quorum", {"ended": 0}), ("quorum", {"ended": 2.5}), ("quorum", {"well": -1}), ("quorum", {"well": True}),
])  # fmt: skip
def test_anything_else_is_refused_with_a_sentence(what, how):
    with pytest.raises(InvalidRequest, match=r"there are: ended|A quorum is a number"):
        group_condition(what, **how)
