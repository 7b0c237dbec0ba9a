"""What a %%diamond_submit line may say."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope, Runtime, Span
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.notebook.options import parse_submit


def test_a_whole_line_becomes_an_envelope():
    said = parse_submit(
        "fit --cpus 2-4 --memory 2G --gpus 1 --time 10m --nodes 2 --site delta:gpuA100x4 --account abc --qos normal "
        "--in x,y --out model,scores --lang python --again --wait"
    )
    assert said.envelope == Envelope(
        cpus=Span(min=2, max=4), memory_bytes=Span.exactly(2 << 30), gpus=Span.exactly(1), nodes=Span.exactly(2),
        walltime_s=Span.exactly(600), site="delta", partition="gpuA100x4", account="abc", qos="normal",
    )  # fmt: skip
    assert (said.name, said.inputs, said.outputs) == ("fit", ("x", "y"), ("model", "scores"))
    assert said.again
    assert said.wait
    assert not said.dry_run


def test_what_it_may_do_by_itself_is_bounded():
    assert parse_submit("fit").healing == Healing(retries=3, moves=2, segments=1)
    assert parse_submit("fit --retries 0 --moves 5 --segments 12").healing == Healing(retries=0, moves=5, segments=12)


@pytest.mark.parametrize(("said", "healing"), [
    ("", Healing()), ("--warn 5m", Healing(warn_s=300)), ("--warn 0", Healing(warn_s=0)), ("--warn 0s", Healing(warn_s=0)),
    ("--warn USR1@90s", Healing(warn_s=90, warn_signal="USR1")),
    ("--segments 3 --warn HUP@1h", Healing(segments=3, warn_s=3600, warn_signal="HUP")),
])  # fmt: skip
def test_when_and_how_it_is_warned(said, healing):
    assert parse_submit(f"fit {said}").healing == healing


def test_what_the_nodes_must_be_is_a_part_of_the_envelope():
    said = parse_submit("fit --gpus 2 --gpu-model 'a100|h100' --gpu-memory 40G --arch x86_64").envelope
    assert (said.gpu_model, said.gpu_memory_bytes, said.arch) == ("a100|h100", 40 << 30, "x86_64")


def test_a_place_and_a_purpose_may_be_told():
    said = parse_submit(
        "fit --gpus 1-4 --time 4h --runtime 2h@1 --serial 0.05 --sites delta, anvil --fabric ib --container apptainer "
        "--preemptible --max-charge 20 --soft gpu-memory,sites --gpu-memory 40G --objective random --seed 7"
    ).envelope
    assert said.runtime == Runtime(seconds=7200, units=1, serial=0.05)
    assert (said.sites, said.fabric, said.container, said.preemptible) == (("delta", "anvil"), "ib", "apptainer", True)
    assert (said.objective, said.seed, said.max_charge, said.soft) == ("random", 7, 20.0, ("gpu_memory", "sites"))


@pytest.mark.parametrize(
    "kind", ["a100", "A100", "nvidia_a100_80gb_pcie", "rtx", "V100", "MI250X", "1g.10gb", "a100_1g.5gb", "gh200"]
)
def test_kinds_that_are_documented_are_known(kind):
    def never():
        raise AssertionError("the sites are not asked")

    assert parse_submit(f"fit --gpus 1 --gpu-model {kind}", never).envelope.gpu_model == kind


def test_a_kind_that_only_a_site_has_is_known_too():
    assert parse_submit("fit --gpus 1 --gpu-model t4", lambda: ["Tesla-T4"]).envelope.gpu_model == "t4"
    with pytest.raises(InvalidRequest, match=r"no GPU 'teslat5' is known, .*; did you mean tesla-t4\?$"):
        parse_submit("fit --gpus 1 --gpu-model teslat5", lambda: ["Tesla-T4"])


def test_a_bare_name_asks_for_one_cpu_and_half_an_hour():
    said = parse_submit("fit")
    assert said.envelope == Envelope()
    assert said.outputs == ()


@pytest.mark.parametrize(
    "line", ["fit --in x, y", "fit --in=x,y", "fit --in 'x, y'", "fit --in x --in y", "fit --in x,y,"]
)
def test_lists_may_be_written_in_any_natural_way(line):
    assert parse_submit(line).inputs == ("x", "y")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("fit --gpu-memory 40G", "^--gpu-memory needs a GPU: write --gpus 1"),
        ("fit --gpu-model a100", "^--gpu-model needs a GPU: write --gpus 1"),
        ("fit --gpus 1 --gpu-memory 40", "unit: 40G"),
        ("fit --gpus 1 --gpu-model '|'", "'|' names no kind of GPU; write --gpu-model 'a100|h100'"),
        (
            "fit --gpus 1 --gpu-model a101",
            "no GPU 'a101' is known, and none of your sites has one; did you mean a100\\?$",
        ),
        ("fit --gpus 1 --gpu-model H1000", r"no GPU 'H1000' is known, .*; did you mean h100\?$"),
        ("fit --gpus 1 --gpu-model 'rtx 4080'", r"no GPU 'rtx 4080' is known, .*; did you mean rtx 4090\?$"),
        ("fit --gpus 1 --gpu-model 'a100|hopper'", "no GPU 'hopper' is known"),
        (
            "fit --gpus 1 --gpu-model a100 --gpu-memory 141G",
            (
                "--gpu-model a100 and --gpu-memory 141G contradict each other: the largest such GPU has 80G; "
                "write --gpu-model 'h200', or ask for at most --gpu-memory 80G."
            ),
        ),
        (
            "fit --gpus 2 --gpu-model a40 --gpu-memory 300G",
            "--gpu-model a40 and --gpu-memory 300G contradict each other: the largest such GPU has 48G; ask for at most",
        ),
        ("fit --runtime", "--runtime needs a value, e.g. --runtime 2h, --runtime 2h@1 or --runtime 1:4h,4:80m"),
        ("fit --runtime 2h", "--runtime 2h and the time limit of 30m .* contradict each other"),
        ("fit --constraint gpu", "has no option --constraint; write --gpu-model, --fabric or --arch"),
        ("fit --arch sparc", "--arch cannot be 'sparc'; choose one of x86_64, aarch64"),
        ("fit --cpu 4", "has no option --cpu; did you mean --cpus?"),
        ("fit --mem 4G", "has no option --mem; did you mean --memory?"),
        ("fit --xyzzyx", "has no option --xyzzyx; it takes --account"),
        ("fit -n 4", "has no option -n"),
        ("fit --cpus", "--cpus needs a value, e.g. --cpus 4"),
        ("fit --cpus -1", "--cpus: '-1' is not a count"),
        ("fit --cpus 4-2", "--cpus: the range '4-2' runs backwards"),
        ("fit --cpus 0", "--cpus must be at least 1"),
        ("fit --nodes 0-2", "--nodes must be at least 1"),
        ("fit --cpus 2.5", "--cpus: '2.5' is not a count"),
        ("fit --memory 5", "--memory: .*unit"),
        ("fit --memory -5G", "--memory: "),
        ("fit --time 90", "--time: "),
        ("fit --time -10m", "--time: "),
        ("fit --time soon", "--time: "),
        ("fit --retries many", "--retries: 'many' is not a number of times"),
        ("fit --moves -1", "--moves: '-1' is not a number of times"),
        ("fit --segments 0", "--segments: '0' is not a number"),
        ("fit --warn 5", "--warn: 5 what"),
        ("fit --warn KILL@5m", "--warn: 'KILL' is no signal to warn with; choose one of USR2, USR1, HUP"),
        ("fit --warn @5m", "--warn: '' is no signal to warn with"),
        ("fit --warn 2d", "--warn: a warning 2d before the end is too early"),
        ("fit --lang r", "--lang cannot be 'r'; choose one of python, bash"),
        ("fit --site :gpu", "is not SITE or SITE:PARTITION"),
        ("fit --site delta:", "is not SITE or SITE:PARTITION"),
        ("fit --out 2x", "--out '2x' is not a variable name"),
        ("fit --out a,a", "--out names a twice"),
        ("fit --out fit", "would overwrite the task's own handle"),
        ("fit now", "'now' is one word too many"),
        ("2fit", "'2fit' cannot be a task's name"),
        ("my-fit", "'my-fit' cannot be a task's name"),
        ("fit --in 'x", "a quote is not closed"),
        ("", "needs a task's name, e.g. %%diamond_submit fit"),
        ("--cpus 4", "needs a task's name"),
        ("fit --partition gpu", "has no option --partition; write --site SITE:PARTITION"),
        ("fit -c 4", "has no option -c; write --cpus"),
        ("fit --wait=3", "--wait takes no value; leave '3' away"),
        ("--frobnicate", "has no option --frobnicate"),
        ("fit --cpus 1-", "the range '1-' has no end"),
        ("fit --account=", "--account '' is no name that a scheduler knows"),
        ("fit --qos 'a;b'", "--qos 'a;b' is no name that a scheduler knows"),
        ("class", "`class` is a word of Python's own"),
        ("print", "`print` is a word of Python's own"),
    ],
)
def test_every_mistake_is_one_sentence(line, sentence):
    with pytest.raises(InvalidRequest, match=sentence) as caught:
        parse_submit(line)
    assert "\n" not in caught.value.message
