"""Files of a site by shell scripts: for every transport that can run those, and cannot open files by path."""

from __future__ import annotations

import abc
import errno
import os
import posixpath
import re
import shlex

from jupyter_diamond.errors import TransportError
from jupyter_diamond.parsing.numbers import whole

from .base import Completed

_FILE_TIMEOUT_S = 60.0
_BYTES_PER_S = 1 << 20
"""Files get more time the larger they are; a line slower than this counts as dead."""
_MOST_BYTES = 2 << 30
_NOT_OPEN = 44
_NOT_WRITTEN = 47


class ShellFiles(abc.ABC):
    """``put``, ``get``, ``size`` and ``expand`` over ``run``. ``where`` is the site's name, for sentences."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._home: str | None = None

    @abc.abstractmethod
    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float, max_bytes: int = 8 << 20, hold_stdin: bool = False
    ) -> Completed:
        """Run a script, as Transport says it."""

    async def put(self, path: str, data: bytes, *, mode: int = 0o600) -> None:
        """Write a file under a temporary name, then rename it, if all of it has come. Missing folders are made 0700."""
        folder, name = posixpath.split(path)
        target, scratch = shlex.quote(path), shlex.quote(posixpath.join(folder, f".{name}.XXXXXX"))
        script = f"""export LC_ALL=C; umask 077
mkdir -p -- {shlex.quote(folder or ".")} && [ ! -d {target} ] && t=$(mktemp -- {scratch}) || exit {_NOT_WRITTEN}
cat > "$t" && [ "$(wc -c < "$t")" -eq {len(data)} ] && chmod {mode:o} -- "$t" && mv -f -- "$t" {target} && exit 0
rm -f -- "$t"; exit {_NOT_WRITTEN}
"""
        done = await self.run(script, stdin=data, timeout_s=_FILE_TIMEOUT_S + len(data) / _BYTES_PER_S)
        if done.exit != 0:
            raise self._file_error(f"write {path}", done)

    async def get(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read (a part of) a file."""
        done = await self._read(path, offset=offset, limit=limit, most=_MOST_BYTES if limit is None else limit)
        if done.truncated:
            raise TransportError(
                f"{path} at {self._where} is larger than {_MOST_BYTES >> 30} GiB; copy it by other means.",
                outcome="refused",
                transient=False,
            )
        return done.stdout

    async def _read(self, path: str, *, offset: int, limit: int | None, most: int) -> Completed:
        """One script that reads (a part of) a file."""
        file = shlex.quote(path)
        first = f"head -c {limit}" if limit is not None else "cat"
        read = f"{first} < {file}"
        if offset:
            # 141: head had enough and closed the pipe
            read = f"""tail -c +{offset + 1} < {file} | {first}; st=("${{PIPESTATUS[@]}}")
[ "${{st[0]}}" = 0 ] || [ "${{st[0]}}" = 141 ] || exit "${{st[0]}}"
exit "${{st[1]}}\""""
        patience = _FILE_TIMEOUT_S + min(most, 256 << 20) / _BYTES_PER_S
        done = await self.run(_open_first(file, read), timeout_s=patience, max_bytes=max(most, 1 << 16))
        if done.exit != 0:
            if _absent(done, "No such file or directory"):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            raise self._file_error(f"read {path}", done)
        return done

    async def size(self, path: str) -> int | None:
        """The file's size; None when it does not exist."""
        file = shlex.quote(path)
        done = await self.run(_open_first(file, f"wc -c < {file}"), timeout_s=_FILE_TIMEOUT_S)
        if done.exit == 0 and (count := whole(done.out)) is not None:
            return count
        if _absent(done, "No such file or directory", "Not a directory"):
            return None
        raise self._file_error(f"look at {path}", done)

    async def expand(self, path: str) -> str:
        """The absolute path; a relative one starts at home."""
        user = re.match(r"~([^/]+)", path)
        if user is not None:
            return await self._expand_user(path, user[1])
        if path.startswith("/"):
            return posixpath.normpath(path)
        if self._home is None:
            done = await self.run('printf %s "$HOME"', timeout_s=_FILE_TIMEOUT_S)
            if not done.out.startswith("/"):
                raise TransportError(
                    f"{self._where} says no home folder ({done.out[:100]!r}); nothing was sent. It is tried again.",
                    outcome="not_sent",
                    evidence=tuple(done.err.splitlines()[-20:]),
                )
            self._home = done.out
        return posixpath.normpath(posixpath.join(self._home, path.removeprefix("~").lstrip("/")))

    async def _expand_user(self, path: str, name: str) -> str:
        home = ""
        if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
            home = (await self.run(f"printf %s ~{name}", timeout_s=_FILE_TIMEOUT_S)).out
        if not home.startswith("/"):
            raise TransportError(
                f"{self._where} has no user {name!r}, in whose home {path} would lie; correct the path.",
                outcome="not_sent",
                transient=False,
            )
        return posixpath.normpath(home + path[1 + len(name) :])

    def _file_error(self, what: str, done: Completed) -> TransportError:
        said = done.err.strip().splitlines()
        why = said[-1].rpartition(": ")[2].rstrip(".") if said else f"it ended with code {done.exit}"
        return TransportError(
            f"{self._where} could not {what}: {why}.", outcome="not_sent", transient=False, evidence=tuple(said[:20])
        )


def _absent(done: Completed, *words: str) -> bool:
    """Whether the shell could not open the file for one of these reasons."""
    return done.exit == _NOT_OPEN and done.err.rstrip().endswith(words)


def _open_first(file: str, script: str) -> str:
    """The script, after a proof that the file can be opened: else the shell's own words say why not."""
    return f"export LC_ALL=C\n{{ : < {file}; }} || exit {_NOT_OPEN}\n{script}\n"
