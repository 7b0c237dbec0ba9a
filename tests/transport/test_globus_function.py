"""What travels to a site as one function: it runs on any Python there, and what comes back is read with suspicion."""

from __future__ import annotations

import ast
import base64
import json
import os
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from jupyter_diamond.errors import TransportError
from jupyter_diamond.transport.globus_compute_wire import (
    FUNCTION,
    FarAnswer,
    FarAnswers,
    FarStream,
    Piece,
    Script,
    completed,
    function_source,
    order,
    packed,
    unpacked,
)

FAR = {}
"""The module as an endpoint has it: its text, executed in an empty namespace."""
exec(function_source(), FAR)


@pytest.fixture
def far():
    return FAR


def call(far, scripts, folder, **how):
    body = order([one.packed() for one in scripts], env=how.pop("env", {}), folder=str(folder),
                 start_by=how.pop("start_by", time.time() + 60))  # fmt: skip
    answer = far[FUNCTION](json.loads(json.dumps({**body, **how})))
    return FarAnswers.model_validate_json(json.dumps(answer))


def script(text, **fields):
    return Script(text, **{"stdin": b"", "timeout_s": 20.0, "max_bytes": 1 << 20} | fields)


def test_it_is_python_3_6_and_one_function_is_called():
    tree = ast.parse(function_source(), feature_version=(3, 6))
    assert FUNCTION in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_it_neither_changes_nor_needs_anything_of_the_process(far, tmp_path, monkeypatch):
    """The agent runs tasks in threads of one process, each of which may change its folder and its environment."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    before = dict(os.environ)
    mine = script("pwd; echo $X")
    (answer,) = call(far, [mine], tmp_path, env={"X": "y", "HOME": str(tmp_path)}).answers
    assert completed("delta", mine, answer).out == f"{tmp_path}\ny\n"
    assert dict(os.environ) == before
    with pytest.raises(FileNotFoundError):
        Path.cwd()


def test_what_comes_late_is_not_run(far, tmp_path):
    answer = call(far, [script(f"touch {tmp_path}/ran")], tmp_path, start_by=time.time() - 1)
    assert (answer.late, answer.answers) == (True, ())
    assert not (tmp_path / "ran").exists()


def test_pieces_come_in_any_order_and_twice_and_are_removed_with_the_script(far, tmp_path):
    data = os.urandom(3000)
    pieces = [Piece("0" * 24, at, data[at : at + 1000]) for at in (2000, 0, 1000, 0)]
    assert [one.end for one in call(far, pieces, tmp_path / "w").answers] == ["kept"] * 4
    (file,) = (tmp_path / "w").iterdir()
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    reads = script("cat", upload="0" * 24, upload_bytes=3000)
    (answer,) = call(far, [reads], tmp_path / "w").answers
    assert completed("delta", reads, answer).stdout == data
    assert list((tmp_path / "w").iterdir()) == []


def test_an_input_that_is_not_whole_is_not_run(far, tmp_path):
    call(far, [Piece("0" * 24, 0, b"half")], tmp_path)
    reads = script(f"touch {tmp_path}/ran", upload="0" * 24, upload_bytes=8)
    (answer,) = call(far, [reads], tmp_path).answers
    with pytest.raises(TransportError, match=r"only 4 of 8 bytes have come\. Nothing was run") as caught:
        completed("delta", reads, answer)
    assert caught.value.outcome == "not_sent"
    assert list(tmp_path.iterdir()) == []


def test_what_uploads_of_other_days_left_is_removed(far, tmp_path):
    old, mine = tmp_path / ".upload-old", tmp_path / "mine"
    for file in (old, mine):
        file.write_text("x")
        os.utime(file, (1, 1))
    call(far, [Piece("0" * 24, 0, b"x")], tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".upload-" + "0" * 24, "mine"]


@pytest.mark.parametrize("name", ["../x", "a" * 65, "A" * 24, "", "a/b/c/d/e/f"])
def test_an_upload_has_a_name_of_ours_or_none(far, tmp_path, name):
    with pytest.raises(ValueError, match="not a name"):
        far["upload_path"](str(tmp_path), name)


def test_a_folder_that_cannot_be_made_is_said(far, tmp_path):
    (tmp_path / "file").write_text("")
    (answer,) = call(far, [Piece("0" * 24, 0, b"x")], tmp_path / "file" / "below").answers
    assert answer.end == "not_started"
    assert "below: Not a directory" in answer.why


def test_the_path_is_without_the_virtual_environment_of_the_agent(far, monkeypatch):
    monkeypatch.setattr(far["sys"], "prefix", "/home/me/agent")
    monkeypatch.setattr(far["sys"], "base_prefix", "/usr")
    assert far["own_path"]("/home/me/agent/bin:/usr/bin::/home/me/agent/bin/:/bin") == "/usr/bin:/bin"


@settings(deadline=None)
@given(st.lists(st.integers(0, 10_000_000), min_size=1, max_size=40), st.integers(0, 20_000_000))
def test_the_water_level_leaves_what_is_small_and_fits(sizes, most):
    level = FAR["water_level"](sizes, most)
    assert sum(min(size, level) for size in sizes) <= most


@settings(deadline=None)
@given(st.binary(max_size=20_000))
def test_bytes_survive_both_ways(data):
    assert unpacked(FAR["packed"](data)) == data
    assert FAR["unpacked"](packed(data)) == data


@settings(deadline=None)
@given(st.text(max_size=200))
def test_what_is_not_packed_bytes_is_refused(text):
    try:
        unpacked(text)
    except ValueError:
        return
    assert text[:1] in ("b", "z")


def test_what_swells_beyond_all_bounds_is_refused():
    bomb = "z" + base64.b64encode(zlib.compress(bytes(100 << 20), 9)).decode()
    assert len(bomb) < 200_000
    with pytest.raises(ValueError, match="more than"):
        unpacked(bomb)


STREAMS = st.builds(
    FarStream, head=st.one_of(st.text(max_size=40), st.binary(max_size=400).map(packed)), tail=st.text(max_size=9),
    gap=st.booleans(),
)  # fmt: skip


@settings(deadline=None)
@given(
    st.sampled_from(["ended", "overrun", "not_started", "kept"]), st.text(max_size=400), STREAMS, STREAMS,
    st.one_of(st.none(), st.integers()),
)  # fmt: skip
def test_no_answer_of_an_endpoint_makes_a_result_that_was_not_marked(end, why, out, err, code):
    answer = FarAnswer(end=end, why=why, code=code, out=out, err=err)
    with pytest.raises(TransportError) as caught:
        completed("delta", script("true"), answer)
    assert caught.value.outcome == ("not_sent" if end in ("not_started", "kept") and readable(out, err) else "unknown")
    assert "\n" not in caught.value.message


def readable(*streams):
    try:
        for stream in streams:
            unpacked(stream.head)
        unpacked(streams[0].tail or "b")
    except ValueError:
        return False
    return True


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_an_answer_or_a_validation_error(value):
    try:
        FarAnswers.model_validate_json(json.dumps(value))
    except ValidationError:
        return
    raise AssertionError(value)
