"""A small package in a folder that ``uv`` installs from without a network."""

import os
import sys
import zipfile
from pathlib import Path

NAME, MODULE = "diamond-pebble", "diamond_pebble"


def folder(parent: Path, *, version: str = "1.0", source: str = "def weigh():\n    return 7\n") -> Path:
    """The folder with its wheel, to be named in ``UV_FIND_LINKS``."""
    parent.mkdir(parents=True, exist_ok=True)
    about = f"{MODULE}-{version}.dist-info"
    with zipfile.ZipFile(parent / f"{MODULE}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{MODULE}.py", source)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n")
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", f"{MODULE}.py,,\n")
    return parent


def offline(links: Path, cache: Path) -> dict[str, str]:
    """What a site's ``env`` says so that ``uv``, which is beside this interpreter, installs from there and asks nobody."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"UV_OFFLINE": "1", "UV_FIND_LINKS": str(links), "UV_CACHE_DIR": str(cache), "PATH": path}
