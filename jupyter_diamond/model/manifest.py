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


class CellError(ForeignValue):
    """The exception that ended the cell. ``traceback`` shows the user's own lines, plain text."""

    ename: str
    evalue: str
    traceback: tuple[str, ...] = ()


class Manifest(ForeignValue):
    """What the runner wrote when the cell was over. Times are seconds since 1970.

    ``member`` and ``params``: which of a group it was, and what it was given.
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
    python: str = ""
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
