"""What lies at a location, as its own shell tells it: names, sizes, times, digests, and the room that is left.

Names are foreign: they come and go as bytes ended by NUL, and are never part of a script. Symbolic links, sockets and
devices are counted and never followed; only the path that the user wrote may itself be a link.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from jupyter_diamond.errors import DataProblem, TransportError
from jupyter_diamond.model.data import DataSize
from jupyter_diamond.transport.base import Transport

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
    """What is free where a path is, or would be; None: not told."""

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
        lines = (f"{path}\0{e.bytes}\0{e.mtime_ns}\0".encode("utf-8", "surrogateescape")
                 for path, e in sorted(self.files.items()))  # fmt: skip
        return _sha256(lines)

    @property
    def newest_ns(self) -> int | None:
        """When the newest file was changed; None where there is none."""
        return max((entry.mtime_ns for entry in self.files.values()), default=None)


def _sha256(pieces: Iterable[bytes]) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(piece)
    return f"sha256:{whole.hexdigest()}"


def tree_digest(digests: Mapping[str, str]) -> str:
    """``sha256:…`` over the content of a file (path ``""``) or of a folder: over names and each file's digest."""
    if set(digests) == {""}:
        return f"sha256:{digests['']}"
    return _sha256(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape") for path, digest in sorted(digests.items()))


# ---- the scripts; bash runs them, whatever the login shell is

_HEAD = r"""export LC_ALL=C
say() { printf '%s\0' "$1"; }
"""
_SORT = r"""p=@PATH@
if [ ! -e "$p" ]; then
  d=$(dirname -- "$p")
  if [ -L "$p" ]; then say 'K missing'
  elif [ -d "$d" ] && [ ! -x "$d" ]; then say 'K unreadable'
  elif ls -d -- "$p" 2>&1 | grep -q 'ermission denied'; then say 'K unreadable'
  else say 'K missing'; fi
elif [ -d "$p" ]; then
  if [ -r "$p" ] && [ -x "$p" ]; then say 'K folder'; else say 'K unreadable'; fi
elif [ -f "$p" ]; then if [ -r "$p" ]; then say 'K file'; else say 'K unreadable'; fi
else say 'K other'; fi
"""
_ROOM = r"""r=$p
while [ ! -d "$r" ] && [ "$r" != / ]; do r=$(dirname -- "$r"); done
b=$(df -Pk -- "$r" 2>/dev/null | awk 'NR==2{print $4}')
i=$(df -Pi -- "$r" 2>/dev/null | awk 'NR==2{print $4}')
say "R ${b:--} ${i:--}"
"""
# BusyBox's find has no -printf; its stat knows the same words. One record a name: letter, size, seconds, name.
_WALK = r"""
show() {
  for f; do
    if [ -L "$f" ]; then t=l; elif [ -d "$f" ]; then t=d; elif [ -f "$f" ]; then t=f; else t=o; fi
    s=$(stat -c '%s %Y' -- "$f" 2>/dev/null || stat -f '%z %m' -- "$f") && printf '%s %s %s\0' "$t" "$s" "$f"
  done
}
if find /dev/null -printf '' 2>/dev/null; then
  walk() { find "$@" -name '@PART@*' -prune -o -printf '%y %s %T@ %p\0'; }
else
  walk() { find "$@" -name '@PART@*' -prune -o -print0 | while IFS= read -r -d '' f; do show "$f"; done; }
fi
"""
_ALL = r"""
if [ -f "$p" ]; then
  s=$(stat -L -c '%s %.Y' -- "$p" 2>/dev/null || stat -L -c '%s %Y' -- "$p" 2>/dev/null || stat -L -f '%z %m' -- "$p")
  printf 'f %s \0' "$s"
elif [ -d "$p" ] && cd -- "$p"; then walk .; fi
"""
_SOME = r"""
if [ -d "$p" ] && cd -- "$p"; then
  n=(); go() { [ ${#n[@]} = 0 ] || walk "${n[@]}"; n=(); }
  while IFS= read -r -d '' f; do n+=("./$f"); [ ${#n[@]} -lt 500 ] || go; done
  go
fi
"""
_DIGESTS = r"""p=@PATH@
if [ -d "$p" ]; then cd -- "$p" || exit 1; fi
one() { for f; do
  [ "$f" != ./ ] || f=$p
  s=$({ sha256sum || shasum -a 256; } < "$f" 2>/dev/null) && printf '%s %s\0' "${s%% *}" "$f"
done; }
if [ -d "$p" ] && printf '' | sha256sum -z >/dev/null 2>&1; then
  n=(); go() { [ ${#n[@]} = 0 ] || nice -n 10 sha256sum -z -- "${n[@]}"; n=(); }
  while IFS= read -r -d '' f; do n+=("./$f"); [ ${#n[@]} -lt 500 ] || go; done
  go
else
  while IFS= read -r -d '' f; do one "./$f"; done
fi
"""


def _filled(script: str, path: str) -> str:
    return script.replace("@PART@", PART).replace("@PATH@", shlex.quote(path))


def _lines(names: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(name) + b"\0" for name in names)


async def look(
    transport: Transport, path: str, *, files: Collection[str] = (), where: str, timeout_s: float = 60.0
) -> Listing:
    """What lies there now; with ``files`` only these below it. Raises TransportError, or DataProblem for a full disk.

    A count that takes longer than ``timeout_s`` gives what could be told at once, not ``whole``.
    """
    script = _HEAD + _SORT + _ROOM + _WALK + (_SOME if files else _ALL)
    try:
        done = await transport.run(
            _filled(script, path), stdin=_lines(files), timeout_s=timeout_s, max_bytes=_MOST_BYTES
        )
    except TransportError as problem:
        if problem.outcome != "unknown" or "did not finish" not in problem.message:
            raise
        return await glance(transport, path, where=where)
    if done.exit not in (0, 1) and not done.stdout:
        raise DataProblem(
            f"{where} could not list {path}.", kind="broken", transient=True, evidence=tuple(done.err.splitlines()[:20])
        )
    found = _read(done.stdout, tuple(done.err.splitlines()))
    lacking = tuple(name for name in files if not _covered(name, found)) if files and found.whole else ()
    return replace(found, whole=found.whole and not done.truncated, missing=lacking)


async def glance(transport: Transport, path: str, *, where: str) -> Listing:
    """What kind of thing is there, and what room is left; nothing is counted. Raises TransportError."""
    done = await transport.run(_filled(_HEAD + _SORT + _ROOM, path), timeout_s=_GLANCE_S)
    if not done.stdout:
        raise DataProblem(
            f"{where} could not look at {path}.",
            kind="broken",
            transient=True,
            evidence=tuple(done.err.splitlines()[:20]),
        )
    return replace(_read(done.stdout, ()), whole=False)


def _covered(name: str, found: Listing) -> bool:
    name = posixpath.normpath(name)
    return name in found.files or name in found.folders


def _read(out: bytes, said: tuple[str, ...]) -> Listing:
    """The records of a script. One that makes no sense is told as unread."""
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
    return Listing(kind, files, tuple(folders), links, whole, tuple(unread[:50]), room=room)


def _entry(rest: str) -> Entry | None:
    size, _, rest = rest.partition(" ")
    when, _, name = rest.partition(" ")
    whole, _, part = when.partition(".")
    if not size.isdigit() or not whole.lstrip("-").isdigit():
        return None
    nanoseconds = int((part + "0" * 9)[:9]) if part[:9].isdigit() else 0
    return Entry(name.removeprefix("./"), int(size), int(whole) * 1_000_000_000 + nanoseconds)


def _room(rest: str) -> Room:
    blocks, _, inodes = rest.partition(" ")
    # file systems that have no table of inodes say 0 or -
    return Room(
        bytes=int(blocks) * 1024 if blocks.isdigit() else None,
        inodes=int(inodes) if inodes.isdigit() and int(inodes) > 0 else None,
    )


async def digests(
    transport: Transport, path: str, names: Collection[str], *, total_bytes: int, where: str
) -> dict[str, str]:
    """The SHA-256 of files below a folder, or of the file itself (``("",)``), in hex, by name.

    Raises DataProblem where one cannot be read any more, TransportError.
    """
    if not names:
        return {}
    patience = 60.0 + total_bytes / _SLOW_BYTES_PER_S
    done = await transport.run(
        _filled("export LC_ALL=C\n" + _DIGESTS, path), stdin=_lines(names), timeout_s=patience, max_bytes=_MOST_BYTES
    )
    made = dict[str, str]()
    for record in done.stdout.split(b"\0")[:-1]:
        digest, _, name = os.fsdecode(record).partition(" ")
        name = name.removeprefix(" ").removeprefix("*")
        made["" if name == path else name.removeprefix("./")] = digest
    lost = [name for name in names if len(made.get(name, "")) != 64]
    if lost:
        raise DataProblem(
            f"{posixpath.join(path, lost[0])} at {where} could not be read to make its digest.",
            kind="changed", transient=True, evidence=tuple(done.err.splitlines()[:20]),
        )  # fmt: skip
    return made
