"""The receipt of a finished attempt, as the runner writes it at the site, and as a kernel reads it."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from .base import Param, Value

Codec = Literal["json", "npy", "parquet", "pickle"]


class ForeignValue(Value):
    """Written at a site by a runner that may be older or newer than we are: unknown fields are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ResultFile(ForeignValue):
    """One variable that came back. ``hmac`` is HMAC-SHA256 over the file's bytes with the attempt's key.

    ``file`` is its path in the attempt's folder, e.g. ``result/x.npy``. ``bytecode`` is the minor Python, as
    ``3.11``, when the pickle holds functions by value and runs nowhere else.
    """

    name: str
    codec: Codec
    file: str
    bytes: int
    sha256: str
    hmac: str
    bytecode: str = ""
    type: str = ""
    preview: str = ""


class MissingValue(ForeignValue):
    """A variable that was asked for and did not come back."""

    name: str
    why: str


class KeptFile(ForeignValue):
    """A file that the task left. ``path`` is relative to the folder that its cell ran in, ``Manifest.folder``.

    ``sha256`` is empty where there was no time to make it, or the file changed meanwhile; ``mtime`` is seconds since
    1970. ``patterns`` says which of the patterns that were asked for name it, by their places (``Envelope.stage_out``).
    """

    path: str
    bytes: int = Field(ge=0)
    mtime: float = 0.0
    sha256: str = ""
    media_type: str = ""
    patterns: tuple[int, ...] = ()


class CellError(ForeignValue):
    """The exception that ended the cell. ``traceback`` shows the user's own lines, plain text."""

    ename: str
    evalue: str
    traceback: tuple[str, ...] = ()


class Manifest(ForeignValue):
    """What the runner wrote when the cell was over. Times are seconds since 1970.

    ``member`` and ``params``: which of a group it was, and what it was given. ``folder`` is what the cell ran in,
    absolute at the site. ``packages`` are the versions of what it had imported, as far as these say one.

    ``files`` are the first of those that were asked for; where ``files_count`` is more, all of them are in the
    attempt's ``files.jsonl``, one a line, whose digest is ``files_sha256``. ``files_left_out`` were there, too, and are
    in neither, and ``files_note`` says why; ``files_unmatched`` are the places of patterns that name nothing.
    """

    format: int
    token: str
    member: int | None = None
    params: dict[str, Param] = Field(default_factory=dict)
    outcome: Literal["OK", "FAILED"]
    error: CellError | None = None
    values: tuple[ResultFile, ...] = ()
    missing: tuple[MissingValue, ...] = ()
    outputs_bytes: int = 0
    outputs_truncated: bool = False
    folder: str = ""
    files: tuple[KeptFile, ...] = ()
    files_count: int = 0
    files_bytes: int = 0
    files_left_out: int = 0
    files_unmatched: tuple[int, ...] = ()
    files_note: str = ""
    files_sha256: str = ""
    python: str = ""
    packages: dict[str, str] = Field(default_factory=dict)
    modules: tuple[str, ...] = ()
    """Environment modules that were loaded."""
    host: str = ""
    started_at: float
    ended_at: float
    max_rss_bytes: int | None = None


class EndFile(ForeignValue):
    """The last file of an attempt: it exists only when everything else does.

    ``by`` is ``runner`` when the cell's runner wrote it, ``shell`` when the runner died and the job script did.
    """

    format: int
    token: str
    by: Literal["runner", "shell"]
    outcome: Literal["OK", "FAILED"]
    exit_code: int
    at: float
    manifest_sha256: str = ""
    why: str = ""


class Output(ForeignValue):
    """One line of ``outputs.jsonl``: an nbformat output."""

    model_config = ConfigDict(frozen=True, extra="allow")

    output_type: Literal["stream", "display_data", "execute_result", "error"]
