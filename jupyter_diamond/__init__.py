"""jupyter_diamond: all your cluster allocations as one pool inside JupyterLab.

In a notebook::

    %load_ext jupyter_diamond
    %%diamond_submit fit --cpus 2-4 --time 10m --out model
    model = train(x, y)

and later, in any kernel of yours, ``jupyter_diamond.task("fit").result()``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_diamond import checkpoint
    from jupyter_diamond.named_data import data_path
    from jupyter_diamond.notebook.api import (
        datasets,
        explain,
        forecast,
        heatmap,
        history,
        on,
        sites,
        task,
        tasks,
        transfer,
        transfers,
    )

__version__ = "0.1.0"
__all__ = [
    "checkpoint", "data_path", "datasets", "explain", "forecast", "heatmap", "history", "load_ipython_extension", "on",
    "sites", "task", "tasks", "transfer", "transfers",
]  # fmt: skip
_OF_NOTEBOOKS = frozenset(__all__) - {"checkpoint", "data_path", "load_ipython_extension"}


def __getattr__(name: str) -> Any:
    """Public names are loaded when first used: the server extension and the site's queue need none of them."""
    if name in _OF_NOTEBOOKS:
        from jupyter_diamond.notebook import api

        return getattr(api, name)
    if name == "data_path":
        from jupyter_diamond.named_data import data_path

        return data_path
    if name == "checkpoint":
        from importlib import import_module

        return import_module("jupyter_diamond.checkpoint")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jupyter_diamond``: the magics ``%diamond`` and ``%%diamond_submit``."""
    from jupyter_diamond.notebook.magics import load_ipython_extension as load

    load(shell)


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from jupyter_diamond.server.app import DiamondApp

    return [{"module": "jupyter_diamond", "app": DiamondApp}]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter-diamond"}]
