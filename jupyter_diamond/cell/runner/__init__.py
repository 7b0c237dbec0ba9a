"""What runs at the site: one file, copied into the attempt's folder. It imports nothing of ours."""

from __future__ import annotations

from pathlib import Path

SOURCE = Path(__file__).with_name("diamond_runner.py")
