"""Setting up the user's own Globus Compute endpoint on a login node, over any transport that reaches a shell there.

Every step is a script of its own that looks first and changes only what is not yet as it should be, so a set-up that
was cut short goes on where it stopped. The steps are in ``globus/endpoint_template/setup.sh``; the same text, with all
steps in a row, is what a user can run by hand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_diamond.errors import InvalidRequest, TransportError
from jupyter_diamond.globus import endpoint_template
from jupyter_diamond.model.endpoint import EndpointSetup, LoginNode, Runs
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.transport.base import Completed, Transport

AGENT = "globus-compute-endpoint>=4.19,<5"
NAME = "jupyter-diamond"
VENV = "~/.gce-venv"
THREADS = 25
"""What an agent takes (4), its worker (10) and a task's commands; editors and other sessions are not counted."""
LOCK_WAIT_S = 30
_LOOK_S, _INSTALL_S, _STEP_S = 90.0, 1500.0, 180.0
_US = "\x1f"
_RUNS: dict[str, Runs] = {"here": "here", "elsewhere": "elsewhere"}
_END = "DIAMOND_END_OF_FILE"


@dataclass(frozen=True)
class Wanted:
    """What is to be set up. ``credentials`` are those of an application that shall own the endpoint."""

    name: str = NAME
    venv: str = VENV
    python: str = ""
    move: bool = False
    credentials: tuple[str, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,60}", self.name):
            raise InvalidRequest(
                f"{self.name!r} cannot be an endpoint's name: write letters, digits, '.', '_' and '-'."
            )
        if not re.fullmatch(r"(~|~?/[A-Za-z0-9_.~/@+-]*[A-Za-z0-9_])", self.venv) or self.venv == "~":
            raise InvalidRequest(f"{self.venv!r} cannot be the environment's folder: write ~/name or an absolute path.")


def whole_script(wanted: Wanted) -> str:
    """All steps in one file, for a user who runs them by hand on the login node."""
    head = "#!/bin/sh\n# Makes this login node an endpoint of jupyter_diamond. Can be run again at any time.\n"
    return f"{head}{_settings(wanted, by_hand=True)}{_files()}{endpoint_template.text('setup.sh')}by_hand\n"


def _settings(wanted: Wanted, *, by_hand: bool) -> str:
    values = {
        "NAME": wanted.name, "VENV": wanted.venv, "PYTHON": wanted.python, "SPEC": AGENT,
        "MOVE": "yes" if wanted.move else "", "HAND": "yes" if by_hand else "", "LOCK_WAIT": str(LOCK_WAIT_S),
    }  # fmt: skip
    return "".join(f"{name}={quote(value, name)}\n" for name, value in values.items()) + "CREDENTIALS=\n"


def _files() -> str:
    cases = [
        f"{name}) cat <<'{_END}'\n{endpoint_template.text(name).rstrip()}\n{_END}\n;;\n"
        for name in (*endpoint_template.OURS, *endpoint_template.YOURS)
    ]
    return f"template_file() {{\ncase $1 in\n{''.join(cases)}esac\n}}\n"


class _Stopped(Exception):
    """A step ended with a sentence."""

    def __init__(self, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind
        self.sentence = sentence


class EndpointWork:
    """The steps on one login node. ``tell`` hears a sentence before and after each that does something."""

    def __init__(self, transport: Transport, wanted: Wanted, *, where: str, tell: Callable[[str], None]) -> None:
        self._transport = transport
        self._wanted = wanted
        self._where = where
        self._tell = tell
        self._text = _settings(wanted, by_hand=False) + _files() + endpoint_template.text("setup.sh")
        self._done: list[str] = []

    async def look(self) -> LoginNode:
        """What is there; changes nothing. Raises TransportError."""
        said = await self._step("look", _LOOK_S)
        if said.get("looked") != "yes":
            raise TransportError(
                f"{self._where} answered with something else than an answer; try again.", outcome="unknown",
                evidence=tuple(f"{name}: {value}" for name, value in said.items())[:20],
            )  # fmt: skip
        allowed, used = whole(said.get("threads_allowed")), whole(said.get("threads_used"))
        return LoginNode(
            node=said["node"], host=said.get("host") or said["node"], user=said.get("user", ""),
            venv=said.get("venv", self._wanted.venv), folder=said.get("folder", ""),
            version=said.get("version") or None, python=said.get("python") or None,
            configured=said.get("configured") == "yes", engine=said.get("engine") == "yes",
            differing=tuple(said.get("differing", "").split()), endpoint=said.get("endpoint") or None,
            runs=_RUNS.get(said.get("runs", ""), "nowhere"),
            runs_on=said.get("runs_on") or None, pid=whole(said.get("pid")),
            threads_allowed=allowed, threads_used=used, ends_with_session=said.get("ends_with_session") == "yes",
        )  # fmt: skip

    async def carry_out(self, node: LoginNode) -> EndpointSetup:
        """All steps. Raises TransportError when the way there is lost; what is done stays done."""
        result = EndpointSetup(host=self._where, name=self._wanted.name, node=node, plan=plan(node, self._wanted))
        try:
            result = await self._all(node, result)
        except _Stopped as stopped:
            result = result.model_copy(update={"kind": stopped.kind, "problem": stopped.sentence})
        return result.model_copy(update={"done": tuple(self._done)})

    async def _all(self, node: LoginNode, result: EndpointSetup) -> EndpointSetup:
        installs = not good_version(node.version)
        if installs:
            self._tell(f"Installing {AGENT} in {node.venv}; on a busy file system that takes some minutes …")
            await self._step("install", _INSTALL_S)
        changed = (await self._step("configure", _STEP_S, credentials=True)).get("changed", "").split()
        identity = (await self._step("who", _STEP_S)).get("identity")
        result = result.model_copy(update={"identity": identity})
        again = bool(installs or changed) and node.runs != "nowhere"
        said = await self._step("start again" if again else "start", _STEP_S)
        folder = shlex.quote(node.folder)
        result = result.model_copy(update={
            "endpoint": said.get("endpoint") or None, "pid": whole(said.get("pid")), "runs_on": said.get("runs_on"),
            "restart": f"sh {folder}/start.sh",
        })  # fmt: skip
        said = await self._step("online", _STEP_S)
        return result.model_copy(update={"endpoint": said.get("endpoint"), "online": said.get("online") == "yes"})

    async def _step(self, act: str, timeout_s: float, *, credentials: bool = False) -> dict[str, str]:
        """One step's answers. Raises _Stopped with its sentence, TransportError."""
        stdin = _credential_lines(self._wanted.credentials) if credentials and self._wanted.credentials else b""
        take = "CREDENTIALS=$(cat)\n" if stdin else ""
        done = await self._transport.run(f"{self._text}{take}{act}\n", stdin=stdin, timeout_s=timeout_s)
        said: dict[str, str] = {}
        for name, value in _lines(done):
            if name == "did":
                self._done.append(value)
                self._tell(value)
            said[name] = value
        if "problem" in said:
            raise _Stopped(said.get("kind", "failed"), said["problem"])
        if done.exit != 0:
            last = (done.err.strip().splitlines() or ["it said nothing"])[-1]
            raise _Stopped("failed", f"{self._where} broke off the step {act!r} with code {done.exit}: {last[:300]}")
        return said


def _lines(done: Completed) -> list[tuple[str, str]]:
    pairs = (line.partition(_US) for line in done.out.split("\n"))
    return [(name, value.strip()) for name, us, value in pairs if us]


def _credential_lines(credentials: tuple[str, str]) -> bytes:
    names = ("GLOBUS_COMPUTE_CLIENT_ID", "GLOBUS_COMPUTE_CLIENT_SECRET")
    return "".join(
        f"export {name}={quote(value, name)}\n" for name, value in zip(names, credentials, strict=True)
    ).encode()


def good_version(version: str | None) -> bool:
    """Whether the template is written for this version of the agent."""
    found = re.match(r"4\.(\d+)\b", version or "")
    return found is not None and int(found[1]) >= 19


def plan(node: LoginNode, wanted: Wanted) -> tuple[str, ...]:
    """What would be done there, one sentence each."""
    steps = []
    if not good_version(node.version):
        old = f", in place of {node.version}" if node.version else ""
        steps.append(f"Install {AGENT} in {node.venv}{old}.")
    if not node.configured:
        steps.append(f"Write {node.folder}/config.yaml.")
    if node.differing:
        steps.append(f"Write in {node.folder}: {', '.join(node.differing)}.")
    if node.runs == "nowhere":
        steps.append(f"Start the agent {wanted.name} on {node.node}.")
    elif steps:
        where = node.runs_on or node.node
        steps.append(f"End the agent that runs on {where} as process {node.pid}, and start it on {node.node}.")
    return tuple(steps)


def budget(node: LoginNode) -> tuple[bool, str]:
    """Whether the user's threads suffice there, and the sentence about it."""
    if node.threads_allowed is None:
        return True, f"no limit is set; {node.threads_used or 'some'} are in use."
    used = node.threads_used or 0
    # an agent that runs already is among those in use
    free = node.threads_allowed - used + (THREADS if node.runs == "here" else 0)
    said = f"{used} of {node.threads_allowed:,} are in use; the agent takes up to {THREADS}"
    if free < THREADS:
        return False, (
            f"{said}, and only {max(free, 0)} are left for it: end other sessions of yours there (editors count, too), "
            f"or ask the site for a higher `ulimit -u`."
        )
    return True, f"{said}."
