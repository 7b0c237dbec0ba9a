"""The scripts of a submission at a toy site: run by a real shell, or by what does the same in a fraction of the time."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.transport.base import Completed

Fault = Literal["", "dies", "mute", "double", "refused", "down", "full"]
Take = Callable[[str, Path, str], str]
"""Gives a job of a token and a folder to the scheduler, which names it; an array's with the places of its members."""

_FOLDER = re.compile(r"(?:^|\s)cd (/\S+)")
_COMMAND = re.compile(r"toy-submit (\S+) (\S+)")
_K = re.compile(r"submit\.(\d+)\.")
_TOY_SUBMIT = """#!/bin/sh
case $TOY_FAULT in
  dies) kill -9 $PPID; exit 1 ;;
  refused) echo 'toy: full' >&2; exit 3 ;;
  down) echo 'toy: no controller' >&2; exit 1 ;;
esac
echo "$1 $2 $PWD" >>"$TOY_TAKEN"
[ "$TOY_FAULT" != double ] || echo "$1 $2 $PWD" >>"$TOY_TAKEN"
[ "$TOY_FAULT" != mute ] || kill -9 $PPID
echo "$TOY_ID"
"""
_TAR = '#!/bin/sh\n[ "$TOY_FAULT" != full ] || { echo \'tar: No space left on device\' >&2; exit 2; }\nexec /bin/tar "$@"\n'


class Shell(Protocol):
    """Runs a script of a submission: submit, peek, fence."""

    def run(self, script: str, stdin: bytes, *, fault: Fault, take: Take, next_id: str) -> Completed:
        """Have it done at once, with a fault. ``next_id`` is what the next job will be called."""

    def checkpoints(self, script: str) -> Completed:
        """Tell the newest checkpoint."""


class RealShell:
    """The very script, in a real shell, with commands of the toy's on its path."""

    def __init__(self, folder: Path) -> None:
        self._taken = folder / "taken"
        self._bin = folder / "bin"
        self._bin.mkdir(parents=True)
        for name, text in (("toy-submit", _TOY_SUBMIT), ("tar", _TAR)):
            (self._bin / name).write_text(text)
            (self._bin / name).chmod(0o755)

    def run(self, script: str, stdin: bytes, *, fault: Fault, take: Take, next_id: str) -> Completed:
        last = str(int(next_id) + 1) if fault == "double" else next_id
        env = {"PATH": f"{self._bin}:{os.defpath}:/usr/bin:/bin", "TOY_FAULT": fault, "TOY_TAKEN": str(self._taken),
               "TOY_ID": last}  # fmt: skip
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-c", script], input=stdin, env=env, capture_output=True, check=False
        )
        if self._taken.exists():
            for line in self._taken.read_text().splitlines():
                token, ats, where = line.split(" ", 2)
                take(token, Path(where), ats)
            self._taken.unlink()
        return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)

    def checkpoints(self, script: str) -> Completed:
        return _really(script)


class QuickShell:
    """Does with the files what the scripts do. A test compares the two."""

    def run(self, script: str, stdin: bytes, *, fault: Fault, take: Take, next_id: str) -> Completed:
        if "tar -xkf" in script:  # claims of an array, asked for too seldom to be worth it
            return _really(script, stdin)
        folder, k = Path(_FOLDER.search(script)[1]), int(_K.search(script)[1])  # type: ignore[index]
        command = _COMMAND.search(script)
        if command is not None:
            return self._submit(folder, k, (command[1], command[2]), stdin, fault, take)
        if script.startswith("umask"):
            return self._fence(folder, k, close=f"ln -sn {files.FENCED}" in script)
        if not folder.is_dir():
            return _said("nothing")
        return self._recorded(folder, k) or _said("intent" if (folder / f"submit.{k}.intent").exists() else "nothing")

    def checkpoints(self, script: str) -> Completed:
        folder = Path(_FOLDER.search(script)[1])  # type: ignore[index]
        saved = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns) if folder.is_dir() else []
        newest = f"{saved[-1].name}\nmark of {saved[-1].name}\n".encode() if saved else b""
        return _said("checkpoint", newest)

    def _recorded(self, folder: Path, k: int) -> Completed | None:
        claim, rc = folder / files.CLAIM, folder / f"submit.{k}.rc"
        for member in sorted(folder.glob(f"[0-9]*/{files.CLAIM}"), key=str):
            job, _, at = str(member.readlink()).rpartition("_")
            if job and at.isdigit():
                return _said("answered", f"{job}\n".encode())
        if claim.is_symlink():
            holder = str(claim.readlink())
            return _said("fenced") if holder == files.FENCED else _said("answered", f"{holder}\n".encode())
        if rc.exists():
            out, err = ((folder / f"submit.{k}.{part}").read_bytes() for part in ("out", "err"))
            return _said("answered", out, err, int(rc.read_text()))
        return _said("no_space") if (folder / f"submit.{k}.void").exists() else None

    def _submit(self, folder: Path, k: int, job: tuple[str, str], stdin: bytes, fault: Fault, take: Take) -> Completed:
        folder.mkdir(parents=True, exist_ok=True)
        if (known := self._recorded(folder, k)) is not None:
            return known
        intent = folder / f"submit.{k}.intent"
        if intent.exists():
            return _said("intent")
        intent.touch()
        if fault == "full" or not _unpack(stdin, folder):
            intent.rename(folder / f"submit.{k}.void")
            return _said("no_space", err=b"tar: No space left on device\n")
        if fault == "dies":
            return Completed(exit=-9, stdout=b"", stderr=b"")
        out, err, code = b"", b"", 0
        if fault in ("refused", "down"):
            err, code = (b"toy: full\n", 3) if fault == "refused" else (b"toy: no controller\n", 1)
        else:
            for _ in range(2 if fault == "double" else 1):
                out = f"{take(job[0], folder, job[1])}\n".encode()
        if fault == "mute":
            return Completed(exit=-9, stdout=b"", stderr=b"")
        for part, data in (("out", out), ("err", err), ("rc", f"{code}\n".encode())):
            (folder / f"submit.{k}.{part}").write_bytes(data)
        return _said("answered", out, err, code)

    def _fence(self, folder: Path, k: int, *, close: bool) -> Completed:
        folder.mkdir(parents=True, exist_ok=True)
        rc, claim = folder / f"submit.{k}.rc", folder / files.CLAIM
        if close and not claim.is_symlink() and not (rc.exists() and int(rc.read_text()) == 0):
            claim.symlink_to(files.FENCED)
        if (known := self._recorded(folder, k)) is not None:
            return known
        intent = folder / f"submit.{k}.intent"
        found = intent.exists()
        intent.touch()
        return _said("intent" if found else "nothing")


def _really(script: str, stdin: bytes = b"") -> Completed:
    done = subprocess.run(["bash", "-c", script], input=stdin, capture_output=True, check=False)
    return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)


def _unpack(stdin: bytes, folder: Path) -> bool:
    with contextlib.suppress(tarfile.TarError), tarfile.open(fileobj=io.BytesIO(stdin)) as tar:
        for member in tar:
            (folder / member.name).write_bytes(tar.extractfile(member).read())  # type: ignore[union-attr]
        return True
    return False


def _said(word: str, out: bytes = b"", err: bytes = b"", code: int = 0) -> Completed:
    return Completed(exit=code, stdout=f"@@diamond:{word}\n".encode() + out, stderr=err)
