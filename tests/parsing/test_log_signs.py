"""What in a log tells of an error, and what only looks like it."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.parsing.log_signs import MOST_LINES, NEEDLES, PAIRS, errors_in

SIGNS = [
    ("traceback", "Traceback (most recent call last):\n  File 'x', line 1\nValueError: bad"),
    ("traceback", "[rank0]: Traceback (most recent call last):\n[rank0]:   File 'x'\n[rank0]: KeyError: 'a'"),
    ("mpi", "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"),
    ("mpi", "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 0"),
    ("mpi", "mpirun noticed that process rank 1 with PID 0 on node cn01 exited on signal 9 (Killed)."),
    ("mpi", "Fatal error in MPI_Init: Other MPI error, error stack:"),
    ("gpu_memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB"),
    ("gpu_memory", "RuntimeError: CUDA out of memory."),
    ("gpu", "RuntimeError: CUDA error: an illegal memory access was encountered"),
    ("gpu", "ncclSystemError: System call (e.g. socket, malloc) or external library call failed"),
    ("memory", "slurmstepd: error: Detected 1 oom_kill event in StepId=812.batch."),
    ("memory", "terminate called after throwing an instance of 'std::bad_alloc'"),
    ("memory", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 74.5 GiB for an array with shape (1,)"),
    ("crash", "Segmentation fault (core dumped)"),
    ("crash", "[cn01:12345] Signal: Segmentation fault (11)"),
    ("crash", "Bus error"),
    ("crash", "*** Process received signal SIGSEGV ***"),
    ("not_found", "/var/spool/slurmd/job812/slurm_script: line 12: lmp: command not found"),
    ("not_found", "sh: 1: lmp: not found"),
    ("not_found", "./lmp: error while loading shared libraries: libmpi.so.40: cannot open shared object file"),
    ("not_found", "./lmp: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by ./lmp)"),
    ("not_found", 'Lmod has detected the following error: The following module(s) are unknown: "cuda/99"'),
    ("nan_loss", "epoch 3  loss: nan  lr 1e-3"),
    ("nan_loss", "{'loss': nan, 'grad_norm': 1.2}"),
    ("nan_loss", "train_loss=inf"),
    ("nan_loss", "Loss is NaN at step 40"),
    ("disk", "OSError: [Errno 28] No space left on device"),
    ("disk", "cp: error writing 'x': Disk quota exceeded"),
    ("scheduler", "srun: error: cn01: task 0: Exited with exit code 1"),
    ("killed", "/bin/bash: line 3: 12345 Killed                  python train.py"),
    ("killed", "Killed"),
    ("error", "2026-03-01 10:00:00,123 - trainer - ERROR - no data"),
    ("error", "[ERROR] could not open the mesh"),
    ("error", "main.c:12:3: fatal error: mpi.h: not here"),
    ("error", "ModuleNotFoundError: No module named 'torch'"),
]
FRIENDS = [
    "0 errors, 0 warnings", "finished with no errors", "Errors: 0", "error: 0.0312", "validation error 1e-3",
    "error rate: 0.12", "relative error=1.5e-09", "error bars are drawn", "test_segmentation_fault PASSED",
    "loss: 0.31", "loss is finite", "if loss is nan: stop", "information about loss", "no nan loss seen",
    "+ echo 'Traceback (most recent call last):'", "# ERROR: only a comment", "oom_kill 0",
    "The killed processes are counted", "without any error", "ignoring CUDA error", "ERROR: 0", "mean_squared_error: 12.5",
    "terror and horror", "class ErrorHandler", "error_log: /tmp/x", "Loss function: infonce", "lossless info: infinity",
    "ERRORS: 0, FAILED: 0",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), SIGNS)
def test_a_sign_is_told_with_its_class_and_line(kind, text):
    found = errors_in(f"step 1\n{text}\nthe end\n")
    assert found, text
    assert found[0].kind == kind
    assert found[0].line.split()[-1] in text


@pytest.mark.parametrize("line", FRIENDS)
def test_a_false_friend_is_no_sign(line):
    assert errors_in(f"step 1\n{line}\nthe end") == ()


def test_a_traceback_is_told_by_the_line_that_names_its_exception():
    text = "Traceback (most recent call last):\n  File 'a.py', line 3, in f\n    x\nmine.Odd: it broke\nnext\n"
    assert [(each.kind, each.line) for each in errors_in(text)] == [("traceback", "mine.Odd: it broke")]
    ranks = "[rank1]: Traceback (most recent call last):\n[rank1]:   File 'a'\n[rank1]: ValueError: bad\n"
    assert errors_in(ranks)[0].line == "ValueError: bad"
    assert errors_in("Traceback (most recent call last):")[0].kind == "traceback"


def test_an_exception_that_python_ignored_is_none():
    text = "Exception ignored in: <function A.__del__>\nTraceback (most recent call last):\n  File 'a'\nAttributeError: x\n"
    assert "traceback" not in {each.kind for each in errors_in(text)}


def test_of_many_signs_every_class_is_told():
    text = "ERROR: first\n" + "".join(f"ERROR: no. {n} of them\n" for n in range(50)) + "Bus error\nloss: nan\n"
    found = errors_in(text, most=5)
    assert len(found) == 5
    assert {each.kind for each in found} == {"error", "crash", "nan_loss"}


def test_what_moves_a_cursor_is_taken_out_and_long_lines_are_cut():
    found = errors_in("\x1b[31mERROR: \x07bad\x1b[0m\u202e\n" + "ERROR: " + "x" * 5000)
    assert all(char.isprintable() for each in found for char in each.line)
    assert max(len(each.line) for each in found) <= 301


def test_a_bar_that_draws_over_itself_hides_nothing():
    assert errors_in("10%\r20%\rBus error\r30%")[0].kind == "crash"


@given(st.text(max_size=2000))
def test_any_text_is_read(text):
    for each in errors_in(text):
        assert each.line.isprintable() or "\t" in each.line


@pytest.mark.parametrize(
    "piece",
    ["x", "error ", "error: " + " " * 200, "loss: nan\n", "loss" + " " * 50, "loss:        nano\n", "0 errors no ", "\n",
     "Traceback (most recent call last)\n", "line 1: " + "1" * 50 + " Killed ", "İ error: "],
)  # fmt: skip
def test_the_time_grows_with_the_text_and_no_faster(piece):
    def took(size):
        text = (piece * (size // len(piece) + 1))[:size]
        begun = time.process_time()
        errors_in(text)
        return time.process_time() - begun

    took(1 << 12)
    assert took(1 << 18) < max(2.0, 200 * took(1 << 14))


def test_a_line_with_a_sign_has_one_of_the_words_that_are_looked_for_first():
    for _, text in SIGNS:
        assert any(
            any(word in line.lower() for word in NEEDLES)
            or any(word in line.lower() and any(each in line.lower() for each in also) for word, also in PAIRS)
            for line in text.split("\n")
        )
    assert MOST_LINES >= 1000
