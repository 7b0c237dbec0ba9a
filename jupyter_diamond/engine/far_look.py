"""Waiting for what jobs leave in their folders where those are not in reach: one call for all jobs of a site.

The script looks every fraction of a second, at the site, and answers when there is news. So a result is heard of one
round trip after it was written, and the site sees one shell and one connection, not a poll a job. The script ends with
whoever listens to it: its input is held open, and at its end so is the wait.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from jupyter_diamond.engine import attempt_folder
from jupyter_diamond.engine.attempt_folder import Seen, Started
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.manifest import EndFile, Manifest
from jupyter_diamond.parsing.quoting import quote

_SLACK_S = 30.0
_MOST_BYTES = 64 << 20
_HEAD = re.compile(rb"@@diamond:(\d+) ([a-z.]+) (\d+)\n")


async def wait_for_news(link: SiteLink, wanted: Sequence[tuple[str, bool]], *, every_s: float) -> dict[int, Seen]:
    """What is new in the folders, by their place in ``wanted``: (folder, its start is known). Raises TransportError.

    Empty when nothing happened for as long as the transport lets a script wait. Not in the site's lane: it would keep
    others from it for a minute.
    """
    for_s = link.transport.longest_wait_s
    done = await link.transport.run(
        look_script(wanted, every_s=every_s, for_s=for_s),
        timeout_s=for_s + _SLACK_S,
        max_bytes=_MOST_BYTES,
        hold_stdin=True,
    )
    return parse_look(done.stdout)


def look_script(wanted: Sequence[tuple[str, bool]], *, every_s: float, for_s: float) -> str:
    """Bash, with nothing started while nothing is new: ``read`` is the clock, and notices the end of its input."""
    looks = "\n".join(
        f"look {i} {quote(folder, 'the attempt folder')} {'' if started_known else files.STARTED}"
        for i, (folder, started_known) in enumerate(wanted)
    )
    return f"""export LC_ALL=C
say() {{ c=$(cat "$2/$3") && [ -n "$c" ] && printf '@@diamond:%s %s %s\\n%s\\n' "$1" "$3" "${{#c}}" "$c" && news=1; }}
look() {{
  [ -n "$3" ] && [ -e "$2/$3" ] && say "$1" "$2" "$3"
  if [ -e "$2/{files.END}" ]; then
    say "$1" "$2" {files.END}
    [ -e "$2/{files.MANIFEST}" ] && say "$1" "$2" {files.MANIFEST}
  fi
}}
news=
end=$((SECONDS + {int(for_s)}))
while :; do
{looks}
if [ -n "$news" ] || [ "$SECONDS" -ge "$end" ]; then exit 0; fi
read -r -t {every_s:.2f} _
[ $? -gt 128 ] || exit 0
done
"""


def parse_look(answer: bytes) -> dict[int, Seen]:
    """The files that the script found, as values; one that makes no sense is named in ``unreadable``."""
    found: dict[int, dict[str, bytes]] = {}
    at = 0
    while (head := _HEAD.match(answer, at)) is not None:
        size = int(head[3])
        found.setdefault(int(head[1]), {})[head[2].decode()] = answer[head.end() : head.end() + size]
        at = head.end() + size + 1
    return {i: _seen(parts) for i, parts in found.items()}


def _seen(parts: dict[str, bytes]) -> Seen:
    started = attempt_folder.parse(Started, parts[files.STARTED]) if files.STARTED in parts else None
    end = attempt_folder.parse(EndFile, parts[files.END]) if files.END in parts else None
    manifest = attempt_folder.parse(Manifest, parts[files.MANIFEST]) if files.MANIFEST in parts else None
    values = {files.STARTED: started, files.END: end, files.MANIFEST: manifest}
    return Seen(
        started=started,
        end=end,
        manifest=manifest,
        unreadable=tuple(name for name, value in values.items() if name in parts and value is None),
    )
