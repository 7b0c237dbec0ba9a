"""Where credentials come from, read from the environment and from files' existence; no SDK is imported for it.

They are looked for in this order: a sign-in through the browser, tokens in the environment, a service identity in the
environment, a code that was pasted, the login that the Globus Compute SDK keeps.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_diamond.model.login import LoginWay
from jupyter_diamond.settings import DiamondGlobus

TOKENS = "JUPYTER_DIAMOND_TOKENS"
SERVICE = ("GLOBUS_COMPUTE_CLIENT_ID", "GLOBUS_COMPUTE_CLIENT_SECRET")
BROWSER = (("GLOBUS_CLIENT_ID", "GLOBUS_CLIENT_SECRET"), ("PORTAL_CLIENT_ID", "PORTAL_CLIENT_SECRET"))
SDK_CLIENT = "4cf29807-cf21-49ec-9443-ff9a3fb9f81c"
"""The Globus Compute SDK's own public application; a test compares it with the SDK's."""
INSTALL = "pip install 'jupyter-diamond[globus]'"


@dataclass(frozen=True)
class Pair:
    """An application that is registered with Globus, with its secret, and the variables that they stood in."""

    client_id: str
    secret: str = field(repr=False)
    names: str


@dataclass(frozen=True)
class Sources:
    """What could be used. ``problem`` is one sentence where a setting cannot be understood."""

    folder: Path
    """Where our own token files lie."""
    sdk_store: Path
    """Where the Globus Compute SDK keeps its login."""
    sdk_namespace: str
    sdk_client: str
    web: Pair | None = None
    tokens: str | None = field(default=None, repr=False)
    service: Pair | None = None
    own_client: str = ""
    """An application of the user's own for pasted codes; empty: the SDK's."""
    problem: str = ""

    @property
    def web_file(self) -> Path:
        """The tokens of a sign-in through the browser."""
        return self.folder / "web.json"

    @property
    def pasted_file(self) -> Path:
        """The tokens of a pasted code, where the user has an own application."""
        return self.folder / "pasted.json"

    @property
    def tokens_file(self) -> Path | None:
        """The file that JUPYTER_DIAMOND_TOKENS names, if it does."""
        return Path(self.tokens[1:]).expanduser() if self.tokens is not None and self.tokens.startswith("@") else None

    @property
    def nothing(self) -> bool:
        """There is surely no login: told without any SDK."""
        files = (self.web_file, self.pasted_file, self.sdk_store)
        return self.tokens is None and self.service is None and not any(file.exists() for file in files)

    @property
    def ways(self) -> tuple[LoginWay, ...]:
        """How a login can be begun: only in a way whose tokens would then count."""
        web: tuple[LoginWay, ...] = ("web",) if self.web is not None else ()
        over = self.tokens is not None or self.service is not None or (bool(web) and self.web_file.exists())
        return web if over else (*web, "code")

    def fingerprint(self) -> tuple[object, ...]:
        """Changes when any file that may hold tokens does, whichever process wrote it."""
        files = (self.web_file, self.pasted_file, self.sdk_store, self.tokens_file)
        return tuple(_stamp(file) for file in files if file is not None)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def sources(settings: DiamondGlobus, environ: Mapping[str, str]) -> Sources:
    """Read the environment. Half a pair is a problem, not a reason to log in as somebody else."""

    def of(name: str) -> str:
        return environ.get(name, "").strip()

    problem = ""
    web = None
    for id_name, secret_name in BROWSER:
        if secret := of(secret_name):
            client_id = of(id_name) or settings.client_id
            if client_id:
                web = Pair(client_id, secret, f"{id_name} and {secret_name}")
                break
            problem = f"{secret_name} is set without {id_name}: set both, or neither."
    service_id, service_secret = of(SERVICE[0]), of(SERVICE[1])
    if service_secret and not service_id:
        problem = f"{SERVICE[1]} is set without {SERVICE[0]}: set both to act as that application, or neither."
    own = settings.client_id
    home = Path(of("GLOBUS_COMPUTE_USER_DIR") or Path(environ.get("HOME") or Path.home()) / ".globus_compute")
    return Sources(
        folder=Path(settings.tokens_folder).expanduser(),
        sdk_store=home / "storage.db",
        sdk_namespace=f"user/{of('GLOBUS_SDK_ENVIRONMENT') or 'production'}",
        sdk_client=service_id or SDK_CLIENT,
        web=web,
        tokens=of(TOKENS) or None,
        service=Pair(service_id, service_secret, " and ".join(SERVICE)) if service_id and service_secret else None,
        own_client="" if web is not None and web.client_id == own else own,
        problem=problem,
    )


def installed() -> bool:
    """Both SDKs are there; found without importing them."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in ("globus_sdk", "globus_compute_sdk"))
    except ValueError:  # a module that is only half there
        return False
