"""Small bounded acts at one site: look around, put a file, try it for real. None of them submits anything."""

from __future__ import annotations

import re
import time
from collections.abc import Coroutine
from datetime import datetime, timezone
from typing import TypeVar

from jupyter_diamond.engine import allowed
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import Conflict, DiamondError, InvalidRequest
from jupyter_diamond.model.looks import PUT_BYTES, Check, Executed, Preflight, PutFile, SiteEnv
from jupyter_diamond.model.views import Interpreter
from jupyter_diamond.parsing.numbers import whole

T = TypeVar("T")

PREFLIGHT_S = 90.0
SLOW_PROBE_S = 60.0
SIMULATED = Check(
    name="reachable", answer="ok", sentence="Simulated: it shows recorded numbers, and nothing runs there."
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_OURS = frozenset({"attempts", "queue"})
_TIMED_OUT = (124, 137)
_LOW_BYTES = 1 << 30


async def execute(link: SiteLink, command: str) -> Executed:
    """Run one program of the allow-list. Raises InvalidRequest, TransportError."""
    words = allowed.allowed(command)
    async with link.lane:
        # one byte more than is kept tells whether there was more
        done = await link.transport.run(
            allowed.script(words), timeout_s=allowed.EXEC_SECONDS + 5.0, max_bytes=allowed.EXEC_BYTES
        )
    out, err = done.stdout, done.stderr
    return Executed(
        site=link.name, argv=words, exit=done.exit, seconds=round(done.seconds, 3),
        stdout=out[: allowed.EXEC_BYTES].decode("utf-8", "backslashreplace"),
        stderr=err[: allowed.EXEC_BYTES].decode("utf-8", "backslashreplace"),
        cut=done.truncated or len(out) > allowed.EXEC_BYTES or len(err) > allowed.EXEC_BYTES,
        timed_out=done.exit in _TIMED_OUT and done.seconds >= allowed.EXEC_SECONDS - 1,
    )  # fmt: skip


async def put_file(link: SiteLink, name: str, data: bytes, *, replace: bool) -> PutFile:
    """Write one small file into the site's work folder. Raises InvalidRequest, Conflict, TransportError."""
    if not _NAME.fullmatch(name) or name in _OURS:
        raise InvalidRequest(
            f"{name!r} cannot be a file's name in the work folder: write letters, digits, '.', '_' and '-', "
            f"no folders, no leading '.', and not {' or '.join(sorted(_OURS))}."
        )
    if len(data) > PUT_BYTES:
        raise InvalidRequest(
            f"{name} has {len(data):,} bytes; at most {PUT_BYTES:,} can be put this way. Use scp or Globus for more."
        )
    workdir = (await link.transport.expand(link.site.workdir)).rstrip("/")
    path = f"{workdir}/{name}"
    there = await link.transport.size(path) is not None
    if there and not replace:
        raise Conflict(f"{path} is there already at {link.name}; choose another name, or add --replace.")
    await link.transport.put(path, data)
    return PutFile(site=link.name, path=path, bytes=len(data), replaced=there)


async def or_its_problem(asking: Coroutine[object, object, T]) -> T | DiamondError:
    """An answer, or the error in its place: one check that fails must not hide the others."""
    try:
        return await asking
    except DiamondError as problem:
        return problem


async def preflight(link: SiteLink, interpreter: Interpreter | DiamondError, env: SiteEnv | DiamondError) -> Preflight:
    """Probe the site for real, with a clock, and judge what its login node and its interpreter said."""
    started = time.monotonic()
    checks: list[Check] = []
    try:
        done = await link.run(link.scheduler.probe_script(), timeout_s=PREFLIGHT_S)
        reading = link.scheduler.parse_probe(link.name, done, read_at=datetime.now(timezone.utc))
    except DiamondError as problem:
        said = f"{problem.message} Check the site's entry in the catalogue, and that you can log in there."
        return Preflight(site=link.name, checks=(Check(name="reachable", answer="fail", sentence=said),))
    seconds = time.monotonic() - started
    kind = "this machine's queue" if link.site.scheduler == "process" else link.site.scheduler
    what = f"{kind} {reading.scheduler_version or ''}".strip()
    count = len(reading.records)
    answered = f"{what} answered in {seconds:.1f} s, {count} partition{'' if count == 1 else 's'}."
    if seconds > SLOW_PROBE_S:
        slow = f"{answered} That is slower than a tick of {SLOW_PROBE_S:.0f} s: its numbers will always be old."
        checks.append(Check(name="reachable", answer="warn", sentence=slow))
    elif reading.health == "degraded":
        half = f"{answered} Not all of it: {' '.join(reading.notes) or 'some facts are missing.'}"
        checks.append(Check(name="reachable", answer="warn", sentence=half))
    else:
        checks.append(Check(name="reachable", answer="ok", sentence=answered))
    checks += [_work_folder(env), _interpreter(interpreter, link)]
    if link.site.scheduler != "process":
        checks.append(_account(link, env))
    return Preflight(site=link.name, checks=tuple(checks), probe_s=round(seconds, 3))


def _work_folder(env: SiteEnv | DiamondError) -> Check:
    if isinstance(env, DiamondError):
        return Check(name="work folder", answer="fail", sentence=env.message)
    folder, state = env.fact("workdir"), env.fact("workdir_state") or "not known"
    if not (state.startswith("there, writable") or "can be made" in state):
        said = f"{folder} {state}. Set another workdir in the site catalogue."
        return Check(name="work folder", answer="fail", sentence=said)
    free = env.fact("workdir_free_bytes")
    room = whole(free)
    if room is not None and room < _LOW_BYTES:
        said = f"{folder} has only {room >> 20} MB left: free some space, or set another workdir in the site catalogue."
        return Check(name="work folder", answer="warn", sentence=said)
    left = "" if room is None else f", {room >> 30:,} GB free"
    return Check(name="work folder", answer="ok", sentence=f"{folder} is {state}{left}.")


def _interpreter(found: Interpreter | DiamondError, link: SiteLink) -> Check:
    if isinstance(found, DiamondError):
        return Check(name="interpreter", answer="fail", sentence=found.message)
    if found.problem or found.version is None:
        return Check(name="interpreter", answer="fail", sentence=found.problem or "It did not say its version.")
    version = ".".join(map(str, found.version))
    if found.version < (3, 6, 0):
        said = f"{found.executable} is Python {version}; cells need 3.6 or newer: set python in the site catalogue."
        return Check(name="interpreter", answer="fail", sentence=said)
    own = "" if link.site.python or not link.transport.shares_files else " (the server's own)"
    return Check(name="interpreter", answer="ok", sentence=f"Python {version}, {found.executable}{own}.")


def _account(link: SiteLink, env: SiteEnv | DiamondError) -> Check:
    wanted = link.site.account
    if isinstance(env, DiamondError) or env.accounts is None:
        said = f"Which accounts you have at {link.name} is not known; jobs name {wanted or 'none'}."
        return Check(name="account", answer="warn" if wanted is None else "ok", sentence=said)
    names = [account.partition(" ")[0] for account in env.accounts]
    listed = ", ".join(names) or "none"
    if wanted is None and len(names) > 1:
        said = f"You have {listed}; set account in the site catalogue so that the right one pays."
        return Check(name="account", answer="warn", sentence=said)
    if wanted is not None and wanted.casefold() not in {name.casefold() for name in names}:
        said = f"{wanted} is not among your accounts there ({listed}): correct account in the site catalogue."
        return Check(name="account", answer="fail", sentence=said)
    return Check(name="account", answer="ok", sentence=f"{wanted or listed}, of {listed}.")
