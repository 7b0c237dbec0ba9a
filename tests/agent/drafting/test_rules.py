"""The draft without a model: the published workloads, what goes before what, and what is told."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.agent.drafting.pool import Pool
from jupyter_diamond.agent.drafting.rules import draft
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.draft import DraftRequest, PastRun
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.parsing.envelopes import read_envelope
from tests.agent.drafting.workloads import CPU_ONLY, DDP, INFERENCE

NOW = datetime(2026, 11, 30, 15, tzinfo=timezone.utc)
POOL = Pool(sites=("delta", "anvil"))
GIB = 1 << 30


def drafted(words="", code="", past=(), **more):
    return draft(DraftRequest(words=words, code=code, **more), pool=POOL, now=NOW, past=past)


def test_published_workload_on_cpus_alone():
    found = drafted(code=CPU_ONLY)
    assert found.envelope == Envelope(cpus=Span.exactly(8), memory_bytes=Span(min=3 * GIB, max=6 * GIB))
    assert found.line == "--cpus 8 --memory 3G-6G"
    assert any("How long it runs is not known" in each for each in found.unknown)


def test_published_workload_of_inference_on_one_gpu():
    found = drafted(code=INFERENCE)
    assert found.envelope == Envelope(
        gpus=Span.exactly(1), gpu_memory_bytes=18 * GIB, cpus=Span.exactly(4), walltime_s=Span.exactly(3600),
        memory_bytes=Span(min=19 * GIB, max=38 * GIB),
    )  # fmt: skip
    (why,) = [each for each in found.reasons if each.field == "gpu-memory"]
    assert "8B parameters" in why.sentence
    assert why.evidence.startswith("line 6:")


def test_published_workload_of_training_on_one_to_four_gpus():
    found = drafted(code=DDP)
    assert found.envelope == Envelope(
        gpus=Span(min=1, max=4), cpus=Span(min=8, max=32), walltime_s=Span.exactly(4 * 3600),
        memory_bytes=Span(min=16 * GIB, max=32 * GIB),
    )  # fmt: skip
    assert any("How many GPUs it still gets faster with is not known" in each for each in found.unknown)


def test_words_go_before_code_and_the_rest_of_the_code_still_counts():
    found = drafted("two A100s, at most 2 hours, cheapest", DDP)
    assert found.options == {
        "cpus": "16", "gpus": "2", "memory": "16G-32G", "time": "2h", "gpu-model": "a100", "objective": "lowest_cost",
    }  # fmt: skip
    assert not any("How long it runs" in each or "How many GPUs" in each for each in found.unknown)


def test_what_the_user_gave_is_kept_and_what_contradicts_it_is_told():
    found = drafted("two A100s", DDP, given={"gpus": "1-2", "--gpu_model": "h100"})
    assert (found.options["gpus"], found.options["gpu-model"]) == ("1-2", "h100")
    assert {each.split(",")[0] for each in found.problems} == {
        "“two A100s” asks for --gpus 2", "“two A100s” asks for --gpu-model a100",
    }  # fmt: skip


def test_no_gpu_for_code_that_works_on_one_is_told():
    found = drafted(code=INFERENCE, given={"gpus": "0"})
    assert found.envelope.gpus.max == 0
    assert any("the code works on one: line 6" in each for each in found.problems)


def test_what_the_user_gave_wrongly_is_refused():
    with pytest.raises(InvalidRequest, match="--cpus"):
        drafted(given={"cpus": "many"})
    with pytest.raises(InvalidRequest, match="There is no option --gpuss"):
        drafted(given={"gpuss": "1"})


def test_a_kind_or_memory_of_a_gpu_brings_one():
    found = drafted("200 GB per GPU", "print(1)")
    assert found.options == {"gpus": "1", "gpu-memory": "200G"}


def test_memory_that_a_kind_never_has_is_left_out_and_told():
    found = drafted("an A100 with 200 GB per GPU")
    assert "contradict each other" in found.problems[0]


def test_to_start_today_is_a_deadline_a_time_limit_later():
    found = drafted("at most 4 hours, cheapest site that starts today")
    midnight = NOW.astimezone().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    assert found.envelope.deadline == midnight + timedelta(hours=4)


def a_run(state=State.COMPLETED, **more):
    facts = {
        "task": "t0123456789", "name": "fit", "site": "delta", "same": "digest", "state": state, "ended_at": NOW,
        "envelope": Envelope(gpus=Span.exactly(2)), "run_s": 3000.0, "max_rss_bytes": 20 * GIB,
        "size": Size(gpus=2, cpus=8, memory_bytes=32 * GIB, walltime_s=3600),
    }  # fmt: skip
    return PastRun(**{**facts, **more})


def test_what_the_same_code_took_goes_before_guesses_and_says_so():
    found = drafted(code=DDP, past=(a_run(),))
    assert found.options == {"cpus": "8", "gpus": "2", "memory": "26G", "time": "1h15m", "runtime": "50m"}
    assert (found.source, found.confidence > drafted(code=DDP).confidence) == ("history", True)
    (why,) = [each for each in found.reasons if each.field == "memory"]
    assert (why.source, why.sentence) == ("history", "Of this code: its peak was 20G.")
    assert why.evidence == "task fit (t0123456789) at delta, 2026-11-30"


def test_words_go_before_what_the_same_code_took():
    assert drafted("at most 6 hours", DDP, past=(a_run(),)).options["time"] == "6h"


def test_what_was_too_little_the_last_time_is_doubled():
    short = drafted(code=DDP, past=(a_run(State.TIMEOUT), a_run()))
    assert short.options["time"] == "2h"
    small = drafted(code=DDP, past=(a_run(State.OUT_OF_MEMORY), a_run()))
    assert small.options["memory"] == "64G"


def test_what_no_parser_takes_is_left_out_with_its_reason():
    found = drafted("1000000 GPUs", "print(1)")
    assert found.envelope.gpus == Span.exactly(0)
    assert found.problems[0].startswith("--gpus 1000000 was left out:")
    assert found.confidence < 0.5


def test_code_that_cannot_be_read_is_told():
    found = drafted(code="def x(:\n")
    assert any("could not be read: it is no Python on line 1" in each for each in found.unknown)
    assert found.confidence == 0.2


def test_nothing_at_all_is_a_draft_too():
    found = drafted()
    assert (found.envelope, found.options) == (Envelope(), {})
    assert any("There is no code" in each for each in found.unknown)


@pytest.mark.parametrize("code", [CPU_ONLY, INFERENCE, DDP, ""])
@pytest.mark.parametrize(
    "words", ["", "two A100s, at most 4 hours", "on delta, 200 GB per GPU, cheapest, by 23:00", "no GPU"]
)
def test_the_line_is_what_the_envelope_says(code, words):
    found = drafted(words, code)
    said = {name.replace("-", "_"): value or True for name, value in found.options.items()}
    assert read_envelope(said, now=NOW) == found.envelope
    assert {each.field for each in found.reasons} == set(found.options)
    assert 0.1 <= found.confidence <= 0.95
