"""Which extensions a test's JupyterLab runs: those of Jupyter AI only where a test is about the chat.

They cost seconds at a server's start, listen on a port that all servers of a machine share (localhost:3001), and ask
the package index for news. Tests of everything else start as they would without the extra ``ai``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OF_THE_CHAT = (
    "jupyter_ai_acp_client", "jupyter_ai_chat_commands", "jupyter_ai_persona_manager", "jupyter_ai_router",
    "jupyter_ai_tools", "jupyter_live_content", "jupyter_server_mcp", "jupyterlab_chat", "jupyterlab_commands_toolkit",
)  # fmt: skip
"""Server extensions that the extra ``ai`` brings."""
OF_LAB = ("@jupyter-widgets", "anywidget", "jupyterlab_pygments")
"""Lab extensions that our own dependencies bring."""
SHARED_PORT = "jupyter_server_mcp"
QUIET = {"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_SHOW_SERVER_BANNER": "false"}
"""Jupyter AI's MCP library asks the package index at its start; a test's server asks nobody."""
NO_NEWS = {"@jupyterlab/apputils-extension:announcements": True}


def link_lab_extensions(folder: Path, ours: Path) -> None:
    """Fill a folder of lab extensions: ours, and what it needs."""
    installed = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in [("jupyter-diamond", ours), *((name, installed / name) for name in OF_LAB)]:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target)


def server_extensions(*, chat: bool) -> dict[str, bool]:
    """What ``ServerApp.jpserver_extensions`` is to say."""
    return {SHARED_PORT: False} if chat else dict.fromkeys(OF_THE_CHAT, False)


def server_configuration(lab_extensions: Path, *, chat: bool) -> dict[str, Any]:
    """A ``jupyter_server_config.json``."""
    configuration: dict[str, Any] = {"ServerApp": {"jpserver_extensions": server_extensions(chat=chat)}}
    if not chat:
        configuration["LabApp"] = {"labextensions_path": [str(lab_extensions)]}
    return configuration


def own_entry_points(folder: Path) -> Path:
    """A folder for the Python path that says what this checkout's entry points are: an editable install keeps a copy."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = folder / f"jupyter_diamond-{project['version']}.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    lines = [f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"]
    (about / "METADATA").write_text("".join(lines))
    points = [("console_scripts", project["scripts"]), *project.get("entry-points", {}).items()]
    told = [f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in every.items()) for group, every in points]
    (about / "entry_points.txt").write_text("\n".join(told))
    return folder
