"""Preflight raises one clear message before anything is queued."""

import pytest

from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.preflight import preflight
from jupyter_diamond.errors import CaptureRefused


def test_passes_what_can_travel(notebook):
    notebook.run("x = 1")
    assert preflight(notebook.capture("y = x")) is None


def test_one_reason_is_the_message(notebook):
    with pytest.raises(CaptureRefused) as caught:
        preflight(notebook.capture("y = missing_name"))
    assert str(caught.value) == "`missing_name` is used by the cell but not defined in this notebook."


def test_all_reasons_stand_in_one_message_each_once(notebook):
    notebook.run("import threading\nlock = threading.Lock()\ndef f():\n    return lock")
    taken = notebook.capture("f(); lock; missing_name", outputs=["result"])
    with pytest.raises(CaptureRefused) as caught:
        preflight(taken)
    assert str(caught.value).splitlines() == [
        "The cell cannot travel to a site, for 3 reasons:",
        "- `lock` is a lock; make it in the cell instead (_thread.lock).",
        "- `missing_name` is used by the cell but not defined in this notebook.",
        "- --out names `result`, but the cell never assigns it. Assign it in the cell, or leave it out of --out.",
    ]


def test_nothing_is_packed_after_a_refusal(notebook):
    with pytest.raises(CaptureRefused):
        pack(notebook.capture("y = missing_name"))


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("import threading\nv = threading.RLock()", "`v` is a lock"),
        ("import queue\nv = queue.Queue()", "`v` holds a lock"),
        ("v = (i for i in [1])", "`v` is a generator or coroutine"),
        ("v = map(str, [1])", "`v` is an iterator (map), which is used up as it is read. Make a list of it first."),
        ("v = iter([1])", "`v` is an iterator (list_iterator)"),
        ("async def f(): pass\nv = f()", "`v` is a generator or coroutine"),
        ("v = open('notes.txt', 'w')", "`v` is an open file (notes.txt)"),
        ("v = [open('notes.txt', 'wb')]", "`v` holds an open file (notes.txt)"),
        ("f = open('notes.txt', 'w')\nv = lambda: f.name\nv = [v]", "`v` holds an open file (notes.txt)"),
        ("import socket\nv = socket.socket()", "`v` is an open socket"),
        ("import subprocess\nv = subprocess.Popen(['true'])\nv.wait()", "`v` is a running process"),
        ("import threading\nv = threading.Thread(target=print)", "`v` is a thread"),
        ("from concurrent.futures import ThreadPoolExecutor\nv = ThreadPoolExecutor(1)", "`v` is a pool of workers"),
        ("import asyncio\nv = asyncio.new_event_loop()\nv.close()", "`v` is a part of this kernel's event loop"),
        ("import json\nv = {'m': [json]}", "`v` holds the module json. Import it in the cell instead."),
        ("v = memoryview(b'x')", "`v` is a view of this kernel's memory"),
        ("import sqlite3\nv = sqlite3.connect(':memory:')", "`v` (Connection) cannot be pickled"),
        ("import numpy as np\nv = np.memmap('m.bin', dtype='u1', mode='w+', shape=4)", "`v` is mapped from the file"),
        ("class A:\n    def __init__(self):\n        self.rows = (i for i in [1])\nv = A()", "`v` holds a generator or coroutine"),
        ("import sys\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    v = sys.exc_info()[2]", "`v` is a frame or traceback"),
        ("class A:\n    def __reduce__(self):\n        raise ValueError('not me')\nv = A()", "`v` (A) cannot be pickled: ValueError: not me"),
        ("v = []\nfor _ in range(100_000):\n    v = [v]", "`v` is nested too deeply"),
    ],
)  # fmt: skip
def test_what_lives_in_the_kernel_is_refused_by_name(notebook, monkeypatch, before, sentence):
    monkeypatch.chdir(notebook.folder)
    notebook.run(before)
    (refusal,) = notebook.capture("v").refusals
    assert refusal.startswith(sentence)
    for name in ("v", "f"):
        opened = notebook.shell.user_ns.get(name)
        for each in opened if isinstance(opened, list) else [opened]:
            if callable(getattr(each, "close", None)):
                each.close()


def test_gpu_memory_is_refused(notebook):
    """No GPU here: a class that says what torch's tensors say, from a module of that name."""
    notebook.run(
        "import types, sys\n"
        "Tensor = type('Tensor', (), {'__module__': 'torch', 'is_cuda': True, 'element_size': lambda s: 4, 'nelement': lambda s: 5})\n"
        "v = {'w': Tensor()}"
    )
    (refusal,) = notebook.capture("v").refusals
    assert (
        refusal == "`v` holds a Tensor in GPU memory (20 bytes), which only this kernel has. Bring it back with .cpu()."
    )
