"""A tar stream, or a file's bytes, from one shell to another: through this machine, where both are elsewhere."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex

from jupyter_diamond.errors import DataProblem, DiamondError, TransportError
from jupyter_diamond.model.transfer import MoverKind
from jupyter_diamond.transport.base import Transport
from jupyter_diamond.transport.channel import Channel, Streams

from .complaints import complaint
from .listing import filled
from .relay import Relay, Relayed, Side
from .threads import in_thread
from .work import ShellMover, Work

_PLAIN_TAR = 48
_OTHER_SIZE = 49

# GNU's and BSD's tar take names ended by NUL, BusyBox's only lines
_PACK = r"""export LC_ALL=C
cd -- @SOURCE@ || exit
if tar --null -T /dev/null -cf - >/dev/null 2>&1; then
  printf '\n%s\n' '@MARK@'; exec tar --null --no-recursion -cf - -T -
fi
[ -z '@LINES@' ] || exit @PLAIN@
l=$(mktemp) && tr '\0' '\n' > "$l" && printf '\n%s\n' '@MARK@' && tar -cf - -T "$l"; r=$?; rm -f "$l"; exit $r
"""
_UNPACK = r"""export LC_ALL=C
mkdir -p -- @PART@ && cd -- @PART@ && exec tar -xpof -
"""
_READ = r"""export LC_ALL=C
exec 3< @SOURCE@ || exit
printf '\n%s\n' '@MARK@'
if [ @FROM@ = 0 ]; then exec cat <&3; else exec tail -c +$((@FROM@ + 1)) <&3; fi
"""
_WRITE = r"""export LC_ALL=C
p=@PART@
[ @FROM@ = 0 ] && : > "$p"
[ "$(wc -c < "$p")" -eq @FROM@ ] || exit @OTHER@
cat >> "$p" || exit
[ "$(wc -c < "$p")" -eq @SIZE@ ] && touch -d "@"@WHEN@ -- "$p"; exit 0
"""


class StreamMover(ShellMover):
    """Streams. A file goes on where it was broken off; of many files those that have come are left out."""

    kind: MoverKind = "stream"

    async def fetch(self, work: Work) -> int:
        """Stream what is wanted."""
        mark = f"<<dmd:{secrets.token_hex(8)}>>"
        read, write = _one(work, mark) if work.single else _many(work, mark)
        stdin = b"" if work.single else b"".join(os.fsencode(f"./{name}") + b"\0" for name in work.fetch)
        before = work.come[""].bytes if work.single and "" in work.come and _resumes(work) else 0
        async with contextlib.AsyncExitStack() as stack:
            source, destination = [
                await stack.enter_async_context(_channel(end)) for end in (work.source, work.destination)
            ]
            relay = Relay(
                Side(source, read, stdin), Side(destination, write), mark,
                lambda done: work.move.tell(work.told(before + done)),
            )  # fmt: skip
            done = await in_thread(relay.run, relay.stop)
        _check(work, done)
        return min(done.bytes, work.to_fetch)


def _channel(transport: Transport) -> contextlib.AbstractAsyncContextManager[Channel]:
    if not isinstance(transport, Streams):
        raise DataProblem("One of the two places carries no streams.", kind="no_way")
    return transport.channel()


def _resumes(work: Work) -> bool:
    return work.come[""].bytes < work.send[""].bytes


def _one(work: Work, mark: str) -> tuple[str, str]:
    """The scripts for a file: from where it was broken off, if anything of it has come."""
    entry, begun = work.send[""], work.come.get("")
    begins = begun.bytes if begun is not None and _resumes(work) else 0
    read = filled(_READ, SOURCE=shlex.quote(work.move.source.path), MARK=mark, FROM=str(begins))
    write = filled(
        _WRITE, PART=shlex.quote(work.part), OTHER=str(_OTHER_SIZE), SIZE=str(entry.bytes), WHEN=str(entry.mtime_s),
        FROM=str(begins),
    )  # fmt: skip
    return read, write


def _many(work: Work, mark: str) -> tuple[str, str]:
    lines = "yes" if any("\n" in name for name in work.fetch) else ""
    source = shlex.quote(work.move.source.path)
    return (
        filled(_PACK, SOURCE=source, MARK=mark, LINES=lines, PLAIN=str(_PLAIN_TAR)),
        filled(_UNPACK, PART=shlex.quote(work.part)),
    )


def _check(work: Work, done: Relayed) -> None:
    """Raise the error that both sides' codes and words make."""
    source, destination = work.move.source.location.place, work.move.destination.location.place
    if done.source == _PLAIN_TAR:
        raise DataProblem(
            f"A file's name at {source} holds a newline, and the tar there cannot carry it.",
            kind="refused", advice="Rename that file.",
        )  # fmt: skip
    if done.destination == _OTHER_SIZE:
        raise TransportError(f"At {destination} an earlier stream has only just ended.", outcome="refused")
    problem: DiamondError | None = None
    if done.destination != 0:
        problem = complaint(
            "The data could not be written", destination, done.destination_said, lost=done.destination == 255
        )
    if (done.source not in (0, 1) or not done.marked) and (problem is None or isinstance(problem, TransportError)):
        # a destination that lacks its end complains of that, too; 1: a file grew, which the sizes tell
        problem = complaint("The data could not be read", source, done.source_said, lost=done.source == 255)
    if problem is not None:
        raise problem
