"""Where data lies and what is staged, as it is written, and back."""

import re
from datetime import datetime, timezone
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.data import Location, StageIn, StageOut
from jupyter_diamond.notebook.options import submit_parser
from jupyter_diamond.parsing.envelopes import envelope_words, read_envelope, said_words
from jupyter_diamond.parsing.locations import location_of
from jupyter_diamond.parsing.stagings import stage_in_of, stage_in_text, stage_out_of, stage_out_text

ID = UUID("5f6b9fd0-1b0c-4d0f-9b0e-0123456789ab")
NOW = datetime(2027, 1, 30, 12, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("delta:/scratch/x", Location(kind="site", site="delta", path="/scratch/x")),
        ("delta:~/x y#1", Location(kind="site", site="delta", path="~/x y#1")),
        ("delta://scratch//x/", Location(kind="site", site="delta", path="/scratch/x/")),
        (f"globus://{ID}/a/b", Location(kind="globus", collection=ID, path="/a/b")),
        (f"globus://{ID}/~/b", Location(kind="globus", collection=ID, path="~/b")),
        (f"globus://{ID}", Location(kind="globus", collection=ID, path="/")),
        ("home:/x", Location(kind="home", path="/x")),
        ("/x:y=z", Location(kind="home", path="/x:y=z")),
        ("~/x", Location(kind="home", path="~/x")),
        ("home:/", Location(kind="home", path="/")),
    ],
)
def test_a_location_is_read_and_written(text, location):
    assert location_of(text) == location
    assert location_of(str(location)) == location


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("imagenet", "'imagenet' is no location; write delta:/"),
        ("delta:", "it names no path"),
        ("delta:x", "'x' must begin with / or ~/"),
        ("delta:/a/../b", "must not go up"),
        ("home:/a\nb", "no control characters"),
        ("globus://delta/x", "'delta' is no collection's id"),
        ("detla:/x", "there is no site 'detla'; did you mean delta?"),
        ("nowhere:/x", "the sites are: delta, anvil."),
    ],
)
def test_what_is_no_location_is_refused_with_what_to_write(text, said):
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        location_of(text, ("delta", "anvil"))


paths = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=20
)


@given(paths, st.sampled_from(["delta:/", "home:/", f"globus://{ID}/", "delta:~/"]))
def test_any_path_comes_back(path, place):
    try:
        location = location_of(place + path)
    except InvalidRequest:
        return
    assert location_of(str(location)) == location


def test_stagings_are_read_and_written():
    labels = StageIn(name="labels", source=Location(kind="site", site="delta", path="/l=1"))
    assert [stage_in_of("imagenet"), stage_in_of("labels=delta:/l=1")] == [StageIn(name="imagenet"), labels]
    assert stage_in_text(labels) == "labels=delta:/l=1"
    out = StageOut(pattern="ckpt/*.pt", destination=Location(kind="home", path="/results/"))
    assert [stage_out_of("ckpt/*.pt"), stage_out_of("ckpt/*.pt=>home:/results/")] == [
        StageOut(pattern="ckpt/*.pt"),
        out,
    ]
    assert stage_out_text(out) == "ckpt/*.pt=>home:/results/"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"stage_in": ["delta:/x"]}, "'delta:/x' is no name of data. A location needs a name: NAME=LOCATION."),
        ({"stage_in": ["x="]}, "--stage-in 'x=' names no location"),
        ({"stage_in": ["x=y"]}, "'y' is no location"),
        ({"stage_in": ["a=/x", "a=/y"]}, "--stage-in names a twice"),
        ({"stage_in": "a 'b"}, "quote it as in a shell"),
        ({"stage_out": ["/etc/*"]}, "must name files below the folder that the cell runs in"),
        ({"stage_out": ["../x"]}, "must name files below"),
        ({"stage_out": ["=>home:/x"]}, "it names no files"),
        ({"stage_out": ["x=>"]}, "names no location"),
    ],
)
def test_a_staging_that_cannot_be_read_says_what_to_write(said, sentence):
    with pytest.raises(InvalidRequest, match=re.escape(sentence)):
        read_envelope(said, now=NOW)


def test_the_options_of_a_line_say_it_as_the_words_do():
    line = ["fit", "--stage-in", "imagenet", "--stage-in", "l=delta:/a b", "--stage-out", "c/*.pt=>home:/r"]
    envelope = read_envelope(vars(submit_parser().parse_args(line)), now=NOW)
    assert envelope_words(envelope) == line[1:]
    said = {name.replace("-", "_"): value for name, value in said_words(envelope_words(envelope)).items()}
    assert said == {"stage_in": "imagenet 'l=delta:/a b'", "stage_out": "'c/*.pt=>home:/r'"}
    assert read_envelope(said, now=NOW) == envelope
