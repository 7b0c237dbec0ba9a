"""What lies at a location, as its own shell tells it: names, sizes, times, digests, and the room that is left.

Names are foreign: they come and go as bytes ended by NUL, and are never part of a script. Symbolic links, sockets and
devices are counted and never followed; only the path that the user wrote may itself be a link.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from jupyter_diamond.errors import DataProblem, TransportError
from jupyter_diamond.model.data import DataSize
from jupyter_diamond.parsing import numbers
from jupyter_diamond.parsing.quotas import quota_left
from jupyter_diamond.transport.base import Completed, Transport

MOST_ENTRIES = 100_000
PART = ".diamond-part-"
"""What stands under such a name is on its way, and no part of any data."""
_GLANCE_S = 60.0
_MOST_BYTES = 64 << 20
_SLOW_BYTES_PER_S = 20 << 20
"""Digesting slower than this counts as hanging."""

Kind = Literal["file", "folder", "missing", "unreadable", "other"]


@dataclass(frozen=True)
class Entry:
    """A file. ``mtime_ns`` is as exact as the site tells it: some tell whole seconds."""

    path: str
    bytes: int
    mtime_ns: int

    @property
    def mtime_s(self) -> int:
        """Whole seconds: what every way to move a file keeps."""
        return self.mtime_ns // 1_000_000_000


@dataclass(frozen=True)
class Room:
    """What may still be written where a path is, or would be: free space, within the user's quota. None: not told."""

    bytes: int | None = None
    inodes: int | None = None


@dataclass(frozen=True)
class Listing:
    """What lies at a path. Of a file, its one entry has the path ``""``; of a folder, paths are below it.

    ``whole`` False: there is more than is listed, and ``total_bytes`` and ``total_files`` count only that.
    ``links``: how many symbolic links, sockets and devices were passed over. ``unread``: what could not be looked
    into, in the site's own words. ``names``: of a list of files, those that are not there.
    """

    kind: Kind
    files: Mapping[str, Entry] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    links: int = 0
    whole: bool = True
    unread: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    room: Room = Room()
    digests: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of files, in hex, where that was asked for."""

    @property
    def total_bytes(self) -> int:
        """How much all files hold."""
        return sum(entry.bytes for entry in self.files.values())

    @property
    def size(self) -> DataSize:
        """Bytes and files."""
        return DataSize(bytes=self.total_bytes, files=len(self.files))

    @property
    def digest(self) -> str:
        """Tells cheaply whether anything has changed: over names, sizes and times. No digest of any content."""
        return fingerprint(self.files)

    @property
    def newest_ns(self) -> int | None:
        """When the newest file was changed; None where there is none."""
        return max((entry.mtime_ns for entry in self.files.values()), default=None)


def _sha256(pieces: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return f"sha256:{whole.hexdigest()}"


def fingerprint(files: Mapping[str, Entry]) -> str:
    """``sha256:…`` over names, sizes and times of files."""
    return _sha256(
        f"{path}\0{entry.bytes}\0{entry.mtime_ns}\0".encode("utf-8", "surrogateescape")
        for path, entry in sorted(files.items())
    )


def tree_digest(digests: Mapping[str, str]) -> str:
    """``sha256:…`` over the content of a file (path ``""``) or of a folder: over names and each file's digest."""
    if set(digests) == {""}:
        return f"sha256:{digests['']}"
    return _sha256(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape") for path, digest in sorted(digests.items()))


# ---- the scripts; bash runs them, whatever the login shell is

# $p is the path. What each tells is one record, ended by NUL; a process is begun only where the shell cannot tell.
_HEAD = r"""export LC_ALL=C
say() { printf '%s\0' "$1"; }
kind() {
  if [ -d "$p" ]; then
    if [ -r "$p" ] && [ -x "$p" ]; then say 'K folder'; else say 'K unreadable'; fi
  elif [ -f "$p" ]; then if [ -r "$p" ]; then say 'K file'; else say 'K unreadable'; fi
  elif [ -e "$p" ]; then say 'K other'
  else
    above
    if [ -L "$p" ] || [ -x "$r" ]; then say 'K missing'; else say 'K unreadable'; fi
  fi
}
above() {
  r=$p
  while [ ! -d "$r" ] && [ "${r#/*/}" != "$r" ]; do r=${r%/*}; done
  [ -d "$r" ] || r=/
}
room() {
  local b i
  above
  if read -r a b i < <(stat -f -c '%a %S %d' -- "$r" 2>/dev/null); then b=$((a * b))
  else
    b=$(df -Pk -- "$r" 2>/dev/null | awk 'NR==2{print $4 * 1024}')
    i=$(df -Pi -- "$r" 2>/dev/null | awk 'NR==2{print $4}')
  fi
  say "R ${b:--} ${i:--}"
}
"""
# what the user alone may write there, where that is told: a question to a file server, which may not answer
_QUOTA = r"""
owed() {
  local s
  if s=$(timeout 5 lfs quota -q -u "$(id -un)" "$r" 2>/dev/null) && [ -n "$s" ]; then say "Q - $s"
  elif s=$(timeout 5 quota -u -p -w 2>/dev/null) && [ -n "$s" ]; then
    say "Q $(df -P -- "$r" 2>/dev/null | awk 'NR==2{print $1}') $s"
  fi
}
"""
# BusyBox's find has no -printf; its stat knows the same words. One record a name: letter, size, seconds, name.
_WALK = r"""
show() {
  local f t s
  for f; do
    if [ -L "$f" ]; then t=l; elif [ -d "$f" ]; then t=d; elif [ -f "$f" ]; then t=f; else t=o; fi
    s=$(stat -c '%s %Y' -- "$f" 2>/dev/null || stat -f '%z %m' -- "$f") && printf '%s %s %s\0' "$t" "$s" "$f"
  done
}
walk() {
  if find /dev/null -printf '' 2>/dev/null; then
    find "$@" -name '@PART@*' -prune -o -printf '%y %s %T@ %p\0'
  else
    find "$@" -name '@PART@*' -prune -o -print0 | while IFS= read -r -d '' f; do show "$f"; done
  fi
}
all() {
  local s
  if [ -f "$p" ]; then
    s=$(stat -L -c '%s %.Y' -- "$p" 2>/dev/null || stat -L -c '%s %Y' -- "$p" 2>/dev/null || stat -L -f '%z %m' -- "$p")
    printf 'f %s \0' "$s"
  elif [ -d "$p" ] && cd -- "$p"; then walk .; fi
}
"""
_NAMES = r"""
n=(); while IFS= read -r -d '' f; do n+=("./$f"); done
each() { local i; for ((i = 0; i < ${#n[@]}; i += 500)); do "$1" "${n[@]:i:500}"; done; }
"""
# of the path itself the name is empty, and of it all that is told is its digest
_DIGESTS = r"""
digest() {
  if [ -d "$p" ] && sha256sum -z < /dev/null > /dev/null 2>&1; then nice -n 10 sha256sum -z -- "$@"; return; fi
  local f s
  for f; do
    [ "$f" != ./ ] || f=$p
    s=$({ sha256sum || shasum -a 256; } < "$f" 2>/dev/null) && printf '%s  %s\0' "${s%% *}" "$f"
  done
}
if [ ! -d "$p" ] || cd -- "$p"; then say H; each digest; fi
"""


def filled(script: str, **words: str) -> str:
    """A script with its ``@WORDS@``, in one go: a path may hold anything, also what looks like such a word."""
    return re.sub(r"@([A-Z]+)@", lambda found: words[found[1]], script)


def _filled(script: str, path: str) -> str:
    return filled(script, PART=PART, PATH=shlex.quote(path))


def _lines(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


async def look(
    transport: Transport,
    path: str,
    *,
    files: Collection[str] = (),
    where: str,
    timeout_s: float = 60.0,
    digest: Collection[str] = (),
) -> Listing:
    """What lies there now; with ``files`` only these below it. Raises TransportError, DataProblem.

    ``digest``: files whose digests come along; where ``files`` are given, too, these are the same. A count that takes
    longer than ``timeout_s`` gives what could be told at once, not ``whole``.
    """
    walk = 'if [ -d "$p" ] && cd -- "$p"; then each walk; fi\n' if files else "all\n"
    script = f"{_HEAD}{_NAMES}{_WALK}p=@PATH@\nkind; room; {walk}{_DIGESTS if digest else ''}"
    try:
        done = await transport.run(
            _filled(script, path), stdin=_lines(files or digest), timeout_s=timeout_s, max_bytes=_MOST_BYTES
        )
    except TransportError as problem:
        if digest or problem.outcome != "unknown" or "did not finish" not in problem.message:
            raise
        return await glance(transport, path, where=where)
    if not done.stdout:
        raise _unlisted(path, where, done)
    found = _read(done.stdout, tuple(done.err.splitlines()), path)
    lacking = tuple(name for name in files if not _covered(name, found)) if files and found.whole else ()
    return replace(found, whole=found.whole and not done.truncated, missing=lacking)


async def look_all(transport: Transport, paths: Sequence[str], *, where: str, timeout_s: float) -> list[Listing]:
    """What lies at several paths of one place, asked at once. Raises TransportError, DataProblem."""
    script = f"{_HEAD}{_filled(_WALK, '')}"
    script += "".join(f"p={shlex.quote(path)}; kind; (all); say N\n" for path in paths)
    done = await transport.run(script, timeout_s=timeout_s, max_bytes=_MOST_BYTES)
    told = re.split(rb"(?:^|(?<=\0))N\0", done.stdout)
    if len(told) <= len(paths):
        raise _unlisted(paths[0], where, done)
    said = tuple(done.err.splitlines())
    return [
        replace(_read(out, said, path), whole=not done.truncated) for out, path in zip(told[:-1], paths, strict=True)
    ]


def _unlisted(path: str, where: str, done: Completed) -> DataProblem:
    return DataProblem(
        f"{where} could not list {path}.", kind="broken", transient=True, evidence=tuple(done.err.splitlines()[:20])
    )


async def glance(transport: Transport, path: str, *, where: str) -> Listing:
    """What kind of thing is there, and what room is left; nothing is counted. Raises TransportError."""
    script = f"{_HEAD}{_QUOTA}p={shlex.quote(path)}\nkind; room; owed\n"
    done = await transport.run(script, timeout_s=_GLANCE_S)
    if not done.stdout:
        raise _unlisted(path, where, done)
    return replace(_read(done.stdout, (), path), whole=False)


def _covered(name: str, found: Listing) -> bool:
    name = posixpath.normpath(name)
    return name in found.files or name in found.folders


def _read(out: bytes, said: tuple[str, ...], path: str) -> Listing:
    """The records of a script. One that makes no sense is told as unread."""
    out, _, made = out.partition(b"\0H\0")
    out += b"\0" if made and not out.endswith(b"\0") else b""
    kind: Kind = "missing"
    files, folders, links, room = dict[str, Entry](), list[str](), 0, Room()
    unread = [line for line in said if ": " in line]
    whole = True
    for record in out.split(b"\0")[:-1]:
        letter, _, rest = os.fsdecode(record).partition(" ")
        if letter == "K":
            kind = rest if rest in ("file", "folder", "unreadable", "other") else "missing"  # type: ignore[assignment]
        elif letter == "R":
            room = _room(rest)
        elif letter == "Q":
            room = _within_quota(room, rest)
        elif letter in ("f", "d") and len(files) + len(folders) >= MOST_ENTRIES:
            whole = False
        elif letter == "f" and (entry := _entry(rest)) is not None:
            files[entry.path] = entry
        elif letter == "d":
            name = rest.split(" ", 2)[2:]
            folders += [name[0].removeprefix("./")] if name and name[0] != "." else []
        elif letter in ("l", "o", "p", "s", "b", "c"):
            links += 1
        else:
            unread.append(f"an entry that makes no sense: {record[:200]!r}")
    lacking = [line for line in unread if "No such file" in line]
    unread = [line for line in unread if line not in lacking]
    digests = _digests(made, path)
    return Listing(kind, files, tuple(folders), links, whole, tuple(unread[:50]), room=room, digests=digests)


def _digests(made: bytes, path: str) -> dict[str, str]:
    found = dict[str, str]()
    for record in made.split(b"\0")[:-1]:
        digest, _, name = os.fsdecode(record).partition(" ")
        if re.fullmatch("[0-9a-f]{64}", digest):
            name = name[1:]  # a space, or a star where it was read as a binary file
            found["" if name == path else name.removeprefix("./")] = digest
    return found


def _entry(rest: str) -> Entry | None:
    size, _, rest = rest.partition(" ")
    when, _, name = rest.partition(" ")
    whole, _, part = when.partition(".")
    count, at = numbers.whole(size), numbers.whole(whole.removeprefix("-"))
    if count is None or at is None:
        return None
    nanoseconds = numbers.whole((part + "0" * 9)[:9]) or 0
    return Entry(name.removeprefix("./"), count, (-at if whole[:1] == "-" else at) * 1_000_000_000 + nanoseconds)


def _room(rest: str) -> Room:
    free, _, inodes = rest.partition(" ")
    # file systems that have no table of inodes say 0 or -
    return Room(bytes=numbers.whole(free), inodes=numbers.whole(inodes) or None)


def _within_quota(room: Room, rest: str) -> Room:
    """The smaller of what the file system has and what the user may take of it."""
    device, _, told = rest.partition(" ")
    left = quota_left(told, None if device == "-" else device)
    least = [each for each in (room.bytes, left.bytes) if each is not None]
    fewest = [each for each in (room.inodes, left.files) if each is not None]
    return Room(min(least, default=None), min(fewest, default=None))


async def digests(
    transport: Transport, path: str, names: Collection[str], *, total_bytes: int, where: str
) -> dict[str, str]:
    """The SHA-256 of files below a folder, or of the file itself (``("",)``), in hex, by name.

    Raises DataProblem where one cannot be read any more, TransportError.
    """
    if not names:
        return {}
    script = f"{_HEAD}p={shlex.quote(path)}\n{_NAMES}{_DIGESTS}"
    done = await transport.run(script, stdin=_lines(names), timeout_s=patience(total_bytes), max_bytes=_MOST_BYTES)
    made = _digests(done.stdout.partition(b"H\0")[2], path)
    check_digests(made, names, path, where, tuple(done.err.splitlines()[:20]))
    return made


def patience(total_bytes: int) -> float:
    """How long reading so much may take, in seconds."""
    return 60.0 + total_bytes / _SLOW_BYTES_PER_S


def check_digests(
    made: Mapping[str, str], names: Iterable[str], path: str, where: str, said: tuple[str, ...] = ()
) -> None:
    """Raise DataProblem where one of these files has none."""
    lost = next((name for name in names if name not in made), None)
    if lost is not None:
        raise DataProblem(
            f"{posixpath.join(path, lost) if lost else path} at {where} could not be read to make its digest.",
            kind="changed", transient=True, evidence=said,
        )  # fmt: skip
