"""Runs pure functions of the labextension's sources in node, without a browser."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[2] / "labextension" / "src"


def compile_modules(compiler: Path, to: Path, *names: str) -> None:
    """Translate modules and what they import to CommonJS, with the compiler that the lock names."""
    command = [str(compiler), "--outDir", str(to), "--module", "commonjs", "--target", "es2021", "--strict"]
    done = subprocess.run(
        [*command, *(str(SOURCES / f"{name}.ts") for name in names)],
        cwd=to, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def evaluate(folder: Path, names: tuple[str, ...], script: str, given: Any = None) -> Any:
    """What a script returns in which ``names`` are the modules, by their last word, and ``given`` is a value from here."""
    head = "".join(f"const {name.rpartition('/')[2]} = require('./{name}.js');" for name in names)
    body = f"const given = JSON.parse(require('fs').readFileSync(0, 'utf8')); const run = () => {{ {script} }};"
    done = subprocess.run(
        ["node", "-e", f"{head}{body}process.stdout.write(JSON.stringify(run()));"],
        cwd=folder, input=json.dumps(given), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
