"""B19: node states with marks. An unknown mark or word is not free."""

import pytest

from jupyter_diamond.parsing import states


@pytest.mark.parametrize("text", ["idle", "mix", "mixed-", "MIXED+PLANNED", "IDLE", "IDLE+CLOUD", "mix-"])
def test_free_nodes(text):
    assert states.node_state(text).free


@pytest.mark.parametrize(
    "text",
    [
        "idle*", "idle~", "idle#", "idle%", "idle$", "idle@", "idle^", "idle!", "alloc$", "drng@", "alloc", "ALLOCATED",
        "IDLE+CLOUD+POWERED_DOWN", "DOWN*+DRAIN", "IDLE+DRAIN", "inval", "IDLE+MAINTENANCE+RESERVED", "IDLE+FAIL",
        "MIXED+COMPLETING", "comp", "resv", "maint", "plnd", "IDLE?", "idle&", "IDLE+SOMETHING_NEW", "", "unk",
        "idle+drain+reboot_requested", "allocated+not_responding+powering_up", "idle+powering_down", "boot^",
    ],
)  # fmt: skip
def test_nodes_that_take_no_work(text):
    assert not states.node_state(text).free


def test_words_and_marks_are_both_kept():
    assert set(states.node_state("drng@").words) == {"DRAINING", "REBOOT_REQUESTED"}
    assert set(states.node_state("DOWN*+DRAIN").words) == {"DOWN", "NOT_RESPONDING", "DRAINED"}
