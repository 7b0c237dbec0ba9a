"""How a variable becomes bytes and comes back: ``json``, ``npy``, ``parquet``, ``pickle``.

A codec other than ``pickle`` is used only where its round trip is exact, because such a file can be read by anything
and cannot run code. Pickles name classes and functions *by reference* (the site gets their source in the prelude).
What has no name to refer to, such as a lambda, goes *by value* with cloudpickle: bytecode for one minor Python only.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import json
import math
import mmap
import pickle
import pickletools
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from jupyter_diamond.errors import CaptureRefused
from jupyter_diamond.model.manifest import Codec

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

PROTOCOL = 4
"""The newest pickle that Python 3.6 reads."""
JSON_MOST_NODES = 10_000
"""Larger data is pickled: walking it in Python costs more than a readable file is worth."""
_JSON_DEEPEST = 50
_JSON_WIDEST_INT = 1024  # bits; Python refuses to parse decimal numbers of more than 4300 digits

Global = tuple[str, str]


class Encoded(NamedTuple):
    """A value as bytes.

    ``globals`` are the (module, qualname) pairs that must be there when it is decoded; qualname is ``""`` for a module
    itself. ``by_value`` says that the bytes hold bytecode of this minor Python.
    """

    codec: Codec
    data: bytes
    globals: frozenset[Global]
    by_value: bool


class TooLarge(CaptureRefused):
    """The value takes more bytes than allowed; how many was not found out, as encoding stopped there."""


def encode(
    value: Any, *, limit_bytes: int | None, what: str = "the value", parquet: bool = True, by_value: bool = False
) -> Encoded:
    """The value as bytes; ``what`` is its name in messages.

    ``parquet=False`` pickles tables too (for a site without pyarrow). ``by_value=True`` goes straight to cloudpickle,
    for a function or class whose source cannot travel. Raises TooLarge past ``limit_bytes``, CaptureRefused for what
    cannot travel. Reads no module that is not imported already, pyarrow and cloudpickle excepted.
    """
    if by_value:
        return _pickled_by_value(value, limit_bytes, what)
    if _is_exact_json(value):
        data = json.dumps(value).encode("ascii")
        _check_size(len(data), limit_bytes, what)
        return Encoded("json", data, frozenset(), by_value=False)
    if _is_plain_array(value):
        return _as_npy(value, limit_bytes, what)
    if parquet and _is_plain_table(value):
        return _as_parquet(value, limit_bytes, what)
    try:
        return _pickled(value, limit_bytes, what)
    except _NoName:
        return _pickled_by_value(value, limit_bytes, what)


def decode(codec: Codec, data: bytes) -> Any:
    """The value again. A pickle runs code: callers check its signature first."""
    if codec == "json":
        return json.loads(data)
    if codec == "npy":
        import numpy as np

        return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    if codec == "parquet":
        import pandas as pd

        return pd.read_parquet(io.BytesIO(data), engine="pyarrow")
    return pickle.loads(data)  # noqa: S301 - signed with the attempt's key, see result.load_value


# --- json ---------------------------------------------------------------------------------------------------------


def _is_exact_json(value: Any) -> bool:
    """Whether JSON gives back the very same thing: exact types, no shared or circular parts, finite numbers."""
    nodes = 0
    containers: set[int] = set()
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        part, depth = stack.pop()
        nodes += 1
        if nodes > JSON_MOST_NODES or depth > _JSON_DEEPEST:
            return False
        kind = type(part)
        if kind is list or kind is dict:
            if id(part) in containers or nodes + len(part) > JSON_MOST_NODES:
                return False  # a list that appears twice must stay one list
            containers.add(id(part))
            if kind is dict and not all(type(key) is str and _is_text(key) for key in part):
                return False
            stack.extend((item, depth + 1) for item in (part.values() if kind is dict else part))
        elif not _is_exact_scalar(part):
            return False
    return True


def _is_exact_scalar(part: Any) -> bool:
    kind = type(part)
    if kind is str:
        return _is_text(part)
    if kind is float:
        return math.isfinite(part)
    if kind is int:
        return cast("int", part).bit_length() <= _JSON_WIDEST_INT
    return part is None or kind is bool


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # two lone surrogates would come back as one character
        return False
    return True


# --- npy ----------------------------------------------------------------------------------------------------------


def _is_plain_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not getattr(numpy, "ndarray", None):
        return False
    dtype = value.dtype
    if dtype.hasobject or dtype.metadata is not None or dtype.isalignedstruct:
        return False
    layout = numpy.lib.format
    try:
        return bool(layout.descr_to_dtype(layout.dtype_to_descr(dtype)) == dtype)
    except (TypeError, ValueError):  # a dtype of another package, e.g. bfloat16
        return False


def _as_npy(array: np.ndarray[Any, Any], limit_bytes: int | None, what: str) -> Encoded:
    _check_size(array.nbytes, limit_bytes, what)
    buffer = _BoundedBuffer(limit_bytes, what)
    sys.modules["numpy"].lib.format.write_array(buffer, array, allow_pickle=False)
    return Encoded("npy", buffer.getvalue(), frozenset({("numpy", "ndarray")}), by_value=False)


# --- parquet ------------------------------------------------------------------------------------------------------

_PLAIN_COLUMNS = {
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
    "datetime64[ms]", "datetime64[us]", "datetime64[ns]",
}  # fmt: skip


def _is_plain_table(value: Any) -> bool:
    pandas = sys.modules.get("pandas")
    if pandas is None or type(value) is not getattr(pandas, "DataFrame", None):
        return False
    return (
        not value.attrs
        and value.flags.allows_duplicate_labels
        and _are_plain_names(value.columns)
        and _is_plain_index(value.index, value.columns)
        and all(_is_plain_column(dtype) for dtype in value.dtypes)
        and importlib.util.find_spec("pyarrow") is not None
    )


def _are_plain_names(columns: Any) -> bool:
    usual = sys.modules["pandas"].Index(["a"]).dtype  # object before pandas 3, str since
    return (
        len(columns) > 0
        and columns.nlevels == 1
        and columns.name is None
        and columns.is_unique
        and columns.dtype == usual
        and all(type(name) is str and _is_text(name) for name in columns)
    )


def _is_plain_index(index: Any, columns: Any) -> bool:
    if index.nlevels != 1 or not (index.name is None or (type(index.name) is str and index.name not in columns)):
        return False
    return type(index).__name__ == "RangeIndex" or (
        type(index).__name__ == "Index" and str(index.dtype) in {"int64", "float64"}
    )


def _is_plain_column(dtype: Any) -> bool:
    # pandas 3's own text type; "string" with NA comes back with the reader's default storage
    text = type(dtype).__name__ == "StringDtype" and getattr(dtype, "na_value", None) is not sys.modules["pandas"].NA
    return text or (type(dtype).__module__.startswith("numpy") and dtype.isnative and str(dtype) in _PLAIN_COLUMNS)


def _as_parquet(table: pd.DataFrame, limit_bytes: int | None, what: str) -> Encoded:
    buffer = _BoundedBuffer(limit_bytes, what)
    table.to_parquet(buffer, engine="pyarrow")
    return Encoded("parquet", buffer.getvalue(), frozenset({("pandas", ""), ("pyarrow", "")}), by_value=False)


# --- pickle -------------------------------------------------------------------------------------------------------


class _NoName(Exception):
    """A function or class inside has no name that pickle could refer to."""


class _BoundedBuffer(io.BytesIO):
    """Takes bytes up to a limit, and stops whoever writes more."""

    def __init__(self, limit_bytes: int | None, what: str) -> None:
        super().__init__()
        self.limit_bytes = limit_bytes
        self.what = what

    def write(self, data: Any) -> int:
        _check_size(self.tell() + memoryview(data).nbytes, self.limit_bytes, self.what)
        return super().write(data)

    def close(self) -> None:
        """Stay open: pyarrow closes what it wrote to."""


class _ByReference(pickle.Pickler):
    def __init__(self, buffer: _BoundedBuffer, value: Any) -> None:
        super().__init__(buffer, PROTOCOL)
        self.guard = _Guard(buffer, value)

    def reducer_override(self, obj: Any) -> Any:
        self.guard.look_at(obj)
        if isinstance(obj, types.ModuleType):
            raise self.guard.refused(obj, f"the module {obj.__name__}; import it in the cell instead")
        if isinstance(obj, types.FunctionType | type) and not _has_name(obj):
            raise _NoName
        return NotImplemented


def _has_name(obj: Any) -> bool:
    """Whether pickle's lookup of module and qualified name ends at this very object."""
    if obj is type(None) or obj is type(NotImplemented) or obj is type(...):
        return True
    found: Any = sys.modules.get(obj.__module__ or "")
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def _pickled(value: Any, limit_bytes: int | None, what: str) -> Encoded:
    buffer = _BoundedBuffer(limit_bytes, what)
    pickler = _ByReference(buffer, value)
    _dump(pickler, value, what)
    data = buffer.getvalue()
    # builtin data never reaches reducer_override, and has no globals: no need to read a million opcodes
    found = frozenset(globals_of(data)) if pickler.guard.looked else frozenset[Global]()
    return Encoded("pickle", data, found, by_value=False)


def _pickled_by_value(value: Any, limit_bytes: int | None, what: str) -> Encoded:
    import cloudpickle

    class ByValue(cloudpickle.Pickler):  # type: ignore[misc] # untyped base
        def reducer_override(self, obj: Any) -> Any:
            guard.look_at(obj)
            if isinstance(obj, types.ModuleType):
                if sys.modules.get(obj.__name__) is not obj or obj.__name__ == "__main__":
                    raise guard.refused(obj, f"the module {obj.__name__}, which cannot be imported by its name")
                modules.add((obj.__name__, ""))
            if isinstance(obj, type) and obj is not value and obj.__module__ == "__main__" and _has_name(obj):
                return obj.__qualname__  # its source travels too: a copy of it would be another class
            return super().reducer_override(obj)

    modules: set[Global] = set()
    buffer = _BoundedBuffer(limit_bytes, what)
    guard = _Guard(buffer, value)
    _dump(ByValue(buffer, PROTOCOL), value, what)
    data = buffer.getvalue()
    return Encoded("pickle", data, frozenset(globals_of(data)) | modules, by_value=True)


def _dump(pickler: Any, value: Any, what: str) -> None:
    try:
        pickler.dump(value)
    except (CaptureRefused, _NoName):
        raise
    except RecursionError:
        raise CaptureRefused(
            f"{what} is nested too deeply to be pickled; flatten it, or build it in the cell."
        ) from None
    except Exception as error:  # __reduce__ and __getstate__ are the user's code: anything can come out
        kind = type(value).__name__
        raise CaptureRefused(
            f"{what} ({kind}) cannot be pickled: {type(error).__name__}: {error}. Build it in the cell instead."
        ) from error


def globals_of(data: bytes) -> Iterator[Global]:
    """Every (module, qualname) that a pickle refers to, read from its opcodes without running it."""
    strings: list[str] = ["", ""]  # the two newest strings on the stack, where STACK_GLOBAL takes its names from
    memo: dict[int, str] = {}
    size = 0
    previous = ""
    for opcode, arg, _ in pickletools.genops(data):
        name = opcode.name
        if name == "GLOBAL":
            module, _, qualname = str(arg).partition(" ")
            yield module, qualname
        elif name == "STACK_GLOBAL":
            yield strings[-2], strings[-1]
        elif "UNICODE" in name:
            strings = [strings[-1], str(arg)]
        elif name in {"MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"}:
            if "UNICODE" in previous:
                memo[size if name == "MEMOIZE" else int(str(arg))] = strings[-1]
            size += 1
        elif name in {"GET", "BINGET", "LONG_BINGET"} and int(str(arg)) in memo:
            strings = [strings[-1], memo[int(str(arg))]]
        previous = name


# --- what never travels -------------------------------------------------------------------------------------------

_NEVER: tuple[tuple[Any, str], ...] = (
    (socket.socket, "an open socket; connect in the cell instead"),
    (subprocess.Popen, "a running process; start it in the cell instead"),
    ((type(threading.Lock()), type(threading.RLock())), "a lock; make it in the cell instead"),
    (threading.Thread, "a thread; start it in the cell instead"),
    (Executor, "a pool of workers; start it in the cell instead"),
    (
        (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
        "a generator or coroutine, which lives in this kernel; turn it into a list first, or make it in the cell",
    ),
    ((asyncio.Future, asyncio.AbstractEventLoop), "a part of this kernel's event loop; make it in the cell instead"),
    (mmap.mmap, "a memory-mapped file; map it in the cell instead"),
    ((types.FrameType, types.TracebackType), "a frame or traceback, which lives in this kernel"),
)


class _Guard:
    """Looks at each part of a value that is about to be pickled, and refuses what would break or lie at the site."""

    def __init__(self, buffer: _BoundedBuffer, value: Any) -> None:
        self.buffer = buffer
        self.value = value
        self.looked = False

    def look_at(self, obj: Any) -> None:
        self.looked = True
        if isinstance(obj, io.IOBase) and not isinstance(obj, io.BytesIO | io.StringIO):
            # B25: cloudpickle would copy the file's text without a word
            raise self.refused(obj, f"an open file ({getattr(obj, 'name', '?')}); open it in the cell instead")
        for kind, sentence in _NEVER:
            if isinstance(obj, kind):
                raise self.refused(obj, sentence)
        nbytes = getattr(obj, "nbytes", None) if type(obj).__module__ == "numpy" else None
        if isinstance(nbytes, int):  # its __reduce__ would copy it whole before the buffer could say no
            _check_size(self.buffer.tell() + nbytes, self.buffer.limit_bytes, self.buffer.what)

    def refused(self, obj: Any, sentence: str) -> CaptureRefused:
        verb = "is" if obj is self.value else "holds"
        kind = f"{type(obj).__module__}.{type(obj).__qualname__}".removeprefix("builtins.")
        return CaptureRefused(f"{self.buffer.what} {verb} {sentence} ({kind}).")


def _check_size(size: int, limit_bytes: int | None, what: str) -> None:
    if limit_bytes is not None and size > limit_bytes:
        raise TooLarge(
            f"{what} takes more than the {limit_bytes / 1e6:g} MB that may travel with a cell; "
            "save it to a file that the site can read, or raise the limit."
        )
