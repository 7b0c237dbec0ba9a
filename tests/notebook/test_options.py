"""What a %%diamond_submit line may say."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope, Span
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


def test_what_the_nodes_must_be_is_a_part_of_the_envelope():
    said = parse_submit("fit --gpus 2 --gpu-model 'a100|h100' --gpu-memory 40G --arch x86_64").envelope
    assert (said.gpu_model, said.gpu_memory_bytes, said.arch) == ("a100|h100", 40 << 30, "x86_64")


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
        ("fit --arch sparc", "--arch cannot be 'sparc'; choose one of x86_64, aarch64"),
        ("fit --cpu 4", "has no option --cpu; did you mean --cpus?"),
        ("fit --mem 4G", "has no option --mem; did you mean --memory?"),
        ("fit --frobnicate", "has no option --frobnicate; it takes --account"),
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
