"""Builds the labextension's bundle and stamps it with a hash of its sources.

``python -m labextension.scripts.build`` from the repository's root installs what the lock says, checks the types,
builds into ``jupyter_diamond/labextension`` and writes the stamp; it needs ``node`` and jupyter-builder. With
``--check`` it only says whether the committed bundle was built from the sources as they stand, and needs neither.

The stamp is over sources, not over the bundle: two builds in folders of different names differ in module ids.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1]
BUNDLE = SOURCES.parent / "jupyter_diamond" / "labextension"
STAMP = "sources.sha256"
FOLDERS = ("src", "style", "schema")
FILES = ("package.json", "tsconfig.json", "yarn.lock")


def source_files(root: Path = SOURCES) -> Iterator[Path]:
    """Every file that shapes the bundle, in a fixed order."""
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*") if path.is_file())
    yield from (root / name for name in FILES)


def digest(root: Path = SOURCES) -> str:
    """sha256 over names and contents; line ends count as one, whatever git made of them."""
    total = hashlib.sha256()
    for path in source_files(root):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode())
        total.update(text)
    return total.hexdigest()


def stamped(bundle: Path = BUNDLE) -> str | None:
    """The stamp beside the bundle; None when there is no bundle."""
    stamp = bundle / STAMP
    return stamp.read_text(encoding="ascii").strip() if stamp.exists() else None


def build(root: Path = SOURCES) -> None:
    """Install, check, build, stamp. ``root`` may be a copy of labextension/ beside a ``jupyter_diamond`` folder."""
    env = {**os.environ, "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])}
    if shutil.which("node", path=env["PATH"]) is None:
        sys.exit("Building the labextension needs node on PATH. Install nodejs, then run this again.")
    bundle = root.parent / "jupyter_diamond" / "labextension"
    shutil.rmtree(bundle, ignore_errors=True)
    for command in (
        ["jlpm", "install", "--immutable"],
        ["jlpm", "run", "clean"],
        ["jlpm", "run", "tsc"],
        ["jupyter-builder", "build", "."],
    ):
        tool = shutil.which(command[0], path=env["PATH"])
        if tool is None:
            sys.exit(f"Building the labextension needs {command[0]}. Install jupyter-builder, then run this again.")
        subprocess.run([tool, *command[1:]], cwd=root, env=env, check=True)
    (bundle / STAMP).write_text(digest(root) + "\n", encoding="ascii")


def main(argv: list[str]) -> int:
    """Build, or check the stamp."""
    if "--check" not in argv:
        build()
        return 0
    if stamped() == digest():
        return 0
    print("The labextension's bundle is not built from its sources: run python -m labextension.scripts.build.")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
