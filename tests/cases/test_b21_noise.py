"""B21: banners and dotfiles print around the answer; only what stands between the marks is read."""

from __future__ import annotations

import subprocess

import pytest

from jupyter_diamond.errors import TransportError
from jupyter_diamond.transport.marks import Reader, wrap

BEFORE = b"** Scratch purge on 1 May **\nLoading default modules...\n"
AFTER = b"Goodbye\n"
MARK = "5f1c"


def read(raw: bytes, *, piece: int = 1 << 20, max_bytes: int = 1 << 20, code: int | None = 0):
    reader = Reader(MARK, max_bytes)
    for at in range(0, len(raw), piece):
        reader.feed(raw[at : at + piece])
    return reader.answer(where="delta", code=code, stderr=b"", stderr_cut=False, seconds=0)


def real(script: str, *, before: bytes = b"", after: bytes = b"") -> bytes:
    """What a shell prints for the wrapped script."""
    shell = ["bash", "--noprofile", "--norc", "-c", wrap(script, MARK)]
    return before + subprocess.run(shell, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout + after


@pytest.mark.parametrize("piece", [1, 2, 7, 64, 1 << 20])
@pytest.mark.parametrize("before", [b"", BEFORE, b"no newline at its end", b"<<dmd:0000>>\n", b"\xff\n"])
@pytest.mark.parametrize(
    ("script", "answer", "code"),
    [
        ("printf '1234|RUNNING\\n'", b"1234|RUNNING\n", 0),
        ("printf 'no newline'; exit 3", b"no newline", 3),
        ("printf '\\n\\nlines\\n\\n'", b"\n\nlines\n\n", 0),
        ("printf 'looks like <<dmd:5f1b>> and <<dmd:5f1b:rc=9>>'", b"looks like <<dmd:5f1b>> and <<dmd:5f1b:rc=9>>", 0),
        ("false", b"", 1),
    ],
)
def test_only_what_stands_between_the_marks_is_read(script, answer, code, before, piece):
    done = read(real(script, before=before, after=AFTER), piece=piece)
    assert (done.stdout, done.exit) == (answer, code)
    assert before in done.noise
    assert done.noise.endswith(AFTER)
    assert not done.truncated


def test_a_silent_site_has_no_noise():
    assert read(real("echo 1")).noise == b""


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 5_000, 200_000, 1_000_000])
def test_long_output_is_cut_but_its_exit_code_is_read(size):
    done = read(real(f"head -c {size} /dev/zero | tr '\\0' y; exit 5", before=BEFORE), max_bytes=100)
    assert done.exit == 5
    assert done.stdout == b"y" * min(size, 100)
    assert done.truncated == (size > 100)
    assert BEFORE in done.noise


def test_the_error_shows_the_first_line_of_noise_and_names_the_file():
    with pytest.raises(TransportError) as caught:
        read(BEFORE + b"Permission denied\n", code=1)
    assert "Scratch purge on 1 May" in caught.value.message
    assert "delta" in caught.value.message
    assert "~/.bashrc" in caught.value.message
    assert caught.value.outcome == "unknown"
    assert "Permission denied" in caught.value.evidence


def test_a_script_that_was_cut_off_is_not_taken_for_noise():
    cut = real("echo partial").split(b"\n<<dmd:5f1c:rc")[0]
    with pytest.raises(TransportError, match="in the middle of a script") as caught:
        read(BEFORE + cut, code=-9)
    assert "partial" in caught.value.message
    assert "Scratch" not in caught.value.message


def test_a_site_that_says_nothing():
    with pytest.raises(TransportError, match="It printed nothing"):
        read(b"", code=0)
