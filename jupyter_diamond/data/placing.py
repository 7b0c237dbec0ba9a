"""Putting what has come into its place: a temporary name beside it, then renamed. Asked again, it goes on.

A script of the destination's shell does it, so it is the same at every site. It renames within one file system, follows
no symbolic link below the destination, and removes nothing but folders of its own part that have become empty.
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Collection

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.transport.base import Transport

from .listing import PART, filled

WORK = ".work"
"""Appended to a part's name: where a script that goes on by itself says how far it is."""
_S = 60.0
_PLACING_S = 3600.0
_REFUSED = 46
_TOLD = 20


def part_of(destination: str, transfer_id: str, *, inside: bool) -> str:
    """The temporary name: in the destination where that is a folder that is there already, else beside it."""
    folder = destination if inside else posixpath.dirname(destination.rstrip("/")) or "/"
    return posixpath.join(folder, f"{PART}{transfer_id}")


_PLACE = r"""export LC_ALL=C
p=@PART@; d=@DESTINATION@; n=0
no() { printf 'X%s\0' "$1"; exit @REFUSED@; }
was() { n=$((n + 1)); [ "$n" -gt @TOLD@ ] || printf 'W%s\0' "$1"; }
# a link below the destination could lead anywhere: nothing is put through one
look() {
  local f
  for f in "$p$1"/* "$p$1"/.[!.]* "$p$1"/..?*; do
    [ -e "$f" ] || [ -L "$f" ] || continue
    local to="$d${f#"$p"}"
    if [ -d "$f" ] && [ ! -L "$f" ]; then
      [ ! -L "$to" ] || no "$to is a symbolic link, and a folder is to come there"
      [ ! -e "$to" ] || [ -d "$to" ] || no "$to is a file, and a folder is to come there"
      [ ! -d "$to" ] || look "${f#"$p"}"
    elif [ -d "$to" ] && [ ! -L "$to" ]; then no "$to is a folder, and a file is to come there"
    elif [ -d "$to" ]; then no "$to is a symbolic link to a folder, and a file is to come there"
    elif [ -e "$to" ] || [ -L "$to" ]; then was "${f#"$p/"}"; fi
  done
}
fill() {
  local f n=() to
  for f in "$p$1"/* "$p$1"/.[!.]* "$p$1"/..?*; do
    [ -e "$f" ] || [ -L "$f" ] || continue
    to="$d${f#"$p"}"
    if [ -d "$f" ] && [ ! -L "$f" ] && [ -d "$to" ]; then
      [ ! -L "$to" ] || no "$to is a symbolic link, and a folder is to come there"
      fill "${f#"$p"}" || return
    else n+=("$f"); fi
    if [ ${#n[@]} -ge 200 ]; then mv -f -- "${n[@]}" "$d$1/" || return; n=(); fi
  done
  [ ${#n[@]} = 0 ] || mv -f -- "${n[@]}" "$d$1/" || return
  rmdir -- "$p$1"
}
if [ ! -e "$p" ]; then [ -e "$d" ] || no "nothing has come"; exit 0; fi
if [ -d "$p" ]; then
  if [ -d "$d" ]; then look ''; fill '' || exit
  else
    [ ! -e "$d" ] && [ ! -L "$d" ] || no "$d is a file, and a folder is to come there"
    mv -- "$p" "$d" || exit
  fi
else
  [ ! -d "$d" ] || no "$d is a folder, and a file is to come there"
  if [ -e "$d" ] || [ -L "$d" ]; then was "$d"; fi
  mv -f -- "$p" "$d" || exit
fi
printf 'N%s\0' "$n"
"""


async def begin(
    transport: Transport, destination: str, *, where: str, part: str = "", folders: Collection[str] = ()
) -> None:
    """See that there is a folder for the temporary name, and make ``folders`` below ``part``.

    Raises DataProblem, TransportError.
    """
    above, into = shlex.quote(posixpath.dirname(destination.rstrip("/")) or "/"), shlex.quote(part)
    script = (
        f"export LC_ALL=C\n[ -w {shlex.quote(destination)} ] || {{ mkdir -p -- {above} && [ -w {above} ]; }} || exit\n"
    )
    if folders:
        script += f"mkdir -p -- {into} && cd -- {into} || exit\n"
        script += "while IFS= read -r -d '' f; do mkdir -p -- \"./$f\" || exit; done\n"
    names = b"".join(os.fsencode(folder) + b"\0" for folder in folders)
    done = await transport.run(script, stdin=names, timeout_s=_S)
    if done.exit != 0:
        said = done.err.strip().splitlines()
        why = said[-1].rpartition(": ")[2] if said else "it is not writable"
        raise DataProblem(
            f"Nothing can be written beside {destination} at {where}: {why}.",
            kind="permission", evidence=tuple(said[:20]),
            advice="Choose another destination, or have it opened to you.",
        )  # fmt: skip


async def place(transport: Transport, part: str, destination: str, *, where: str) -> tuple[str, ...]:
    """Rename what came under ``part`` to the destination; lines for the log, which name what was replaced.

    Raises DataProblem where something of another kind stands there: nothing is replaced then. TransportError.
    """
    target = shlex.quote(destination.rstrip("/") or "/")
    script = filled(_PLACE, REFUSED=str(_REFUSED), TOLD=str(_TOLD), PART=shlex.quote(part), DESTINATION=target)
    done = await transport.run(script, timeout_s=_PLACING_S)
    told = [record.decode("utf-8", "backslashreplace") for record in done.stdout.split(b"\0")[:-1]]
    if done.exit == _REFUSED:
        why = next((line[1:] for line in told if line.startswith("X")), "something stands in its way")
        raise DataProblem(
            f"What came for {destination} at {where} was not put in its place: {why}.",
            kind="refused", advice="Move it away, or choose another destination.",
        )  # fmt: skip
    if done.exit != 0:
        said = done.err.strip().splitlines()
        why = said[-1].rpartition(": ")[2] if said else f"the script ended with {done.exit}"
        full = "space" in why or "quota" in why.lower()
        raise DataProblem(
            f"{destination} at {where} could not be written: {why}.",
            kind="no_space" if full else "permission" if "denied" in why else "broken",
            evidence=tuple(said[:20]), advice="Mend that, then %diamond transfer again.",
        )  # fmt: skip
    count = next((whole(line[1:]) or 0 for line in told if line.startswith("N")), 0)
    names = [line[1:] for line in told if line.startswith("W")]
    if not count:
        return (f"Renamed into place: {destination}",)
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return (f"Renamed into place: {destination}; replaced {count} files: {', '.join(names)}{more}",)


async def discard(transport: Transport, destination: str, transfer_id: str) -> None:
    """Take away what lies under the temporary names of a transfer, and nothing else.

    Raises DataProblem, TransportError.
    """
    parts = {part_of(destination, transfer_id, inside=inside) for inside in (True, False)}
    names = {*parts, *(part + WORK for part in parts)}
    gone = f"rm -rf -- {shlex.join(sorted(names))}"
    # a program there that was just cut off may still write its last
    done = await transport.run(f"{gone} || {{ sleep 1; {gone}; }}", timeout_s=_PLACING_S)
    if done.exit != 0:
        raise DataProblem(
            f"What had come for {destination} could not be taken away.",
            kind="broken", evidence=tuple(done.err.splitlines()[:20]),
        )  # fmt: skip
