"""The words of options, as an envelope and back; every mistake names the option, what is wrong and what to write."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.parsing.envelopes import envelope_words, read_envelope
from jupyter_diamond.parsing.runtimes import parse_deadline, parse_runtime

NOW = datetime(2027, 1, 30, 12, 0, tzinfo=timezone.utc)
K = 1 << 10


def read(**said: object) -> Envelope:
    return read_envelope(said, now=NOW)


def test_every_field_has_its_words():
    assert read(
        nodes="1-2", cpus="8-16", gpus="1-4", memory="32-64G", time="1h-4h", gpu_model="a100|h100", gpu_memory="40G",
        arch="x86_64", site="delta:gpuA100x4", sites="delta, anvil", account="abc", qos="normal", fabric="slingshot",
        container="apptainer", preemptible=True, deadline="+6h", max_charge="12.5", soft="gpu-memory,deadline",
        objective="lowest-cost", runtime="2h@1", serial="5%",
    ) == Envelope(
        nodes=Span(min=1, max=2), cpus=Span(min=8, max=16), gpus=Span(min=1, max=4),
        memory_bytes=Span(min=32 << 30, max=64 << 30), walltime_s=Span(min=3600, max=14400), gpu_model="a100|h100",
        gpu_memory_bytes=40 << 30, arch="x86_64", site="delta", partition="gpuA100x4", sites=("delta", "anvil"),
        account="abc", qos="normal", fabric="slingshot", container="apptainer", preemptible=True,
        deadline=NOW + timedelta(hours=6), max_charge=12.5, soft=("gpu_memory", "deadline"), objective="lowest_cost",
        runtime=Runtime(seconds=7200, units=1, serial=0.05),
    )  # fmt: skip


def test_nothing_said_is_the_smallest_job():
    assert read() == Envelope()
    assert envelope_words(Envelope()) == []


@pytest.mark.parametrize(
    ("text", "serial", "runtime"),
    [
        ("2h", None, Runtime(seconds=7200)),
        ("1:00:00", None, Runtime(seconds=3600)),
        ("2h@4", None, Runtime(seconds=7200, units=4)),
        ("2h@1", "0.05", Runtime(seconds=7200, units=1, serial=0.05)),
        ("2h@1", "5 %", Runtime(seconds=7200, units=1, serial=0.05)),
        ("4:80m, 1:4h", None, Runtime(seconds=14400, units=1, curve=((1, 14400.0), (4, 4800.0)))),
        ("1:1:00:00,8:0:20:00", None, Runtime(seconds=3600, units=1, curve=((1, 3600.0), (8, 1200.0)))),
    ],
)
def test_run_times(text, serial, runtime):
    assert parse_runtime(text, serial) == runtime


def test_a_curve_is_read_between_its_points_and_amdahl_beyond_one():
    curve = parse_runtime("1:4h,4:80m")
    assert [curve.at(n) for n in (1, 2, 4, 100)] == [14400, pytest.approx(11200), 4800, 4800]
    assert parse_runtime("2h@1", "0.5").at(10**6) == pytest.approx(3600, rel=1e-3)
    assert parse_runtime("2h@1").at(8) == 7200


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"time": "0m"}, "--time: The time '0m' is zero. Write for example 10m, 2h30m, 1d, 90s or 1:00:00."),
        ({"cpus": "0"}, "--cpus must be at least 1."),
        ({"cpus": "4-2"}, "--cpus: the range '4-2' runs backwards; write it as 2-4."),
        ({"gpus": "1000000000"}, ("--gpus: 1,000,000,000 is more than any machine has. Write what one job needs, such "
         "as 4 or 2-4.")),
        ({"gpus": "9" * 300}, ("--gpus: 999999999999… is more than any machine has. Write what one job needs, such as "
         "4 or 2-4.")),
        ({"gpus": "1000000"}, "--gpus of 1,000,000 is more than any machine has: at most 10,000 can be asked."),
        ({"time": "99999d"}, ("--time: 99999d is more than any machine gives. Write what one job needs, such as 10m, 2h30m, "
         "1d, 90s or 1:00:00.")),
        ({"gpu_memory": "40G"}, "--gpu-memory needs a GPU: write --gpus 1."),
        ({"gpu_model": "a100"}, "--gpu-model needs a GPU: write --gpus 1."),
        ({"gpus": "1", "gpu_memory": "40"}, "--gpu-memory: 40 what? Give the memory a unit: 40G or 40M."),
        ({"site": "a", "sites": "b,c"}, "It is pinned to a, which is not among --sites b,c."),
        ({"sites": "b,b"}, "--sites names b twice."),
        ({"sites": "b:gpu"}, "--sites 'b:gpu' is no site's name; a partition is named by --site SITE:PARTITION."),
        ({"sites": ","}, "--sites names nothing; write --sites delta,anvil."),
        ({"objective": "cheapest"}, ("--objective cannot be 'cheapest'; choose one of earliest_completion, earliest_start, "
         "lowest_cost, least_waste, prefer_site, shortest_queue, best_feasible, random.")),
        ({"objective": "earlyest-start"}, "--objective cannot be 'earlyest-start'; did you mean earliest_start?"),
        ({"soft": "gpu-mem", "gpus": "1"}, "--soft cannot be 'gpu-mem'; did you mean gpu-memory?"),
        ({"soft": "fabric"}, "--soft fabric makes a wish of --fabric, which is not there: add --fabric, or leave it away."),
        ({"preemptible": True, "soft": "preemptible"}, ("--preemptible and --soft preemptible contradict each other: the one "
         "lets a job be cut short anywhere, the other only where nothing else will do. Keep one of them.")),
        ({"seed": "7"}, ("--seed 7 and --objective earliest_completion contradict each other: only --objective random draws "
         "lots.")),
        ({"seed": "-7", "objective": "random"}, "--seed: '-7' is not a whole number, 0 or more. Write for example --seed 7."),
        ({"max_charge": "0"}, "--max-charge: '0' is no amount above 0. Write it in the site's own unit: --max-charge 100."),
        ({"max_charge": "nan"}, ("--max-charge: 'nan' is no amount above 0. Write it in the site's own unit: --max-charge "
         "100.")),
        ({"container": "docker://x/y"}, ("--container 'docker://x/y' looks like an image; name the runtime that must be "
         "there, e.g. --container apptainer, and the image in the cell.")),
        ({"fabric": "$(x)"}, "'$(x)' names no fabric; write --fabric slingshot."),
        ({"serial": "0.1"}, "--serial 0.1 needs a --runtime that it belongs to: write --runtime 2h@1 --serial 0.1."),
        ({"runtime": "2h", "serial": "0.1"}, "--serial needs the number of units at which 2h was taken: write 2h@1."),
        ({"runtime": "2h@1", "serial": "1.5"}, ("--serial: '1.5' is no share between 0 and 1. Write the part that more units "
         "do not speed up: 0.05 or 5%.")),
        ({"runtime": "1:4h,4:80m", "serial": "0.1"}, ("--serial and the measured times 1:4h,4:80m both say how it scales; "
         "leave one of them away.")),
        ({"runtime": "2h@x"}, ("--runtime: 'x' is no number of GPUs or cores. Write 2h, 2h@1 with --serial 0.05, or "
         "1:4h,4:80m.")),
        ({"runtime": "1:4h,1:5h"}, "--runtime: the time on 1 is given twice in '1:4h,1:5h'."),
        ({"runtime": "4:80m"}, "--runtime: '4:80m' is one point of a curve; write 1h20m@4."),
        ({"runtime": "1:4h,fast"}, "--runtime: 'fast' is not UNITS:TIME. Write measured times as 1:4h,4:80m."),
        ({"runtime": "2"}, "--runtime: 2 what? Give the time a unit: 2m, 2h or 2s (or 1d, 2h30m, 1:00:00)."),
        ({"runtime": "2h"}, ("--runtime 2h and the time limit of 30m (without --time) contradict each other: it would run "
         "for 2h at least and be ended after 30m. Write --time 2h30m.")),
        ({"runtime": "1:4h,4:80m", "gpus": "1-4", "time": "1h"}, ("--runtime 1:4h,4:80m and --time 1h contradict each other: "
         "it would run for 1h20m at least and be ended after 1h. Write --time 1h40m.")),
        ({"runtime": "4h", "time": "5h", "deadline": "+2h"}, ("--deadline +2h and --runtime 4h contradict each other: 2h are "
         "left, and it runs for 4h at least. Write a later --deadline, or --soft deadline.")),
        ({"deadline": "2027-01-30T11:59Z"}, ("--deadline: 2027-01-30T11:59Z is past. Write for example 18:00, +6h or "
         "2027-01-31T18:00.")),
        ({"deadline": "2027-02-01"}, "--deadline: 2027-02-01 is a whole day; write the time, too: 2027-02-01T18:00."),
        ({"deadline": "6h"}, ("--deadline: '6h' is no moment. Write for example 18:00, +6h or 2027-01-31T18:00. For a time "
         "from now write +6h.")),
        ({"deadline": "2027-02-30T10:00"}, ("--deadline: '2027-02-30T10:00' is no moment. Write for example 18:00, +6h or "
         "2027-01-31T18:00.")),
        ({"deadline": "+99999999999d"}, ("--deadline: '+99999999999d' is no moment. Write for example 18:00, +6h or "
         "2027-01-31T18:00.")),
    ],
)  # fmt: skip
def test_a_refusal_says_what_where_and_what_to_write(said, sentence):
    with pytest.raises(InvalidRequest) as refused:
        read(**said)
    assert refused.value.message == sentence


def test_a_wish_for_a_deadline_contradicts_nothing():
    assert read(runtime="4h", time="5h", deadline="+2h", soft="deadline").soft == ("deadline",)


def test_a_size_within_the_range_may_be_fast_enough_for_the_limit():
    assert read(runtime="4h@1", serial="0", gpus="1-8", time="1h").walltime_s == Span.exactly(3600)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("18:00", "2027-01-30T23:00Z"), ("6:00", "2027-01-30T11:00Z +1"), ("2027-02-01T18:00", "2027-02-01T23:00Z"),
        ("2027-02-01 18:00:30", "2027-02-01T23:00:30Z"), ("2027-02-01T18:00Z", "2027-02-01T18:00Z"),
        ("2027-02-01T18:00+01:00", "2027-02-01T17:00Z"), ("+90m", "2027-01-30T13:30Z"),
    ],
)  # fmt: skip
def test_deadlines_are_moments_where_the_user_is(text, moment):
    said, _, days = moment.partition(" ")
    wanted = datetime.fromisoformat(said.replace("Z", "+00:00")) + timedelta(days=int(days or 0))
    assert parse_deadline(text, NOW, timezone(timedelta(hours=-5))) == wanted


spans = st.tuples(st.integers(1, 5000), st.integers(1, 5000)).map(lambda ends: Span(min=min(ends), max=max(ends)))
envelopes = st.builds(
    Envelope,
    nodes=spans, cpus=spans, gpus=spans,
    memory_bytes=st.none() | spans.map(lambda s: Span(min=s.min * K, max=s.max * K)),
    walltime_s=spans.map(lambda s: Span(min=s.min + 700_000, max=s.max + 700_000)),
    gpu_model=st.sampled_from([None, "a100", "a100|h100"]),
    gpu_memory_bytes=st.none() | st.integers(1, 10**9).map(lambda n: n * K),
    arch=st.sampled_from([None, "x86_64"]), sites=st.sampled_from([(), ("a",), ("b", "a")]), site=st.sampled_from([None, "a"])
    .filter(bool), partition=st.sampled_from([None, "gpu"]), account=st.sampled_from([None, "x-y"]),
    qos=st.sampled_from([None, "high"]), fabric=st.sampled_from([None, "ib"]), container=st.sampled_from([None, "apptainer"]),
    preemptible=st.booleans(), unknown_charge=st.booleans(), max_charge=st.none() | st.integers(1, 10**6).map(lambda n: n / 8),
    runtime=st.none()
    | st.builds(Runtime, seconds=st.integers(1, 600_000).map(float), units=st.integers(1, 64),
                serial=st.none() | st.sampled_from([0.0, 0.05, 1.0]))
    | st.just(Runtime(seconds=600.0, units=1, curve=((1, 600.0), (4, 200.0)))),
    deadline=st.none() | st.integers(0, 10**6).map(lambda s: NOW + timedelta(days=60, seconds=s)),
).filter(lambda e: not e.sites or e.site in e.sites)  # fmt: skip


@given(envelopes.filter(lambda e: e.runtime is None or max(e.runtime.at(1), e.runtime.at(10**8)) < 700_000))
def test_what_is_written_is_read_as_the_same_envelope(envelope):
    words = envelope_words(envelope)
    flags = {word[2:].replace("-", "_"): True for word in words if word in ("--preemptible", "--unknown-charge")}
    pairs = words[: len(words) - len(flags)]
    said = {option[2:].replace("-", "_"): value for option, value in zip(pairs[::2], pairs[1::2], strict=True)}
    assert read_envelope({**said, **flags}, now=NOW) == envelope


def refusal_of(read: Callable[[], object]) -> str | None:
    try:
        read()
    except InvalidRequest as refused:
        return refused.message
    return None


@given(st.text(max_size=12), st.none() | st.text(max_size=6))
def test_any_text_is_a_run_time_or_our_own_error(text, serial):
    assert (refusal_of(lambda: parse_runtime(text, serial)) or "--").startswith("--")
    assert (refusal_of(lambda: parse_deadline(text, NOW)) or "--deadline: ").startswith("--deadline: ")
