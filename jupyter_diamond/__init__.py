"""jupyter_diamond: all your cluster allocations as one pool inside JupyterLab."""

from __future__ import annotations

__version__ = "0.1.0"
