"""Options read one by one, as a form has them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.parsing.envelopes import envelope_words, read_envelope, said_words
from jupyter_diamond.parsing.fields import read_fields

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=timezone.utc)


def problems(**said: str) -> dict[str, str]:
    envelope, found = read_fields(said, now=NOW)
    assert (envelope is None) == bool(found)
    return found


def test_nothing_said_is_the_plain_envelope():
    assert read_fields({"gpus": "", "site": "  "}, now=NOW) == (Envelope(), {})


def test_it_reads_what_the_line_reads_flags_too():
    line = "--gpus 1-4 --time 2h --gpu-memory 40G --preemptible --stage-out ckpt/*.pt --serial 0.1 --runtime 1h@1"
    said = {name: "yes" if value is True else str(value) for name, value in said_words(line.split()).items()}
    envelope, found = read_fields(said, now=NOW)
    assert found == {}
    assert envelope is not None
    assert envelope.gpus == Span(min=1, max=4)
    assert envelope.preemptible
    again = {name.replace("-", "_"): value for name, value in said_words(envelope_words(envelope)).items()}
    assert read_envelope(again, now=NOW) == envelope


def test_each_is_told_of_its_own_mistake_and_of_no_other_s():
    found = problems(gpus="many", gpu_memory="40G", time="2 parsecs", runtime="soon", serial="0.1", memory="4")
    assert set(found) == {"gpus", "time", "runtime", "memory"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"gpu-memory": "40G"}, "gpu-memory"),
        ({"soft": "deadline"}, "soft"),
        ({"time": "1h", "runtime": "3h"}, "runtime"),
        ({"site": "delta", "sites": "anvil"}, "site"),
        ({"seed": "7"}, "seed"),
        ({"serial": "0.1"}, "serial"),
    ],
)
def test_of_two_that_contradict_each_other_one_is_told(said, told):
    assert set(problems(**said)) == {told}


def test_an_option_that_is_not_there_is_told():
    assert problems(bogus="1") == {"bogus": "There is no option --bogus."}
