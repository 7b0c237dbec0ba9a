"""An endpoint on a login node, as its set-up finds it and leaves it."""

from __future__ import annotations

from typing import Literal

from .base import Value

Runs = Literal["here", "elsewhere", "nowhere"]


class LoginNode(Value):
    """What a login node says of itself and of an agent of ours there; None is what it did not say.

    ``runs``: whether the agent runs on this node, or on another one with the same home. ``differing`` are the files of
    the template that are not as they should be. ``threads_allowed`` None: no limit that is known.
    """

    node: str
    host: str
    user: str
    venv: str
    folder: str
    version: str | None = None
    """Of globus-compute-endpoint; None where it is not installed, or does not run."""
    python: str | None = None
    """The agent's Python."""
    configured: bool = False
    engine: bool = False
    """config.yaml holds an engine block, with which no agent starts."""
    differing: tuple[str, ...] = ()
    endpoint: str | None = None
    runs: Runs = "nowhere"
    runs_on: str | None = None
    pid: int | None = None
    threads_allowed: int | None = None
    threads_used: int | None = None
    ends_with_session: bool = False
    """The node ends all processes of a user who logs out."""


class EndpointSetup(Value):
    """What a set-up did, as far as it came. ``problem`` is one sentence when it did not come to its end."""

    host: str
    """As it was asked for."""
    name: str
    node: LoginNode | None = None
    plan: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    endpoint: str | None = None
    online: bool = False
    identity: str | None = None
    runs_on: str | None = None
    pid: int | None = None
    restart: str | None = None
    """What to type on that node after maintenance."""
    machine: str | None = None
    site_lines: str = ""
    kind: str = ""
    problem: str = ""
    login: str | None = None
    """What to type here when the agent needs a login."""


class EndpointRow(Value):
    """One endpoint of the user's, as Globus Compute tells it. ``online`` None: it did not say."""

    id: str
    name: str
    display_name: str = ""
    online: bool | None = None
    host: str | None = None
    """The node that its agent was started on last."""
    user: str | None = None
    """The agent's user there."""
    machine: str | None = None
    """The known machine that this host belongs to."""
    site: str | None = None
    """The site of the catalogue that uses it."""
    version: str | None = None
    multi_user: bool = False
    """For many users, by a template for batch jobs: not what a site here needs."""


class Endpoints(Value):
    """The user's endpoints. ``without``: known machines that have none. ``problem``: why nothing is known."""

    endpoints: tuple[EndpointRow, ...] = ()
    without: tuple[str, ...] = ()
    problem: str = ""
