"""What Diamond keeps of one chat: where its file was last, what was said to a model, which cards and tasks it has."""

from __future__ import annotations

from pydantic import Field

from .base import UtcTime, Value
from .proposal import ProposalId
from .states import State

MOST_TASKS = 200
"""Of a chat that is older than that, the oldest tasks are forgotten first; the tasks themselves are not."""


class Card(Value):
    """A plan that stands in the chat. ``call``: the model's tool call that waits for the user's word on it."""

    message: str
    call: str = ""
    standing: str = "waiting"


class ChatTask(Value):
    """A task that this chat began. Its line in the chat is edited as it goes on."""

    name: str
    message: str = ""
    said: str = ""
    """What that message says above the line on how it goes on."""
    state: State | None = None
    cancelled_here: bool = False
    """The user cancelled it by a word in this chat: its end is no news."""


class Code(Value):
    """The code that a chat is about: an attached cell, a notebook, a script, or a block in a message."""

    source: str
    language: str = "python"
    name: str = ""
    origin: str = ""
    """``cell 3 of study.ipynb``, ``train.py``, ``your message``."""
    notebook: str | None = None
    cell: str | None = None


class ChatState(Value):
    """One chat. Its channel is ``chat:ID``; ``path`` is a locator only, below ``root``."""

    root: str
    """The root folder of the server that serves it: another server of the same user cannot reach the file."""
    path: str
    owner: str = ""
    """Who spoke to Diamond first."""
    history: str = ""
    """What was said to the model and what it said, as JSON; empty where no model was asked."""
    code: Code | None = None
    cards: dict[ProposalId, Card] = Field(default_factory=dict)
    tasks: dict[str, ChatTask] = Field(default_factory=dict)
    gone_since: UtcTime | None = None
    """Its file was not found when there was news for it."""
