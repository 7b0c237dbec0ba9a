"""What one kernel holds: its client, its watcher, its user namespace and its display channel."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.task import Task
from jupyter_diamond.model.views import Interpreter, Limits

from .binding import ExpectedNames, Namespace
from .client import DiamondClient
from .consumers import Consumers
from .following import Following
from .publisher import Publisher
from .watcher import LogFollower, Watcher

NOTEBOOK = "JPY_SESSION_NAME"
"""The variable in which the server tells a kernel its notebook's path."""
if TYPE_CHECKING:
    from .wall import LiveWall

_Asked = tuple[str, tuple[str, ...], Environment | None, tuple[str, ...]]
INTERPRETER_S = 600.0
"""How long a site's answer about its interpreter is good for."""


class Session:
    """One per process. ``shell`` is None in a plain script."""

    def __init__(self, shell: Any | None, client: DiamondClient | None = None) -> None:
        self.shell = shell
        self.client = client or DiamondClient()
        self.publisher = Publisher(shell)
        self.namespace = Namespace({} if shell is None else shell.user_ns)
        self.watcher = Watcher(self.client)
        self.logs = LogFollower(self.client, self.watcher)
        self.consumers = Consumers(self.client, shell)
        self._wall: LiveWall | None = None
        self._limits: Limits | None = None
        self._interpreters: dict[_Asked, tuple[float, Interpreter]] = {}

    def limits(self) -> Limits:
        """What may travel with a cell, as the server says; asked for once."""
        if self._limits is None:
            self._limits = self.client.status().limits
        return self._limits

    def interpreter(
        self, site: str, modules: tuple[str, ...], env: Environment | None = None, packages: tuple[str, ...] = ()
    ) -> Interpreter:
        """What runs cells at a site; asked for once per site and set of modules, again after ten minutes.

        What is still to be built is asked for each time.
        """
        key = (site, tuple(sorted(modules)), env, tuple(sorted(packages)))
        known = self._interpreters.get(key)
        if known is None or time.monotonic() - known[0] > INTERPRETER_S or _again(known[1]):
            known = (time.monotonic(), self.client.interpreter(site, key[1], sys.executable, env, key[3]))
            self._interpreters[key] = known
        return known[1]

    def find(self, ref: str) -> Task | Group:
        """A task, a group or a member (``fit[3]``) by id or name; of two with one name the newer. Raises NotFound.

        A name means this notebook's newest before any other notebook's.
        """
        notebook = os.environ.get(NOTEBOOK)
        if notebook:
            tasks = self.client.tasks(name=ref, notebook=notebook, limit=1)
            groups = self.client.groups(name=ref, notebook=notebook, limit=1)
            if groups and (not tasks or groups[0].created_at > tasks[0].created_at):
                return groups[0]
            if tasks:
                return self.client.task(tasks[0].id)
        found: list[Task | Group] = []
        with suppress(NotFound):
            found.append(self.client.group(ref))
        if not found:
            return self.client.task(ref)
        with suppress(NotFound):
            found.append(self.client.task(ref))
        return max(found, key=lambda each: each.created_at)

    @property
    def wall(self) -> LiveWall:
        """The wall of this kernel, made at first use."""
        if self._wall is None:
            from .wall import LiveWall

            self._wall = LiveWall(self.client, self.publisher)
        return self._wall

    def follow(
        self, task: Task, *, expected: ExpectedNames | None = None, decision: Decision | None = None
    ) -> Following:
        """Follow a task; its card's log is read while it runs."""
        following = self.watcher.follow(task, expected)
        if decision is not None and following.decision is None:
            following.decision = decision
        return following

    def close(self) -> None:
        """Stop following; for tests and for unloading the extension."""
        self.watcher.stop()
        self.consumers.stop()
        if self._wall is not None:
            self._wall.stop()
        self.client.close()


_lock = threading.Lock()
_session: Session | None = None


def session() -> Session:
    """This kernel's session, made at first use."""
    global _session  # noqa: PLW0603 - a process has one kernel
    with _lock:
        if _session is None:
            _session = Session(_shell())
        return _session


def start(shell: Any) -> Session:
    """Begin anew for this shell: ``%load_ext`` and ``%reload_ext``."""
    global _session  # noqa: PLW0603 - a process has one kernel
    with _lock:
        if _session is None or _session.shell is not shell:
            _session = Session(shell)
        return _session


def end() -> None:
    """Close this kernel's session."""
    global _session  # noqa: PLW0603 - a process has one kernel
    with _lock:
        if _session is not None:
            _session.close()
        _session = None


def _shell() -> Any | None:
    from IPython.core.getipython import get_ipython

    return get_ipython()


def _again(told: Interpreter) -> bool:
    """Whether something is to be done there, after which another answer may come."""
    return bool(told.missing or told.problem or told.to_build)
