"""B18: node lists. Nothing may silently become one node."""

import pytest

from jupyter_diamond.errors import ParseError
from jupyter_diamond.parsing import nodelists


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n[001-003,007]", ["n001", "n002", "n003", "n007"]),
        ("c427-032,c429-002", ["c427-032", "c429-002"]),
        ("cn-[10-11]-[01-02]", ["cn-10-01", "cn-10-02", "cn-11-01", "cn-11-02"]),
        ("rack[0-1]_blade[0-1]", ["rack0_blade0", "rack0_blade1", "rack1_blade0", "rack1_blade1"]),
        ("login,gpu[01,03],big", ["login", "gpu01", "gpu03", "big"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
        ("(null)", []),
        ("None assigned", []),
        ("", []),
        ("N/A", []),
    ],
)
def test_lists_are_expanded(text, names):
    assert list(nodelists.expand(text)) == names


@pytest.mark.parametrize(
    "text",
    [
        "n[001-003",
        "n001-003]",
        "n[3-1]",
        "n[a-b]",
        "n[]",
        "a b",
        "a,,b",
        "n[1-999999999]",
        "-n1",
        "n[1-2]$(x)",
        "a[1-2[3]]",
    ],
)
def test_unknown_text_is_an_error_never_one_node(text):
    with pytest.raises(ParseError):
        nodelists.expand(text)
