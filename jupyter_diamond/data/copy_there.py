"""A copy within one site that is not this machine: a script goes on there by itself, and is asked how far it is.

It lives in the part's own folder of work beside it: a process group, the names, a dot for every file that is done, and
its exit code. A script that is found there when another begins is stopped first.
"""

from __future__ import annotations

import asyncio
import os
import shlex

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.parsing.numbers import whole

from . import placing
from .base import Move
from .complaints import complaint
from .listing import filled
from .work import Work, shell

_S = 120.0
_FIRST_S, _MOST_S = 0.2, 5.0
_GONE_ASKED = 3
"""So often a script must be seen to be gone without an exit code: a file system may show that late."""

_STOP = r"""
[ "$(cat "$w/host" 2>/dev/null)" = "$(hostname)" ] && read -r old < "$w/pid" && kill -9 -- "-$old" 2>/dev/null
"""
_BEGIN = r"""export LC_ALL=C
s=@SOURCE@; p=@PART@; w=@PART@@WORK@
mkdir -p -- "$w" || exit
@STOP@
rm -f -- "$w/code" "$w/done" "$w/pid" "$w/errors"; cat > "$w/names" || exit
hostname > "$w/host"; : > "$w/done"
export s p w
set -m
nohup nice -n 10 bash -c '
  r=0
  while IFS= read -r -d "" f; do
    if [ "$f" = . ]; then from=$s; to=$p
    else from=$s/$f; to=$p/$f; [ -d "${to%/*}" ] || mkdir -p -- "${to%/*}"; fi
    cp -p -- "$from" "$to" || { r=1; break; }
    printf . >> "$w/done"
  done < "$w/names"
  echo $r > "$w/code.new" && mv -f "$w/code.new" "$w/code"
' < /dev/null > /dev/null 2> "$w/errors" &
echo $! > "$w/pid"
"""
_ASK = r"""export LC_ALL=C
p=@PART@; w=@PART@@WORK@
a=gone
read -r old < "$w/pid" && { [ "$(cat "$w/host")" != "$(hostname)" ] || kill -0 -- "-$old" 2>/dev/null; } && a=runs
printf '%s %s %s\n' "$(cat "$w/code" 2>/dev/null || echo -)" "$(wc -c < "$w/done")" "$a"
if [ -f "$p" ]; then wc -c < "$p"; else echo 0; fi
head -c 4096 "$w/errors"
"""


async def copy_there(work: Work) -> int:
    """Copy what is wanted; how many bytes that were. Raises DataProblem, TransportError."""
    part, where = shlex.quote(work.part), work.move.source.location.place
    names = b"".join(os.fsencode(name or ".") + b"\0" for name in work.fetch)
    begin = filled(_BEGIN, SOURCE=shlex.quote(work.move.source.path), PART=part, WORK=placing.WORK, STOP=_STOP)
    done = await work.destination.run(begin, stdin=names, timeout_s=_S)
    if done.exit != 0:
        raise complaint("The copy could not begin", where, done.err, lost=False)
    ask, wait_s, gone = filled(_ASK, PART=part, WORK=placing.WORK), _FIRST_S, 0
    sizes = [entry.bytes for entry in work.fetch.values()]
    while True:
        told = await work.destination.run(ask, timeout_s=_S)
        first, _, rest = told.out.partition("\n")
        size, _, said = rest.partition("\n")
        code, files, alive = (*first.split(), "-", "0", "gone")[:3]
        count = whole(files) or 0
        work.move.tell(work.told((whole(size) or 0) if work.single else sum(sizes[:count]), count))
        if code == "0":
            await work.destination.run(f"rm -rf -- {part}{placing.WORK}", timeout_s=_S)
            return work.to_fetch
        if code != "-":
            raise complaint("The copy failed", where, said, lost=False)
        gone = gone + 1 if alive == "gone" else 0
        if gone >= _GONE_ASKED:
            raise DataProblem(
                f"The copy at {where} was ended by somebody else.", kind="broken", transient=True,
                evidence=tuple(said.splitlines()[:20]),
            )  # fmt: skip
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, _MOST_S)


async def stop_there(move: Move) -> None:
    """End a script of this transfer that still copies. Raises TransportError."""
    for inside in (True, False):
        part = placing.part_of(move.destination.path, move.transfer.id, inside=inside)
        await shell(move.destination).run(
            f'w={shlex.quote(part)}{placing.WORK}\n[ -d "$w" ] && {{ {_STOP} }}', timeout_s=_S
        )
