"""``--env``: names and files of requirements, as they travel."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone

import pytest

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.notebook.needs import add_needs, envelope_of
from jupyter_diamond.parsing.envelopes import envelope_words, read_envelope
from jupyter_diamond.parsing.environments import digest_of, from_file, packages_of

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def read(**said):
    return read_envelope(said, now=NOW)


def test_a_name_is_read_and_written_back():
    envelope = read(env="torch-2.4")
    assert envelope.env == Environment(name="torch-2.4")
    assert envelope_words(envelope) == ["--env", "torch-2.4"]


@pytest.mark.parametrize("text", ["requirements.txt", "sub/environment", "pyproject.toml", "reqs.in"])
def test_a_file_is_read_where_the_line_is_written_and_nowhere_else(text):
    with pytest.raises(InvalidRequest, match="is read where you write the line"):
        read(env=text)


@pytest.mark.parametrize("text", ["2fast", "a b", "x$(y)", "", "é"])
def test_what_is_no_name_is_refused(text):
    with pytest.raises(InvalidRequest, match="is no name of an environment"):
        read(env=text)


def test_what_means_the_same_is_the_same_text():
    one = from_file(
        "requirements.txt", "# mine\nNumPy>=2 # the array\n\npandas\n--pre\nscipy[extra] ; python_version > '3'", "3.11"
    )
    two = from_file(
        "r/requirements.txt", 'pandas\r\n--pre\nscipy[extra];python_version>"3"\nNumPy >= 2\npandas\n', "3.11"
    )
    assert one.requirements == '--pre\nNumPy>=2\npandas\nscipy[extra]; python_version > "3"\n'
    assert digest_of(one) == digest_of(two)
    assert digest_of(one) != digest_of(one.model_copy(update={"python": "3.12"}))
    assert packages_of(one) == ("numpy", "pandas", "scipy")


def test_hashes_and_addresses_stay():
    text = "numpy==2.0 \\\n  --hash=sha256:bb \\\n  --hash=sha256:aa\nmine @ git+https://example.org/mine@v1\n-i https://example.org/simple"
    found = from_file("requirements.txt", text, "3.11").requirements
    assert found == (
        "-i https://example.org/simple\nmine @ git+https://example.org/mine@v1\n"
        "numpy==2.0 --hash=sha256:aa --hash=sha256:bb\n"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("-e .", "'-e .' cannot travel to a site"),
        ("-r other.txt", "'-r other.txt' cannot travel to a site"),
        ("--find-links /here", "'--find-links /here' cannot travel to a site"),
        ("./pkg", "'./pkg' is no requirement that a site can install"),
        ("pkg @ file:///here", "'pkg @ file:///here' lies on this machine alone"),
        ("numpy>=2; rm -rf /", "is no requirement that a site can install"),
        ("$(rm)", "is no requirement that a site can install"),
    ],
)
def test_what_means_something_here_alone_is_refused(text, sentence):
    with pytest.raises(InvalidRequest) as no:
        from_file("requirements.txt", text, "3.11")
    assert sentence in no.value.message


def test_of_a_pyproject_the_dependencies_count():
    text = '[project]\nname = "x"\ndependencies = ["numpy>=2", "rich"]\n[tool.other]\nz = 1'
    assert from_file("pyproject.toml", text, "3.11") == Environment(
        name="pyproject", requirements="numpy>=2\nrich\n", python="3.11"
    )
    for wrong in ("[project]\nname = 'x'", "[project]\ndependencies = 'numpy'", "project = 1", "[[["):
        with pytest.raises(InvalidRequest, match=r"pyproject\.toml"):
            from_file("pyproject.toml", wrong, "3.11")


def parsed(*words):
    parser = argparse.ArgumentParser()
    add_needs(parser)
    return envelope_of(parser.parse_args(words))


def test_the_line_reads_the_file_in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my deps.txt").write_text("rich\n")
    assert parsed("--env", "my deps.txt").env.requirements == "rich\n"
    assert parsed("--env", "my deps.txt").env.name == "my-deps"
    with pytest.raises(InvalidRequest, match=r"--env gone\.txt cannot be read here: No such file"):
        parsed("--env", "gone.txt")
    (tmp_path / "large.txt").write_text("x" * 70_000)
    with pytest.raises(InvalidRequest, match="larger than 64 KiB"):
        parsed("--env", "large.txt")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequest, match="it is not text"):
        parsed("--env", "binary.txt")
