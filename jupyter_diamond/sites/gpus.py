"""The documented kinds of GPU: package data, every size with its source."""

from __future__ import annotations

import functools
from importlib.resources import files as package_files

from ruamel.yaml import YAML

from jupyter_diamond.model.gpu import GpuTable


@functools.cache
def table() -> GpuTable:
    """All documented kinds."""
    text = (package_files("jupyter_diamond.sites") / "gpus.yaml").read_text(encoding="utf-8")
    return GpuTable.model_validate(YAML(typ="safe", pure=True).load(text))
