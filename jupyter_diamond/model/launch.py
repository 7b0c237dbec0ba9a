"""The launch sheet: what is typed there, as an envelope and as a cell's line; and text to launch without a notebook."""

from __future__ import annotations

from pydantic import Field

from .base import Value
from .envelope import Envelope
from .task import Language


class LineForm(Value):
    """What the fields of a launch sheet say, as the user has typed it."""

    name: str = Field(default="", max_length=1000)
    language: Language = "python"
    outputs: str = Field(default="", max_length=10_000)
    """Variables to bring back, with commas between."""
    in_cell: bool = True
    """It will stand on a cell's line, which a kernel reads: its options may name files beside the notebook."""
    options: dict[str, str] = Field(default_factory=dict, max_length=100)
    """Options of a cell's line by their names without dashes; an empty text is not said, a flag is ``yes``."""


class LineRead(Value):
    """What was understood of it. ``envelope`` and ``line`` are there once nothing is wrong."""

    envelope: Envelope | None = None
    """Once the options are right, whatever the name is: where it would go can be asked."""
    line: str = ""
    """``%%diamond_submit fit --gpus 1``, as it would stand on a cell's first line."""
    problems: dict[str, str] = Field(default_factory=dict)
    """A sentence for each field that is wrong: by the option's name, or ``name``, ``outputs``."""


class LaunchForm(Value):
    """Source text to run as it is, a file's or a command's: nothing of a kernel travels with it."""

    client_token: str = Field(pattern=r"^[0-9a-z-]{16,64}$")
    """The same token always gives the same task."""
    name: str
    source: str = Field(max_length=2_000_000)
    language: Language = "python"
    envelope: Envelope
    outputs: str = Field(default="", max_length=10_000)
    path: str | None = None
    """The file that it is from."""
