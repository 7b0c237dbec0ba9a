"""Only what was signed is opened, and what cannot be rebuilt says what to do."""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from jupyter_diamond.cell import codecs
from jupyter_diamond.cell.result import load_value, remote_error
from jupyter_diamond.errors import ResultUnavailable
from jupyter_diamond.model.manifest import CellError, Manifest, ResultFile

KEY = "0f" * 32


def signed(data: bytes, codec="pickle", key=KEY, **more) -> ResultFile:
    return ResultFile(
        name="x", codec=codec, file="result/x", bytes=len(data), sha256=hashlib.sha256(data).hexdigest(),
        hmac=hmac.new(bytes.fromhex(key), data, hashlib.sha256).hexdigest(), type="Point", **more,
    )  # fmt: skip


@pytest.mark.parametrize("value", [[1, {"a": None}], np.arange(4), {1, 2}])
def test_a_signed_value_comes_back(value):
    coded = codecs.encode(value, limit_bytes=None)
    assert np.array_equal(load_value(signed(coded.data, coded.codec), coded.data, KEY), value)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("bomb-went-off",)


def test_nothing_is_opened_that_another_key_signed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = pickle.dumps(Bomb())
    with pytest.raises(ResultUnavailable, match="not signed with this attempt's key"):
        load_value(signed(data, key="00" * 32), data, KEY)
    with pytest.raises(ResultUnavailable, match="fetch it again"):
        load_value(signed(b"x" * len(data)), data, KEY)
    assert not list(tmp_path.iterdir())
    load_value(signed(data), data, KEY)  # the bomb is real
    assert list(tmp_path.iterdir())


def _global(module: str, name: str) -> bytes:
    return f"c{module}\n{name}\n.".encode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            _global("__main__", "Point"),
            "uses Point of your notebook, which this kernel does not have; run the cell that defines it",
        ),
        (_global("no_such_module", "f"), "needs the module no_such_module, which this kernel does not have"),
        (_global("json", "nope"), "uses json.nope, which the json of this kernel does not have"),
        (b"\x80\x04broken", "came back intact, but cannot be rebuilt in this kernel"),
    ],
)
def test_what_cannot_be_rebuilt_says_what_to_do(data, sentence):
    with pytest.raises(ResultUnavailable) as refused:
        load_value(signed(data), data, KEY)
    assert sentence in refused.value.message


def test_names_of_main_are_the_kernels_own(monkeypatch):
    class Point:
        pass

    monkeypatch.setattr(sys.modules["__main__"], "Point", Point, raising=False)
    assert load_value(signed(_global("__main__", "Point")), _global("__main__", "Point"), KEY) is Point


def test_bytecode_of_another_python_is_not_loaded():
    data = pickle.dumps(1)
    with pytest.raises(ResultUnavailable, match=r"bytecode of Python 3\.1, and this kernel is Python"):
        load_value(signed(data, bytecode="3.1"), data, KEY)
    assert load_value(signed(data, bytecode=f"{sys.version_info[0]}.{sys.version_info[1]}"), data, KEY) == 1


def test_a_remote_error_shows_the_users_own_lines():
    error = CellError(ename="KeyError", evalue="'a'", traceback=("Traceback:", "  File <cell>"))
    manifest = Manifest(format=1, token="t", outcome="FAILED", error=error, host="n1", started_at=0, ended_at=1)
    raised = remote_error(manifest)
    assert str(raised) == "KeyError: 'a' (raised on n1)\n\nTraceback:\n  File <cell>"
    assert raised.ename == "KeyError"
    assert "no exception" in str(remote_error(manifest.model_copy(update={"error": None})))


def test_loading_json_imports_neither_numpy_nor_pandas():
    code = "import sys, jupyter_diamond.cell.result; print(sorted({'numpy', 'pandas', 'pyarrow'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
