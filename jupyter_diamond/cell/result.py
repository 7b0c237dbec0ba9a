"""What comes back from a site, in the kernel: signed bytes become values, a failed cell becomes an exception."""

from __future__ import annotations

import hashlib
import hmac
import re
import sys
from typing import Any

from jupyter_diamond.cell.codecs import decode
from jupyter_diamond.errors import RemoteError, ResultUnavailable
from jupyter_diamond.model.manifest import Manifest, ResultFile


def load_value(file: ResultFile, data: bytes, key: str) -> Any:
    """The variable again. ``data`` is the file's content, ``key`` the attempt's key in hex.

    Nothing is decoded unless size, digest and signature are those that the runner wrote: a pickle can run code.
    Names of ``__main__`` in a pickle are looked up in this kernel's ``__main__``. Raises ResultUnavailable.
    """
    _check_signature(file, data, key)
    _check_bytecode(file)
    try:
        return decode(file.codec, data)
    except ModuleNotFoundError as error:
        raise ResultUnavailable(
            f"{file.name} ({file.type}) needs the module {error.name}, which this kernel does not have; "
            "install it here and load the result again."
        ) from error
    except AttributeError as error:
        raise ResultUnavailable(_missing_name(file, error)) from error
    except Exception as error:  # __setstate__ and friends are the user's code
        raise ResultUnavailable(
            f"{file.name} ({file.type}) came back intact, but cannot be rebuilt in this kernel: "
            f"{type(error).__name__}: {error}."
        ) from error


def remote_error(manifest: Manifest) -> RemoteError:
    """The exception that ended the cell at the site, to raise in the kernel."""
    error = manifest.error
    where = f" on {manifest.host}" if manifest.host else ""
    if error is None and not manifest.missing:
        return RemoteError(f"The cell left off{where}, with no exception, to be continued, and nothing followed.")
    if error is None:
        return RemoteError(f"The cell failed{where} and left no exception; read its log.")
    if error.evalue and not error.traceback:  # the runner's own sentence
        said = error.evalue
    else:
        said = f"{error.ename}: {error.evalue}" if error.evalue else error.ename
    return RemoteError(f"{said} (raised{where})", ename=error.ename, traceback_text="\n".join(error.traceback))


def was_stopped(manifest: Manifest) -> bool:
    """Whether the cell was ended from outside (cancelled, out of time, preempted): only the scheduler knows why."""
    error = manifest.error
    return error is not None and error.ename == "Terminated" and not error.traceback


def _check_signature(file: ResultFile, data: bytes, key: str) -> None:
    if len(data) != file.bytes or hashlib.sha256(data).hexdigest() != file.sha256:
        raise ResultUnavailable(
            f"{file.name} did not arrive as it was written ({len(data)} of {file.bytes} bytes); fetch it again.",
            transient=True,
        )
    signed = hmac.new(bytes.fromhex(key), data, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(signed, file.hmac):
        raise ResultUnavailable(
            f"{file.name} is not signed with this attempt's key: something else wrote {file.file} at the site. "
            "It was not opened; run the cell again."
        )


def _check_bytecode(file: ResultFile) -> None:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if file.bytecode and file.bytecode != here:
        raise ResultUnavailable(
            f"{file.name} holds functions as bytecode of Python {file.bytecode}, and this kernel is Python {here}; "
            f"load it in a kernel of Python {file.bytecode}, or return data instead."
        )


def _missing_name(file: ResultFile, error: AttributeError) -> str:
    found = re.search(r"attribute '([^']+)' on <module '([^']+)'", str(error))
    if found and found[2].rpartition(".")[2] == "__main__":  # "pkg.__main__" in a kernel started with -m
        return (
            f"{file.name} ({file.type}) uses {found[1]} of your notebook, which this kernel does not have; "
            "run the cell that defines it, then load the result again."
        )
    if found:
        return (
            f"{file.name} ({file.type}) uses {found[2]}.{found[1]}, which the {found[2]} of this kernel does not have: "
            "the package has another version at the site."
        )
    return f"{file.name} ({file.type}) came back intact, but cannot be rebuilt in this kernel: {error}."
