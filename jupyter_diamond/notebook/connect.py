"""How code in a kernel finds the Jupyter server that started it. Nothing of jupyter_server is imported."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from jupyter_core.paths import jupyter_runtime_dir

from jupyter_diamond.errors import ServerUnavailable

URL = "DIAMOND_SERVER_URL"
TOKEN = "DIAMOND_SERVER_TOKEN"  # noqa: S105 - the name of a variable, not a secret
PARENT = "JPY_PARENT_PID"
_LOOPBACK = {"localhost", "127.0.0.1", "::1", ""}


@dataclass(frozen=True)
class ServerAddress:
    """Where the server answers. ``url`` ends with its base_url and a slash."""

    url: str
    token: str

    @property
    def api(self) -> str:
        """The base of our REST API."""
        return f"{self.url}jupyter_diamond/api/"

    @property
    def host(self) -> str:
        """For sentences: the URL without anything secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"

    @property
    def loopback(self) -> bool:
        """True when no proxy may stand between: login nodes often export ``http_proxy``, which cannot reach us."""
        return (urlsplit(self.url).hostname or "") in _LOOPBACK


def find_server(env: Mapping[str, str] | None = None) -> ServerAddress:
    """The server that started this kernel.

    ``DIAMOND_SERVER_URL`` and ``DIAMOND_SERVER_TOKEN`` win; else the runtime file of the process named by
    ``JPY_PARENT_PID``. Another running server of the same user is never taken: it may hold other tasks.

    :raises ServerUnavailable: with what is missing and what to set.
    """
    env = os.environ if env is None else env
    given = env.get(URL, "").strip()
    if given:
        if urlsplit(given).scheme not in ("http", "https"):
            raise ServerUnavailable(f"{URL} is {given!r}, which is not an http address; write http://host:port/base/.")
        return ServerAddress(given.rstrip("/") + "/", env.get(TOKEN, ""))
    parent = env.get(PARENT, "").strip()
    if not parent:
        raise ServerUnavailable(
            "This kernel was not started by a Jupyter server on this machine, so it cannot find one. "
            f"Set {URL} and {TOKEN} to the server's address and token, or run the notebook in JupyterLab."
        )
    return _from_runtime_file(Path(jupyter_runtime_dir()) / f"jpserver-{parent}.json", parent)


def _from_runtime_file(path: Path, parent: str) -> ServerAddress:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        url, token = str(entry["url"]), str(entry.get("token") or "")
    except FileNotFoundError:
        raise ServerUnavailable(
            f"The Jupyter server that started this kernel (process {parent}) left no runtime file {path}: it has "
            f"stopped, or it runs on another machine. Restart JupyterLab, or set {URL} and {TOKEN}.",
            transient=True,
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ServerUnavailable(
            f"The runtime file {path} of the Jupyter server cannot be read ({type(fault).__name__}). "
            f"Set {URL} and {TOKEN} instead.",
            transient=True,
        ) from fault
    if not token:
        raise ServerUnavailable(
            "The Jupyter server that started this kernel has no token (it is protected by a password only), so kernels "
            f"cannot log in to it. Start it with a token, or set {URL} and {TOKEN}."
        )
    return ServerAddress(url.rstrip("/") + "/", token)
