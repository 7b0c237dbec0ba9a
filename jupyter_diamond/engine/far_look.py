"""Waiting for what jobs leave in their folders where those are not in reach: one call for all jobs of a site.

The script looks every fraction of a second, at the site, and answers when there is news. So a result is heard of one
round trip after it was written, and the site sees one shell and one connection, not a poll a job. The script ends with
whoever listens to it: its input is held open, and at its end so is the wait. Before it ends by itself it looks once at
the ends of all logs, for what a scheduler writes there when it ends a job: nothing of the job's own may be left then.

Where a transport lets no script wait, it looks once and answers; then we look again: soon after a job was submitted or
began, ever more seldom while nothing happens.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.attempt_folder import Seen, Started
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.pace import Pace, rest
from jupyter_diamond.engine.watched import Watched, folders
from jupyter_diamond.errors import TransportError
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.manifest import EndFile, Manifest
from jupyter_diamond.parsing.quoting import quote

_SLACK_S = 30.0
_SOON_S, _SELDOM_S = 2.0, 30.0
"""The first look after something happened, and the longest time between two."""
_NOTICES_S, _NOTICE_BYTES = 10, 1024
"""Logs are looked at by a script that has waited for so long; at so much of each."""
_MOST_BYTES = 64 << 20
LOG_PIECE, _LOG_SUM = 256 << 10, 4 << 20
"""At most so much of one log, and of all together, comes with one look: a Globus endpoint's answers end at 10 MB."""
_HEAD = re.compile(rb"@@diamond:(\d+) ([a-z.]+) (\d+)\n")
_NOTICED = "noticed"
_LOG_HEAD = re.compile(rb"^==> (.*)/" + re.escape(files.LOG.encode()) + rb" <==$", re.MULTILINE)


async def wait_for_news(
    link: SiteLink, wanted: Sequence[tuple[str, bool]], *, every_s: float, logs: Mapping[int, int] | None = None
) -> dict[int, Seen]:
    """What is new in the folders, by their place in ``wanted``: (folder, its start is known). Raises TransportError.

    ``logs`` says of which of them the log is wanted, and from where on; it comes along, and nothing waits for it.
    Empty when nothing happened for as long as the transport lets a script wait. Not in the site's lane: it would keep
    others from it for a minute.
    """
    for_s = link.transport.longest_wait_s
    done = await link.transport.run(
        look_script(wanted, every_s=every_s, for_s=for_s, logs=logs or {}, notice=link.scheduler.end_notice),
        timeout_s=for_s + _SLACK_S,
        max_bytes=_MOST_BYTES,
        hold_stdin=True,
    )
    return parse_look(done.stdout, cut=done.truncated, logs=logs or {}, folders=[folder for folder, _ in wanted])


@dataclass
class FarLooks:
    """Looks into the folders of a site's jobs until cancelled, never twice at once.

    ``unfinished`` gives the jobs to look for, ``note`` stores what was seen and says whether it was news, ``every_s``
    is how often a script that waits looks, and ``changed`` is set when there are other jobs.
    """

    link: SiteLink
    log: logging.Logger
    unfinished: Callable[[], list[Watched]]
    note: Callable[[list[tuple[Watched, Seen]]], Awaitable[bool]]
    every_s: Callable[[], float]
    changed: asyncio.Event

    async def run(self) -> None:
        """Look in the way that the transport allows."""
        await (self._wait_there() if self.link.transport.longest_wait_s > 0 else self._come_again())

    async def _wait_there(self) -> None:
        pace = Pace(0.5, 30.0)
        while True:
            self.changed.clear()
            jobs = self.unfinished()
            if not jobs:
                await rest(self.changed, None)
                continue
            begun = time.monotonic()
            news = await self._look(jobs, leave_when_changed=True)
            if news or time.monotonic() - begun > 5.0:
                pace.reset()
            else:
                await asyncio.sleep(pace.next())

    async def _come_again(self) -> None:
        pace = Pace(_SOON_S, _SELDOM_S)
        look_at, seen = math.inf, set[str]()
        while True:
            self.changed.clear()
            jobs = self.unfinished()
            names = {known.task.id for known in jobs}
            if names - seen:
                pace.reset()
                look_at = min(look_at, time.monotonic() + pace.next())
            seen = names
            if not jobs:
                look_at = math.inf
                await rest(self.changed, None)
            elif (wait_s := look_at - time.monotonic()) > 0:
                await rest(self.changed, wait_s)
            else:
                if await self._look(jobs):
                    pace.reset()
                look_at = time.monotonic() + pace.next()

    async def _look(self, jobs: list[Watched], *, leave_when_changed: bool = False) -> bool:
        """Look for news of these jobs; with ``leave_when_changed`` only as long as there are no others."""
        asking = asyncio.create_task(wait_for_news(self.link, folders(jobs), every_s=self.every_s(), logs=_logs(jobs)))
        try:
            if leave_when_changed and await self._changed_before(asking, jobs):
                return True
            return await self.note([(jobs[i], seen) for i, seen in (await asking).items()])
        except TransportError as problem:
            self.log.info("%s: %s", self.link.name, problem.message)
            return False
        finally:
            asking.cancel()
            await asyncio.wait({asking})

    async def _changed_before(self, asking: asyncio.Task[dict[int, Seen]], jobs: list[Watched]) -> bool:
        """Whether there are other jobs to look for before the site says anything of these."""
        while not asking.done():
            woken = asyncio.create_task(self.changed.wait())
            try:
                await asyncio.wait({asking, woken}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                woken.cancel()
            self.changed.clear()
            if not asking.done() and folders(self.unfinished()) != folders(jobs):
                await asyncio.sleep(0.2)  # many cells are often submitted at once
                return True
        return False


def _logs(jobs: list[Watched]) -> dict[int, int]:
    """Whose logs somebody listens to, and from where on."""
    return {i: at for i, known in enumerate(jobs) if (at := known.log_from) is not None}


_FUNCTIONS = f"""export LC_ALL=C
say() {{ c=$(cat "$2/$3") && [ -n "$c" ] && printf '@@diamond:%s %s %s\\n%s\\n' "$1" "$3" "${{#c}}" "$c" && news=1; }}
look() {{
  [ -n "$3" ] && [ -e "$2/$3" ] && say "$1" "$2" "$3"
  if [ -e "$2/{files.END}" ]; then
    say "$1" "$2" {files.END}
    [ -e "$2/{files.MANIFEST}" ] && say "$1" "$2" {files.MANIFEST}
  fi
}}"""
"""Shell functions: ``say`` prints a file, ``look`` what is new in a folder."""


def look_script(
    wanted: Sequence[tuple[str, bool]],
    *,
    every_s: float,
    for_s: float,
    logs: Mapping[int, int] | None = None,
    notice: bytes = b"",
) -> str:
    """Bash, with nothing started while nothing is new: ``read`` is the clock, and notices the end of its input.

    Logs are read when it is over anyhow: who waits for a line of one costs the site no command of its own.
    """
    looks = "\n".join(
        f"look {i} {quote(folder, 'the attempt folder')} {'' if started_known else files.STARTED}"
        for i, (folder, started_known) in enumerate(wanted)
    )
    piece = min(LOG_PIECE, _LOG_SUM // max(len(logs or {}), 1))
    heard = "\n".join(
        f"hear {i} {quote(wanted[i][0], 'the attempt folder')} {offset + 1}" for i, offset in (logs or {}).items()
    )
    return f"""{_FUNCTIONS}
hear() {{
  [ -f "$2/{files.LOG}" ] || return 0
  c=$(tail -c +"$3" "$2/{files.LOG}" | head -c {piece} | base64 | tr -d '\\n')
  [ -n "$c" ] && printf '@@diamond:%s {files.LOG} %s\\n%s\\n' "$1" "${{#c}}" "$c"
}}
all() {{
:
{looks}
}}
news=
end=$((SECONDS + {int(for_s)}))
while :; do
all
if [ -n "$news" ] || [ "$SECONDS" -ge "$end" ]; then
{heard}
{_notices(notice)}
exit 0; fi
read -r -t {every_s:.2f} _
[ $? -gt 128 ] || exit 0
done
"""


def _notices(notice: bytes) -> str:
    """The names of the logs of jobs that run which end in the scheduler's words, two processes for all of them."""
    if not notice:
        return ""
    return f"""if [ "$SECONDS" -ge {_NOTICES_S} ]; then
l=()
look() {{ [ -n "$3" ] || [ -e "$2/{files.END}" ] || [ ! -f "$2/{files.LOG}" ] || l+=("$2/{files.LOG}"); }}
all
[ "${{#l[@]}}" = 0 ] || tail -v -c {_NOTICE_BYTES} -- "${{l[@]}}" 2>/dev/null | awk -v w={quote(notice.decode())} '
/^==> .* <==$/ {{ at = $0; next }} at != "" && index($0, w) {{ print at; at = "" }}'
fi"""


def parse_look(
    answer: bytes, *, cut: bool = False, logs: Mapping[int, int] | None = None, folders: Sequence[str] = ()
) -> dict[int, Seen]:
    """The files that the script found, as values; one that makes no sense is named in ``unreadable``.

    Where the answer was ``cut``, the last folder may lack a file: it is left for the next look, if there were others.
    """
    found: dict[int, dict[str, bytes]] = {}
    at = 0
    while (head := _HEAD.match(answer, at)) is not None:
        size = int(head[3])
        found.setdefault(int(head[1]), {})[head[2].decode()] = answer[head.end() : head.end() + size]
        at = head.end() + size + 1
    if cut and len(found) > 1:
        found.popitem()
    named = {name.decode("utf-8", "surrogateescape") for name in _LOG_HEAD.findall(answer, at)}
    for i in (i for i, folder in enumerate(folders) if folder in named):
        found.setdefault(i, {})[_NOTICED] = b""
    return {i: _seen(parts, (logs or {}).get(i, 0)) for i, parts in found.items()}


def _seen(parts: dict[str, bytes], log_from: int) -> Seen:
    started = attempt_folder.parse(Started, parts[files.STARTED]) if files.STARTED in parts else None
    end = attempt_folder.parse(EndFile, parts[files.END]) if files.END in parts else None
    manifest = attempt_folder.parse(Manifest, parts[files.MANIFEST]) if files.MANIFEST in parts else None
    values = {files.STARTED: started, files.END: end, files.MANIFEST: manifest}
    return Seen(
        started=started,
        end=end,
        manifest=manifest,
        unreadable=tuple(name for name, value in values.items() if name in parts and value is None),
        noticed=_NOTICED in parts,
        log=_decoded(parts.get(files.LOG, b"")),
        log_offset=log_from,
    )


def _decoded(text: bytes) -> bytes:
    """A piece of a log; one that was cut on its way is asked for again."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return b""
