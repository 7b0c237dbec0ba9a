"""What is understood of a description, and what is left alone."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.agent.drafting.pool import Pool
from jupyter_diamond.agent.drafting.words import Words

NOW = datetime(2026, 11, 30, 15, tzinfo=timezone.utc)
POOL = Pool(sites=("delta", "anvil", "vista", "here"))

READ = {
    "two A100s": {"gpus": "2", "gpu-model": "a100"},
    "fine-tune this on two A100s, cheapest site": {"gpus": "2", "gpu-model": "a100", "objective": "lowest_cost"},
    "4x A100 40GB": {"gpus": "4", "gpu-model": "a100", "gpu-memory": "40G"},
    "an 80GB A100 for half an hour asap": {
        "gpus": "1",
        "gpu-model": "a100",
        "gpu-memory": "80G",
        "time": "30m",
        "objective": "earliest_start",
    },
    "A100 or H100": {"gpu-model": "a100|h100"},
    "1 to 4 GPUs": {"gpus": "1-4"},
    "up to 8 V100s": {"gpus": "1-8", "gpu-model": "v100"},
    "at least 2 GPUs": {"gpus": "2"},
    "no GPU, 16 cores": {"gpus": "0", "cpus": "16"},
    "CPU only": {"gpus": "0"},
    "at most 4 hours": {"time": "4h"},
    "for 90 minutes with 64 GB of memory and 16 cores": {"time": "1h30m", "memory": "64G", "cpus": "16"},
    "2h30m on 4 cpus": {"time": "2h30m", "cpus": "4"},
    "for a day and 12 hours": {"time": "1d12h"},
    "takes about 2 hours": {"runtime": "2h", "time": "2h30m"},
    "overnight": {"time": "12h"},
    "on delta": {"site": "delta"},
    "on delta or anvil": {"sites": "delta,anvil"},
    "on delta:gpuA100x4": {"site": "delta:gpuA100x4"},
    "not on vista": {"sites": "delta,anvil,here"},
    "cheapest": {"objective": "lowest_cost"},
    "as soon as possible": {"objective": "earliest_start"},
    "whatever finishes first": {"objective": "earliest_completion"},
    "done by 18:00": {"deadline": "18:00"},
    "by 6pm": {"deadline": "18:00"},
    "by noon": {"deadline": "12:00"},
    "I need it today": {"deadline": "23:59"},
    "done within 6 hours": {"deadline": "+6h"},
    "no more than 20 GPU-hours": {"max-charge": "20"},
    "a budget of 500 SUs": {"max-charge": "500"},
    "200 GB per GPU": {"gpu-memory": "200G"},
    "200 GB per accelerator": {"gpu-memory": "200G"},
    "a GPU with 24 GB": {"gpus": "1", "gpu-memory": "24G"},
    "64 GB of RAM": {"memory": "64G"},
    "1.5 TB of memory": {"memory": "1536G"},
    "2 nodes with 4 GPUs each": {"nodes": "2", "gpus": "4"},
    "8 GPUs on 2 nodes": {"nodes": "2", "gpus": "4"},
    "preemptible is fine": {"preemptible": ""},
    "on aarch64 with apptainer": {"arch": "aarch64", "container": "apptainer"},
    "please train my model well": {},
    "": {},
}


@pytest.mark.parametrize("text", READ)
def test_words_become_options(text):
    found = Words(text, POOL, NOW)
    assert {name: reason.value for name, reason in found.reasons.items()} == READ[text]


def test_each_option_shows_the_words_that_it_came_from():
    found = Words("Fine-tune it on two A100s, at most 4 hours on delta", POOL, NOW)
    assert {name: reason.evidence for name, reason in found.reasons.items()} == {
        "gpus": "“two A100s”", "gpu-model": "“two A100s”", "time": "“at most 4 hours”", "site": "“on delta”",
    }  # fmt: skip


def test_to_start_today_is_told_apart_from_to_be_done_today():
    found = Words("cheapest site that starts today", POOL, NOW)
    moment, evidence = found.starts_by
    assert (moment.astimezone(), evidence) == (
        datetime(2026, 11, 30).astimezone().replace(day=1, month=12),
        "“starts today”",
    )
    assert "deadline" not in found.reasons


def test_a_site_that_is_not_the_users_is_told():
    found = Words("on frontera", POOL, NOW)
    assert (found.reasons, found.notes) == ({}, ["frontera is no site of yours, so it was left out."])


def test_two_sayings_about_one_thing_are_told():
    found = Words("2 GPUs, no, 4 GPUs", POOL, NOW)
    assert found.reasons["gpus"].value == "2"
    assert "say two things of gpus" in found.notes[0]


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_no_text_breaks_it(text):
    Words(text, POOL, NOW)


@given(
    st.lists(
        st.sampled_from(
            [
                "two",
                "A100s",
                "4",
                "hours",
                "at most",
                "GPU",
                "per",
                "GB",
                "80",
                "and",
                "on",
                "delta",
                "by",
                "cores",
                "-",
                "today",
            ]
        ),
        max_size=25,
    )
)
@settings(max_examples=60, deadline=None)
def test_no_order_of_its_own_words_breaks_it(words):
    Words(" ".join(words), POOL, NOW)
