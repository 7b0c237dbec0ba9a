"""The command line in processes of its own that need not load it: a parent has loaded all of it, and forks for each line."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from select import select
from typing import Any

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a line ended, and what it printed."""

    status: int
    out: str
    err: str


class Forks:
    """Runs lines one after the other, each in a process with its own environment, input and outputs."""

    def __init__(self) -> None:
        env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            bufsize=0,  # a line that was read ahead would be waited for
        )

    def run(self, words: Sequence[str], env: dict[str, str], stdin: str, seconds: float) -> Ended:
        """Run ``jupyter diamond`` with these words."""
        assert self._parent.stdin is not None
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "0").write_text(stdin)
            order = {"words": words, "env": env, "cwd": str(Path.cwd()), "folder": name}
            self._parent.stdin.write(json.dumps(order).encode() + b"\n")
            pid = self._answer(60.0)
            try:
                status = self._answer(seconds)
            except TimeoutError:
                os.kill(pid, 9)
                self._answer(60.0)
                raise
            return Ended(status, (folder / "1").read_text(), (folder / "2").read_text())

    def _answer(self, seconds: float) -> int:
        assert self._parent.stdout is not None
        if not select([self._parent.stdout], [], [], seconds)[0]:
            raise TimeoutError(f"not done after {seconds:g} s")
        return int(self._parent.stdout.readline())

    def close(self) -> None:
        """End the parent."""
        self._parent.communicate()


@cache
def forks() -> Forks:
    """The one of this process, which ends with it."""
    made = Forks()
    atexit.register(made.close)
    return made


def _child(words: Sequence[str], env: dict[str, str], cwd: str, folder: str) -> int:
    """Be the command."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, flags in enumerate((os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)):
        os.dup2(os.open(f"{folder}/{number}", flags, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (open(i, mode, closefd=False) for i, mode in enumerate("rww"))  # noqa: SIM115
    try:
        from jupyter_diamond.cli.main import run

        status: Any = run(words)
    except SystemExit as left:
        status = left.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status)


def main() -> None:
    from jupyter_diamond.cli.main import WITH_SERVER, WITHOUT_SERVER, act

    for place in (WITHOUT_SERVER | WITH_SERVER).values():
        act(place)
    answers = sys.stdout
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                status = _child(**order)
            finally:
                os._exit(status)
        print(pid, file=answers, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers, flush=True)


if __name__ == "__main__":
    main()
