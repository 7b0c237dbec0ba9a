"""rsync between this machine and a site that is reached by ssh, over the one connection that all commands share."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil

from jupyter_diamond.errors import DataProblem
from jupyter_diamond.model.transfer import MoverKind
from jupyter_diamond.transport.channel import Channel, Streams
from jupyter_diamond.transport.pipes import Bounded, begin, let_go

from .complaints import complaint
from .stream import StreamMover
from .work import ShellMover, Work

_PROGRESS = re.compile(rb"\s*([\d,.]+)\s+\d+%.*?(?:xfr#(\d+),.*)?$")
_UNCLEAN = 2
"""What stands in the way of its protocol: a start-up file at the site that prints something (B21), or its age."""
_LOST = frozenset({10, 12, 30, 35, 255})
_SAID = 256 << 10


class RsyncMover(ShellMover):
    """Runs rsync here. What had begun to come is gone on with: a partial file is compared, not sent anew."""

    kind: MoverKind = "rsync"

    def __init__(self) -> None:
        self._stream = StreamMover()

    async def fetch(self, work: Work) -> int:
        """Have rsync bring it; where it cannot talk to the other side, a stream does."""
        far = work.destination if work.source.shares_files else work.source
        assert isinstance(far, Streams), "rsync is chosen for what ssh reaches"
        async with far.channel() as channel:
            done, code, said = await _run(work, channel)
        if code == _UNCLEAN:
            return await self._stream.fetch(work)
        if code != 0:
            away = work.move.source if work.move.source.transport is far else work.move.destination
            raise complaint("rsync failed", away.location.place, said, lost=code in _LOST)
        return done


def _argv(work: Work, channel: Channel) -> list[str]:
    program = shutil.which("rsync")
    if program is None:
        raise DataProblem("rsync is not installed here any more.", kind="no_way", advice="Install rsync.")
    source, target = work.move.source.path, work.part
    if not work.single:
        source, target = source.rstrip("/") + "/", target + "/"
    if work.source.shares_files:
        target = f"{channel.host}:{target}"
    else:
        source = f"{channel.host}:{source}"
    # a path that the user wrote may be a link; below a folder none is followed, nor listed
    names = ("-L",) if work.single else ("--from0", "--files-from=-", "--no-implied-dirs")
    # --inplace: what an end leaves behind has its own name, so the next try finds it; it is no place of anybody's yet
    return [
        program, "-tp", "-s", "--inplace", "--partial", "--info=progress2", "--no-human-readable", "--outbuf=L", *names,
        "-e", shlex.join(channel.rsh), source, target,
    ]  # fmt: skip


async def _run(work: Work, channel: Channel) -> tuple[int, int, str]:
    """Bytes, exit code and complaints of one run."""
    process = await begin(asyncio.create_subprocess_exec(
        *_argv(work, channel), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, env={**channel.env, "LC_ALL": "C"}, start_new_session=True,
    ))  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: PT018
    names = b"" if work.single else b"".join(os.fsencode(name) + b"\0" for name in work.fetch)
    errors = Bounded(_SAID)
    try:
        _, done, _, code = await asyncio.gather(
            _feed(process.stdin, names), _follow(process.stdout, work), _drain(process.stderr, errors), process.wait()
        )
    finally:
        await let_go(process, finished=process.returncode is not None)
    return done, code, bytes(errors.kept).decode("utf-8", "backslashreplace")


async def _feed(stream: asyncio.StreamWriter, names: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(names)
        await stream.drain()
    stream.close()


async def _drain(stream: asyncio.StreamReader, errors: Bounded) -> None:
    while chunk := await stream.read(1 << 16):
        errors.feed(chunk)


async def _follow(stream: asyncio.StreamReader, work: Work) -> int:
    """Tell how far it is, as rsync prints it."""
    rest, done, files = b"", 0, 0
    while chunk := await stream.read(1 << 16):
        *lines, rest = re.split(rb"[\r\n]", (rest + chunk)[-(1 << 16) :])
        for line in lines:
            found = _PROGRESS.match(line)
            if found is not None:
                done, files = int(re.sub(rb"\D", b"", found[1])), int(found[2] or files)
        work.move.tell(work.told(done, files))
    return done
