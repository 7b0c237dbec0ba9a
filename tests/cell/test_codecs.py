"""Values as bytes and back: exact, bounded, and with a sentence for what cannot travel."""

from __future__ import annotations

import asyncio
import functools
import io
import math
import os
import pickle
import socket
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.cell.codecs import TooLarge, decode, encode, globals_of
from jupyter_diamond.errors import CaptureRefused


@dataclass
class Point:
    x: int
    inner: object = None


def back(value, **options):
    coded = encode(value, limit_bytes=None, **options)
    return coded, decode(coded.codec, coded.data)


def same(a, b) -> bool:
    """Equal in type, order, sign of zero and nan, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(same(k, j) and same(a[k], b[j]) for k, j in zip(a, b, strict=True))
    return a == b


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(anything)
def test_builtin_data_comes_back_exactly_whatever_codec_is_taken(value):
    coded, again = back(value)
    assert same(value, again), (coded.codec, value, again)
    assert coded.globals == frozenset()


@pytest.mark.parametrize(
    ("value", "codec"),
    [
        ({"a": [1, 2.5, None, True, "é"]}, "json"),
        (-0.0, "json"),
        (float("nan"), "pickle"),
        (float("inf"), "pickle"),
        ("\ud83d\ude00", "pickle"),
        ({1: "a"}, "pickle"),
        ((1, 2), "pickle"),
        (True, "json"),
        pytest.param(10**5000, "pickle", id="an int of 5000 digits"),
        (OrderedDict(a=1), "pickle"),
        (np.float64(1.5), "pickle"),
    ],
)
def test_json_is_taken_only_where_it_is_exact(value, codec):
    coded, again = back(value)
    assert coded.codec == codec
    assert same(value, again)


def test_a_list_that_appears_twice_stays_one_list():
    row = [0]
    coded, again = back([row, row])
    assert coded.codec == "pickle"
    assert again[0] is again[1]


def test_a_list_that_holds_itself_comes_back():
    loop: list = []
    loop.append(loop)
    _, again = back(loop)
    assert again[0] is again


@pytest.mark.parametrize(
    "array",
    [
        np.array(5),
        np.arange(6).reshape(2, 3),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.arange(10)[::2],
        np.zeros((0, 3)),
        np.array(["a", "bc"]),
        np.array([1, 2], dtype=">i4"),
        np.array(["2024-01-01"], dtype="datetime64[D]"),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        np.array([1 + 2j]),
    ],
)
def test_an_array_travels_as_npy(array):
    coded, again = back(array)
    assert coded.codec == "npy"
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert np.array_equal(again, array)
    assert again.flags.f_contiguous == (array.flags.f_contiguous or array.ndim < 2)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, None], dtype=object),
        np.array([(1, None)], dtype=[("a", "i4"), ("b", object)]),
        np.ma.array([1, 2], mask=[0, 1]),
        np.array([(1, 2.0)], dtype=np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    ],
)
def test_an_array_that_npy_would_change_is_pickled(array):
    coded, again = back(array)
    assert coded.codec == "pickle"
    assert type(again) is type(array)
    assert again.dtype == array.dtype
    assert again.dtype.isalignedstruct == array.dtype.isalignedstruct
    assert repr(again) == repr(array)


def test_npy_never_reads_a_pickle():
    buffer = io.BytesIO()
    np.save(buffer, np.array([Point(1)], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        decode("npy", buffer.getvalue())


plain_tables = [
    pd.DataFrame({"a": [1, 2], "b": [1.5, None], "c": [True, False]}),
    pd.DataFrame({"t": pd.to_datetime(["2024-01-01", None]), "s": ["x", None]}),
    pd.DataFrame({"a": range(5)}, index=pd.RangeIndex(0, 10, 2)),
    pd.DataFrame({"a": [1, 2]}, index=[7, 9]),
    pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 9], name="key")),
    pd.DataFrame({"a": np.array([], "int8"), "b": np.array([], "float32")}),
]


@pytest.mark.parametrize("table", plain_tables)
def test_a_plain_table_travels_as_parquet(table):
    coded, again = back(table)
    assert coded.codec == "parquet"
    assert {module for module, _ in coded.globals} == {"pandas", "pyarrow"}
    pd.testing.assert_frame_equal(table, again, check_index_type="exact", check_column_type="exact", check_freq=True)
    assert type(again.index) is type(table.index)
    assert list(again.dtypes) == list(table.dtypes)


@pytest.mark.parametrize("table", plain_tables)
def test_a_table_is_pickled_for_a_site_without_pyarrow(table):
    coded, again = back(table, parquet=False)
    assert coded.codec == "pickle"
    assert "pyarrow" not in {module for module, _ in coded.globals}
    pd.testing.assert_frame_equal(table, again)


def _with_attrs():
    table = pd.DataFrame({"a": [1]})
    table.attrs["unit"] = ("m", "s")
    return table


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({1: [1]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({"a": [{"x": 1}, [2]]}),
        pd.DataFrame({"a": ["x", "y"]}, dtype="category"),
        pd.DataFrame({"a": [1, 2]}, index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)])),
        pd.DataFrame({"a": [1, 2]}, index=pd.date_range("2024", periods=2)),
        pd.DataFrame({"a": pd.to_datetime(["2024-01-01"], utc=True)}),
        pd.DataFrame({"a": pd.array(["x", None], dtype="string")}),
        pd.DataFrame({"a": pd.Series([np.float16(1)], dtype="float16")}),
        pd.DataFrame({"a": [Decimal("1.10")]}),
        pd.DataFrame(),
        _with_attrs(),
    ],
)
def test_a_table_that_parquet_would_change_is_pickled(table):
    coded, again = back(table)
    assert coded.codec == "pickle"
    pd.testing.assert_frame_equal(table, again, check_freq=True)
    assert again.attrs == table.attrs


def test_a_pickle_names_what_it_refers_to():
    value = [
        Point(1, Fraction(1, 2)),
        Counter("aab"),
        np.add,
        functools.partial(os.path.join, "a"),
        Point(2),
        Path("x"),
    ]
    coded, again = back(value)
    assert not coded.by_value
    assert again == value or again[3].args == ("a",)
    assert {
        (__name__, "Point"),
        ("fractions", "Fraction"),
        ("collections", "Counter"),
        ("functools", "partial"),
    } <= coded.globals
    assert {module.partition(".")[0] for module, _ in coded.globals} <= {
        __name__.partition(".")[0], "fractions", "collections", "numpy", "functools", "posixpath", "pathlib", "copyreg",
    }  # fmt: skip


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_globals_are_those_that_unpickling_looks_up(protocol):
    """Strings that are reused through the memo must not hide a name."""
    value = [Point(1), Point, "Point", __name__, Fraction(1, 3), Decimal(1), ["fractions", "Fraction", Fraction]]
    looked_up = set()

    class Watching(pickle.Unpickler):
        def find_class(self, module, name):
            looked_up.add((module, name))
            return super().find_class(module, name)

    data = pickle.dumps(value, protocol)
    Watching(io.BytesIO(data)).load()
    found = set(globals_of(data))
    assert {name for _, name in found} >= {"Point", "Fraction", "Decimal"}
    assert found == looked_up


def test_a_lambda_travels_by_value_with_its_closure_and_its_modules():
    factor = 3
    coded, again = back({"f": lambda x: np.mean(x) * factor})
    assert coded.by_value
    assert ("numpy", "") in coded.globals
    assert again["f"]([1, 3]) == 6


def test_a_class_of_a_function_body_travels_by_value():
    class Local:
        def __init__(self, n):
            self.n = n

        def double(self):
            return self.n * 2

    coded, again = back([Local(4)])
    assert coded.by_value
    assert again[0].double() == 8


def test_a_function_with_a_name_goes_by_value_only_when_asked():
    assert encode(same, limit_bytes=None).globals == {(__name__, "same")}
    assert not encode(same, limit_bytes=None).by_value
    assert encode(same, limit_bytes=None, by_value=True).by_value


def _generator():
    yield 1


@pytest.fixture
def live_things(tmp_path):
    text = (tmp_path / "notes.txt").open("w+")
    plain_socket = socket.socket()
    process = subprocess.Popen(["true"])
    pool = ThreadPoolExecutor()
    loop = asyncio.new_event_loop()
    yield {
        "an open file": text,
        "an open socket": plain_socket,
        "a running process": process,
        "a lock": threading.Lock(),
        "a lock ": threading.RLock(),
        "a thread": threading.Thread(),
        "a pool of workers": pool,
        "a generator": _generator(),
        "the module math": math,
        "a part of this kernel's event loop": loop,
    }
    text.close()
    plain_socket.close()
    process.wait()
    pool.shutdown()
    loop.close()


def test_live_things_are_refused_with_their_kind_alone_inside_and_in_closures(live_things):
    for kind, thing in live_things.items():
        for value, verb in ((thing, "is"), ([1, {"k": thing}], "holds"), (Point(1, thing), "holds")):
            with pytest.raises(CaptureRefused) as refused:
                encode(value, limit_bytes=None, what="x")
            assert refused.value.message.startswith(f"x {verb} {kind.strip()}"), refused.value.message
        if kind != "the module math":  # a function may use a module: that is an import, not a copy
            with pytest.raises(CaptureRefused, match=f"x holds {kind.strip()}"):
                encode(lambda thing=thing: thing, limit_bytes=None, what="x")


def test_files_in_memory_travel():
    _, again = back([io.BytesIO(b"ab"), io.StringIO("c")])
    assert again[0].getvalue() == b"ab"
    assert again[1].getvalue() == "c"


def test_an_object_that_fails_to_pickle_says_so_with_its_type():
    class Sulky:
        def __reduce__(self):
            raise ValueError("not today")

    with pytest.raises(CaptureRefused, match=r"s \(Sulky\) cannot be pickled: ValueError: not today"):
        encode(Sulky(), limit_bytes=None, what="s")


def test_deep_nesting_is_refused_with_a_sentence():
    deep: list = []
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(CaptureRefused, match="nested too deeply"):
        encode(deep, limit_bytes=None)
    while deep:  # without recursion, which would end this process
        deep = deep[0]


@pytest.mark.parametrize(
    "value",
    [
        "x" * 2_000_000,
        b"x" * 2_000_000,
        list(range(1_000_000)),
        np.zeros(1_000_000),
        {"a": np.zeros(1_000_000)},
        pd.DataFrame({"a": np.random.default_rng(1).random(1_000_000)}),
        pd.DataFrame({1: np.random.default_rng(1).random(1_000_000)}),
    ],
    ids=["str", "bytes", "list", "array", "array inside", "table", "pickled table"],
)
def test_encoding_stops_at_the_limit(value):
    encode([1], limit_bytes=1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge, match=r"v takes more than the 1 MB"):
            encode(value, limit_bytes=1_000_000, what="v")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if not isinstance(value, str | pd.DataFrame):
        assert peak < 3_000_000


def test_an_array_behind_a_lambda_counts_too():
    data = np.zeros(1_000_000)
    with pytest.raises(TooLarge):
        encode(lambda: data.sum() + 1, limit_bytes=1_000_000)


def test_encoding_imports_neither_numpy_nor_pandas():
    code = (
        "import sys; from jupyter_diamond.cell.codecs import encode\n"
        "for v in ([1], {1: 2}, object, (1, 2)): encode(v, limit_bytes=10**6)\n"
        "print(sorted({'numpy', 'pandas', 'pyarrow', 'cloudpickle'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
