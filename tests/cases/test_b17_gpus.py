"""B17: GRES and GPU strings."""

import pytest

from jupyter_diamond.errors import ParseError
from jupyter_diamond.parsing import gres


@pytest.mark.parametrize(
    ("text", "by_type"),
    [
        ("gpu:8", {"": 8}),
        ("gpu:a100:4(S:0-1)", {"a100": 4}),
        ("gpu:a100:8(S:0,2-3),nvme:1", {"a100": 8}),
        ("gpu:tesla:2,gpu:kepler:2", {"tesla": 2, "kepler": 2}),
        ("gpu:h100:3(IDX:0,4-5)", {"h100": 3}),
        ("(null)", {}),
        ("", {}),
        ("N/A", {}),
        ("gres:gpu:2", {"": 2}),
        ("gres/gpu=4,gres/gpu:a100=4", {"a100": 4}),
        ("gres/gpu=4,gres/gpu:a100=2", {"a100": 2, "": 2}),
        ("gpu:1g.10gb:7", {"1g.10gb": 7}),
        ("shard:16", {}),
        ("craynetwork:4", {}),
        ("gpu:0", {"": 0}),
        ("gpu:a40:0(IDX:N/A)", {"a40": 0}),
        ("gpu:nvidia_a100_80gb_pcie:2,shard:nvidia_a100_80gb_pcie:16", {"nvidia_a100_80gb_pcie": 2}),
        ("gpu:nvidia_a100_80gb_pcie:0(IDX:N/A),shard:nvidia_a100_80gb_pcie:6(6/8,0/8)", {"nvidia_a100_80gb_pcie": 0}),
        ("gpu:a100_1g.5gb:2,gpu:a100_3g.20gb:1,gpu:a100:1", {"a100_1g.5gb": 2, "a100_3g.20gb": 1, "a100": 1}),
        ("gres/gpu:h100:2", {"h100": 2}),
        ("gpu:3090:4", {"3090": 4}),
        ("gpu", {"": 1}),
        ("gpu:a100", {"a100": 1}),
        ("bandwidth:lustre:no_consume:4G,gpu:2", {"": 2}),
        ("mps:400,gpu:v100:2(S:0)", {"v100": 2}),
    ],
)
def test_gpus_by_type(text, by_type):
    assert gres.gpus_by_type(text) == by_type
    assert gres.gpus(text) == sum(by_type.values())


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("cpu=96,mem=1031000M,billing=4,gres/gpu=4,gres/gpu:h100=4", 4),
        ("cpu=1,mem=1G,gres/gpu=2", 2),
        ("cpu=1,gres/gpu:a100=2,gres/gpu:a40=1", 3),
        ("cpu=128,mem=257400M", None),
        ("gres/shard=16,gres/gpumem=0", None),
        ("", None),
    ],
)
def test_gpus_of_tres_text(text, count):
    assert gres.tres_gpus(text) == count


@pytest.mark.parametrize("text", ["gpu::4", "4", "gpu:a100:4,,", "$(reboot)"])
def test_text_that_is_no_list_is_an_error(text):
    with pytest.raises(ParseError):
        gres.gpus_by_type(text)
