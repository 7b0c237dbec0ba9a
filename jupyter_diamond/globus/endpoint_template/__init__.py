"""What an endpoint on a login node is made of: the agent's own configuration files, and the scripts around it."""

from __future__ import annotations

from importlib.resources import files

OURS = ("user_config_template.yaml.j2", "user_config_schema.json", "user_environment.yaml", "start.sh")
"""Kept up to date by endpoint-setup."""
YOURS = ("config.yaml",)
"""Written once, where none is."""


def text(name: str) -> str:
    """One of the files."""
    return (files(__name__) / name).read_text(encoding="utf-8")
