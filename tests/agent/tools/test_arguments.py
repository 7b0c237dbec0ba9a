"""What a model writes is read as it was meant, or refused with what to write instead."""

from __future__ import annotations

import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.agent.tools.answers import Foreign, bounded, known, rendered, time_limit, word
from jupyter_diamond.agent.tools.needs import Needs, as_options, envelope_from
from jupyter_diamond.agent.tools.pool import partition_line, partition_view
from jupyter_diamond.agent.tools.registry import every_tool
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.snapshot import NO_LIMIT, NodeShape, Record


def read(tool, /, **arguments):
    return every_tool()[tool].parameters.read(arguments)


def test_friendly_forms_are_read_as_in_a_cells_line():
    needs = read("plan_placement", gpus="1-4", time="2h", memory="16G-64G", options={"max-charge": 100})["needs"]
    envelope = needs.envelope()
    assert (envelope.gpus, envelope.walltime_s) == (Span(min=1, max=4), Span.exactly(7200))
    assert (envelope.memory_bytes, envelope.max_charge) == (Span(min=16 << 30, max=64 << 30), 100.0)


@pytest.mark.parametrize(("given_", "meant"), [(4, "4"), ("4", "4"), (1.5, "1.5"), (None, None)])
def test_numbers_are_text_where_text_is_asked(given_, meant):
    assert read("find_idle", gpus=given_)["needs"].gpus == meant


def test_a_list_may_be_written_with_commas_and_a_number_as_text():
    found = read("submit_task", name="fit", source="x", outputs="model, scores", retries="2", again="true")
    assert (found["outputs"], found["retries"], found["again"]) == (("model", "scores"), 2, True)


@pytest.mark.parametrize(("tool", "arguments", "said"), [
    ("submit_task", {"nam": "fit"}, "has no argument `nam`; did you mean `name`?"),
    ("submit_task", {"name": "fit"}, "needs `source`. source: what runs"),
    ("submit_task", {"name": "two words", "source": "x"}, "`name`: string should match pattern"),
    ("submit_task", {"name": "fit", "source": "x", "retries": 99}, "less than or equal to 20, not 99"),
    ("submit_task", {"name": "fit", "source": "x", "language": "perl"}, "input should be 'python' or 'bash', not 'perl'"),
    ("get_task", {"task": ["a"]}, "valid string, not ['a']"),
    ("doctor", {"deep": 1}, "has no argument `deep`; it takes: no arguments."),
    ("wait_task", {"task": "fit", "until": "done"}, "not 'done'. until: ended, running"),
])  # fmt: skip
def test_a_wrong_argument_is_refused_with_what_to_write(tool, arguments, said):
    with pytest.raises(InvalidRequest) as refused:
        every_tool()[tool].parameters.read(arguments)
    assert said in refused.value.message


@pytest.mark.parametrize(("needs", "said"), [
    ({"time": "soon"}, "time"),
    ({"gpu_model": "a100"}, "gpu_model needs a GPU: write gpus=1."),
    ({"gpus": "4-1"}, "gpus"),
    ({"options": {"colour": "red"}}, "no option `colour`"),
])  # fmt: skip
def test_a_wrong_need_is_refused_in_words_of_parameters(needs, said):
    with pytest.raises(InvalidRequest) as refused:
        Needs(**needs).envelope()
    assert said in refused.value.message
    assert "--" not in refused.value.message


@pytest.mark.parametrize("options", [
    {"gpus": "1-4", "gpu_model": "a100|h100", "time": "2h"},
    {"cpus": "8", "site": "delta:gpuA100x4", "preemptible": "yes", "soft": "gpu-memory", "gpus": "1", "gpu_memory": "40G"},
    {},
])  # fmt: skip
def test_options_survive_the_way_there_and_back(options):
    assert as_options(envelope_from(options)) == options


def test_an_object_may_be_sent_as_its_json():
    assert read("find_idle", options='{"qos": "debug"}')["needs"].envelope().qos == "debug"
    with pytest.raises(InvalidRequest, match="options"):
        read("find_idle", options="{qos")


def test_many_partitions_are_told_in_a_line_each():
    read_at = datetime(2026, 11, 30, tzinfo=timezone.utc)
    shape = NodeShape(gpus=4, gpu_model="a100", gpu_memory_bytes=40 << 30, nodes=8)
    facts = {"site": "delta", "partition": "gpuA100x4", "read_at": read_at, "state": "up"}
    busy = Record(**facts, shapes=(shape,), gpus_total=32, gpus_free=6, pending=14, walltime_cap_s=172_800)
    assert partition_line(busy) == "gpuA100x4: 6 of 32 GPUs free (a100 40G), 14 pending, at most 2d"
    dark = Record(**facts | {"state": "drain"})
    assert partition_line(dark) == "gpuA100x4: unknown of unknown CPUs free, unknown pending, at most unknown, drain"
    assert partition_view(dark)["free"] == "unknown of unknown CPUs"


def test_of_every_site_something_is_left():
    sites = [{"site": f"s{at}", "partitions": ["x" * 100] * 40} for at in range(12)]
    cut = bounded({"sites": sites}, 8192, mark)
    assert [each["site"] for each in cut["sites"]] == [f"s{at}" for at in range(12)]
    assert min(len(each["partitions"]) for each in cut["sites"]) >= 2


def test_absent_needs_are_those_of_an_empty_line():
    assert Needs().envelope() == Envelope()


# ---- answers


def test_unknown_is_never_zero_or_nothing():
    assert [known(None), known(0), time_limit(None), time_limit(NO_LIMIT), time_limit(7200)] == [
        "unknown", 0, "unknown", "no limit", "2h"
    ]  # fmt: skip


def test_a_word_of_a_scheduler_carries_nothing_but_a_word():
    assert word("gpu\x1b[31m<b>\u202e\n") == "gpu?[31m?b???"
    assert len(word("x" * 1000)) == 64


def mark(text: Foreign) -> str:
    return f"<<{text.text[-text.limit :]}>>"


LONG = st.builds(lambda text, times: text * times, st.text("aé\n", min_size=1, max_size=3), st.integers(1, 2000))
LEAF = st.none() | st.integers() | LONG | st.builds(Foreign, LONG, st.just("log"))
ROWS = st.lists(st.dictionaries(st.text("xyz", max_size=3), LEAF, max_size=4), max_size=6)
JSON = LEAF | st.lists(LEAF, max_size=8) | ROWS


@given(st.dictionaries(st.text("abc", max_size=5), JSON, max_size=4))
def test_what_fits_is_left_as_it_is_and_the_rest_is_cut(content):
    whole = rendered(content, mark)
    size = len(json.dumps(whole, ensure_ascii=False).encode("utf-8", "backslashreplace"))
    assert bounded(content, 1 << 30, mark) == whole
    cut = bounded(content, 4096, mark)
    assert len(json.dumps(cut, ensure_ascii=False).encode()) <= 4096
    assert cut == whole if size <= 4096 else "left_out" in cut


def test_a_long_answer_says_what_it_left_out():
    rows = {"sites": [{"partition": f"p{number}", "log": Foreign("x" * 500, "log")} for number in range(500)]}
    cut = bounded(rows, 8192, mark)
    assert cut["left_out"] == [f"sites: {len(cut['sites'])} of 500 are shown"]
    assert 1 < len(cut["sites"]) < 500
