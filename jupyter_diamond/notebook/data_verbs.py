"""What may be written after ``data`` and ``transfer``, in a notebook and on the command line, and waiting for one."""

from __future__ import annotations

import argparse
import difflib
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from jupyter_diamond.errors import InvalidRequest, NotFound, ServerUnavailable
from jupyter_diamond.model.data import Dataset, Replica
from jupyter_diamond.model.transfer import SyncLevel, Transfer
from jupyter_diamond.parsing.durations import parse_friendly

from .client import DiamondClient

DATA_VERBS: Mapping[str, tuple[str, ...]] = {
    "add": ("NAME", "LOCATION"), "show": ("NAME",), "check": ("NAME",), "remove": ("NAME",), "drop": ("NAME", "SITE"),
}  # fmt: skip
TRANSFER_VERBS: Mapping[str, tuple[str, ...]] = {"show": ("X",), "cancel": ("X",), "again": ("X",)}
DATA_ABOUT = (
    "Data by name: what there is of it and where; add NAME LOCATION gives a name (again: another copy), show NAME, "
    "check NAME looks at every copy now, remove NAME forgets the name and touches no file, drop NAME SITE deletes a "
    "copy that a stage-in made, after its files were listed."
)
TRANSFER_ABOUT = (
    "Your transfers, newest first; SRC DST begins one: delta:/scratch/x, globus://COLLECTION/path, home:/path or a "
    "bare path of this machine; show X, cancel X, again X, with the beginning of its id."
)
SYNC = ("checksum", "mtime", "size", "exists", "all")
_EXAMPLES = {
    "NAME": "imagenet", "LOCATION": "delta:/scratch/imagenet", "SITE": "delta", "X": "4f2a91cc",
}  # fmt: skip
_WHAT = {"NAME": "a name", "LOCATION": "a location", "SITE": "a site", "X": "the id of a transfer"}
WAIT_S = 25.0
PAUSES_S = (0.3, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Between two tries while the server is silent."""


def add_data_words(parser: argparse.ArgumentParser) -> None:
    """What ``data`` takes."""
    parser.add_argument("words", metavar="WORD", nargs="*", help="add, show, check, remove or drop; then its words")
    parser.add_argument("--note", default="", metavar="TEXT", help="what it is, for add")
    parser.add_argument("--listing", metavar="DIGEST", help="for drop: the digest of the listing that it showed")


def add_transfer_words(parser: argparse.ArgumentParser) -> None:
    """What ``transfer`` takes."""
    add = parser.add_argument
    add("words", metavar="WORD", nargs="*", help="SRC DST; show X, cancel X, again X")
    add("--files", metavar="PATHS", action="append", default=[], help="only these below SRC: a.npy,b/c.npy")
    add(
        "--sync", choices=SYNC, default="checksum",
        help="what is sent although something of that name is there: what differs by checksum (default), by mtime, by "
        "size, only what does not exist, or all",
    )  # fmt: skip
    add("--deadline", metavar="TIME", help="give it up after this long: 12h (1d)")
    add("--wait", action="store_true", help="do not return before it has ended")
    add("--dry-run", action="store_true", help="say which way it would go; move nothing")
    add("--active", action="store_true", help="of the list, only those under way")
    add("--limit", type=_rows, default=100, metavar="N", help="of the list, at most N rows (100)")


def _rows(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows; write a whole number, 1 to 1000.")
    return int(text)


@dataclass(frozen=True)
class Said:
    """What was asked for: ``verb`` is ``list`` where no word was said, ``start`` for two locations."""

    verb: str
    words: tuple[str, ...]


def data_said(said: Any, prog: str) -> Said:
    """What a ``data`` line asks for. Raises InvalidRequest with one sentence."""
    if not said.words:
        return Said("list", ())
    verb, *words = said.words
    wanted = DATA_VERBS.get(verb)
    if wanted is None:
        raise NotFound(f"{prog} has no command {verb[:40]!r}; {_meant(verb, DATA_VERBS)}")
    return _checked(verb, words, wanted, prog)


def transfer_said(said: Any, prog: str) -> Said:
    """What a ``transfer`` line asks for. Raises InvalidRequest with one sentence."""
    if not said.words:
        return Said("list", ())
    verb, *words = said.words
    wanted = TRANSFER_VERBS.get(verb)
    if wanted is not None:
        return _checked(verb, words, wanted, prog)
    if len(said.words) != 2:
        raise InvalidRequest(
            f"{prog} takes two locations, from where and to where, e.g. {prog} delta:/scratch/x home:/data/x; "
            f"or {', '.join(f'{each} X' for each in TRANSFER_VERBS)}."
        )
    return Said("start", tuple(said.words))


def _checked(verb: str, words: list[str], wanted: tuple[str, ...], prog: str) -> Said:
    if len(words) != len(wanted):
        example = " ".join(_EXAMPLES[each] for each in wanted)
        raise InvalidRequest(
            f"{prog} {verb} takes {' and '.join(_WHAT[each] for each in wanted)}, e.g. {prog} {verb} {example}."
        )
    return Said(verb, tuple(words))


def _meant(verb: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(verb, known, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."


def written_here(location: str) -> str:
    """A path that is relative to this program's folder, as an absolute one; all else as it is."""
    if location in (".", "..") or location.startswith(("./", "../")):
        return str(Path(location).resolve())
    return location


def begin(client: DiamondClient, source: str, destination: str, said: Any) -> Transfer:
    """Start what the line asks for."""
    files = tuple(name for word in said.files for name in word.split(",") if name)
    sync = None if said.sync == "all" else cast("SyncLevel", said.sync)
    deadline_s = float(parse_friendly(said.deadline)) if said.deadline else None
    return started(client, (source, destination), files=files, sync=sync, deadline_s=deadline_s)


def started(
    client: DiamondClient,
    ends: tuple[str, str],
    *,
    files: tuple[str, ...],
    sync: SyncLevel | None,
    deadline_s: float | None,
) -> Transfer:
    """Start one, from the first of two locations to the second."""
    source, destination = map(written_here, ends)
    return client.start_transfer(
        source, destination, client_token=str(uuid.uuid4()), files=files, sync=sync, deadline_s=deadline_s
    )


def staged_at(dataset: Dataset, site: str) -> Replica:
    """The copy at a site that a stage-in made. Raises NotFound, InvalidRequest."""
    there = [each for each in dataset.replicas if each.location.site == site]
    made = next((each for each in there if not each.given), None)
    if made is not None:
        return made
    if there:
        raise InvalidRequest(
            f"The copy of {dataset.name} at {site} is your own: no stage-in made it, and Diamond does not delete it."
        )
    where = ", ".join(sorted({each.location.place for each in dataset.replicas})) or "nowhere"
    raise NotFound(f"No copy of {dataset.name} lies at {site}; there is: {where}.")


def until_over(
    client: DiamondClient, transfer: Transfer, tell: Callable[[Transfer], None], *, seconds: float | None = None
) -> Transfer:
    """Wait until it has ended, at most for so long; ``tell`` hears what is new. Lives through a server's restart."""
    ends = None if seconds is None else time.monotonic() + seconds
    cursor, found, failures = -1, transfer, 0
    while not found.ended:
        left = WAIT_S if ends is None else ends - time.monotonic()
        if left <= 0:
            break
        try:
            page = client.events(cursor, wait_s=min(left, WAIT_S) if cursor >= 0 else 0)
            mine = any(event.subject == f"transfer:{found.id}" for event in page.events)
            if mine or page.cursor < cursor or cursor < 0:
                found = client.transfer(found.id)
                tell(found)
            cursor, failures = page.cursor, 0
        except ServerUnavailable as gone:
            if not gone.transient:
                raise
            time.sleep(PAUSES_S[min(failures, len(PAUSES_S) - 1)])
            cursor, failures = -1, failures + 1
    return found
