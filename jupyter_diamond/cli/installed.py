"""What is installed and enabled in this environment."""

from __future__ import annotations

import json
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from jupyter_core.paths import jupyter_config_path, jupyter_path

from jupyter_diamond import __version__
from jupyter_diamond.model.looks import Check

PYTHON = (3, 10)
JUPYTERLAB = (4, 2)
EXTENSION = "jupyter_diamond"
LABEXTENSION = "jupyter-diamond"


def checks() -> tuple[Check, ...]:
    """Python, JupyterLab, the server half, the browser half."""
    return _python(), _jupyterlab(), _server_half(), _browser_half()


def _python() -> Check:
    said = f"{platform.python_version()}, {sys.executable}"
    if sys.version_info < PYTHON:
        need = ".".join(map(str, PYTHON))
        return Check(name="python", answer="fail", sentence=f"{said} is too old: install Diamond with {need} or newer.")
    return Check(name="python", answer="ok", sentence=f"{said}.")


def _jupyterlab() -> Check:
    need = ".".join(map(str, JUPYTERLAB))
    try:
        found = version("jupyterlab")
    except PackageNotFoundError:
        said = f"It is not installed here: pip install 'jupyterlab>={need}'."
        return Check(name="jupyterlab", answer="fail", sentence=said)
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < JUPYTERLAB:
        said = f"{found} is too old: pip install --upgrade 'jupyterlab>={need}'."
        return Check(name="jupyterlab", answer="fail", sentence=said)
    return Check(name="jupyterlab", answer="ok", sentence=f"{found}.")


def _server_half() -> Check:
    """As the server reads it: of several files the one that stands first on the path wins."""
    for folder in jupyter_config_path():
        base = Path(folder)
        for path in (base / "jupyter_server_config.json", *sorted((base / "jupyter_server_config.d").glob("*.json"))):
            enabled = _enabled(path)
            if enabled is False:
                said = f"{path} switches it off: jupyter server extension enable {EXTENSION}."
                return Check(name="server extension", answer="fail", sentence=said)
            if enabled:
                return Check(name="server extension", answer="ok", sentence=f"Enabled by {path}.")
    said = f"Nothing enables it: pip install jupyter-diamond, or jupyter server extension enable {EXTENSION}."
    return Check(name="server extension", answer="fail", sentence=said)


def _enabled(path: Path) -> bool | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        answer = content["ServerApp"]["jpserver_extensions"].get(EXTENSION)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return answer if isinstance(answer, bool) else None


def _browser_half() -> Check:
    for folder in jupyter_path("labextensions"):
        path = Path(folder) / LABEXTENSION / "package.json"
        try:
            found = str(json.loads(path.read_text(encoding="utf-8"))["version"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if found != __version__:
            said = (
                f"{path.parent} is of version {found}, the package of {__version__}: reinstall jupyter-diamond and "
                "reload the browser's page."
            )
            return Check(name="labextension", answer="warn", sentence=said)
        return Check(name="labextension", answer="ok", sentence=f"{found}, {path.parent}.")
    said = (
        f"No labextensions folder holds {LABEXTENSION}: reinstall with pip install --force-reinstall jupyter-diamond."
    )
    return Check(name="labextension", answer="fail", sentence=said)
