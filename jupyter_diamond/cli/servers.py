"""Which of the user's own Jupyter servers to ask: found through their runtime files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
from jupyter_core.paths import jupyter_runtime_dir
from pydantic import ValidationError

from jupyter_diamond.errors import ServerUnavailable
from jupyter_diamond.model.views import Status
from jupyter_diamond.notebook.connect import TOKEN, URL, ServerAddress, find_server

START = "Start one with: jupyter lab (or, without a browser: jupyter server)."
ASK_S = 5.0


@dataclass(frozen=True)
class Found:
    """One server. ``status`` is None when it does not serve Diamond; ``problem`` says what it did instead."""

    address: ServerAddress
    status: Status | None
    problem: str = ""


def running(env: Mapping[str, str] | None = None) -> list[Found]:
    """Every server of this user that answers, or that its runtime file says should."""
    env = os.environ if env is None else env
    if env.get(URL, "").strip():
        return [_ask(find_server(env))]
    found = [_ask(address) for address in _addresses(Path(jupyter_runtime_dir()))]
    return [each for each in found if each.status is not None or not each.problem.startswith("gone")]


def choose(found: list[Found]) -> Found:
    """The one that advances work; else the first that serves Diamond. Raises ServerUnavailable."""
    serving = [each for each in found if each.status is not None]
    if not serving:
        said = "; ".join(f"{each.address.host} {each.problem}" for each in found)
        raise ServerUnavailable(
            f"None of your running Jupyter servers serves Diamond ({said}). Install jupyter_diamond in their "
            "environment and restart them."
            if found
            else f"None of your Jupyter servers is running on this machine. {START} {URL} and {TOKEN} name another one."
        )
    return next((each for each in serving if each.status is not None and each.status.advances_work), serving[0])


def _addresses(folder: Path) -> Iterator[ServerAddress]:
    for path in sorted(folder.glob("jpserver-*.json")):
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            url, token = str(entry["url"]), str(entry.get("token") or "")
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue  # half written, or of a server that has just stopped
        yield ServerAddress(url.rstrip("/") + "/", token)


def _ask(address: ServerAddress) -> Found:
    headers = {"Authorization": f"token {address.token}"} if address.token else {}
    try:
        answer = httpx.get(
            f"{address.api}status", headers=headers, timeout=ASK_S, trust_env=not address.loopback,
        )  # fmt: skip
    except httpx.ConnectError:
        return Found(address, None, "gone: nobody answers there")
    except httpx.TransportError as fault:
        return Found(address, None, f"did not answer within {ASK_S:.0f} s ({type(fault).__name__})")
    if answer.status_code != 200:
        return Found(address, None, _refusal(answer))
    try:
        return Found(address, Status.model_validate_json(answer.content))
    except ValidationError:
        return Found(address, None, "serves another version of Diamond than this one; restart it after an upgrade")


def _refusal(answer: httpx.Response) -> str:
    if answer.status_code == 404:
        return "runs without Diamond"
    if answer.status_code in (401, 403):
        return "does not accept the token of its runtime file (it may be protected by a password only)"
    try:
        return f"cannot work: {answer.json()['message']}"
    except (ValueError, KeyError, TypeError):
        return f"answered {answer.status_code}"
