"""A pattern finds in a notebook what it kept at a site: both read it alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.cell.runner.diamond_runner import Attempt, Kept
from jupyter_diamond.parsing.globs import names

PATHS = [
    "a.pt",
    "ckpt/1.pt",
    "ckpt/deep/2.pt",
    "ckpt/.hidden",
    "x.zarr/.zarray",
    "x.zarr/0.0",
    ".hid/x",
    "*",
    "a\nb",
    "b/b",
]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.pt", ["a.pt"]),
        ("ckpt/*", ["ckpt/1.pt"]),
        ("ckpt", ["ckpt/1.pt", "ckpt/deep/2.pt", "ckpt/.hidden"]),
        ("./ckpt/", ["ckpt/1.pt", "ckpt/deep/2.pt", "ckpt/.hidden"]),
        ("**/*.pt", ["a.pt", "ckpt/1.pt", "ckpt/deep/2.pt"]),
        ("*.zarr", ["x.zarr/.zarray", "x.zarr/0.0"]),
        ("**", ["a.pt", "ckpt/1.pt", "ckpt/deep/2.pt", "x.zarr/0.0", "*", "a\nb", "b/b"]),
        ("[*]", ["*"]),
        ("*", ["a.pt", "*", "a\nb"]),
        ("none", []),
    ],
)
def test_a_pattern_names_files_as_a_shell_would(pattern, found):
    assert [path for path in PATHS if names(pattern, path)] == found


PART = st.sampled_from(["a", "b", ".a", "*", "**", "a*", ".*", "ab"])
NAME = st.sampled_from(["a", "b", ".a", "ab", ".b"])


@given(pattern=st.lists(PART, min_size=1, max_size=4), paths=st.sets(st.lists(NAME, min_size=1, max_size=4).map(tuple)))
def test_the_notebook_and_the_runner_read_it_alike(tmp_path_factory, pattern, paths):
    text = "/".join(pattern)
    kept = Kept(Attempt("/", ""), [text])

    def walked(path):
        states = {(0, 0)}
        for at, name in enumerate(path):
            after = kept._step(kept._closed(states), name)
            states = after if at == len(path) - 1 else kept._below(after)
        return (0, len(kept.patterns[0])) in states

    for path in paths:
        assert names(text, "/".join(path)) == walked(path)
