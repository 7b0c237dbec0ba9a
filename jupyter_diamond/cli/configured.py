"""The settings as the server would read them."""

from __future__ import annotations

import logging
from pathlib import Path

from jupyter_core.application import JupyterApp

from jupyter_diamond.settings import (
    DiamondBudget,
    DiamondEngine,
    DiamondGlobus,
    DiamondLimits,
    DiamondSites,
    DiamondStore,
)


class Settings(JupyterApp):
    """A server's configuration files, and no command line."""

    name = "jupyter-server"
    classes = [  # noqa: RUF012 - as traitlets has it
        DiamondStore, DiamondSites, DiamondEngine, DiamondLimits, DiamondGlobus, DiamondBudget,
    ]  # fmt: skip

    def read(self) -> None:
        """Read the configuration files; one that is broken leaves the defaults, and the server itself says so."""
        self.load_config_file(suppress_errors=True)


def read_settings() -> Settings:
    """The settings of now."""
    app = Settings()
    app.log.setLevel(logging.CRITICAL)
    app.read()
    return app


def catalogue_path() -> Path:
    """Where the site catalogue is, or would be."""
    return Path(DiamondSites(parent=read_settings()).path).expanduser()
