"""The files that a task or a group left, as a notebook holds them: a list that shows as a table and can be fetched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from uuid import uuid4

from jupyter_diamond.model.receipt import FileList, TaskFile

from .card_text import printable
from .fetching import Fetch, Shown, chosen, fetch
from .receipt_calls import ReceiptCalls
from .tables import frame_of
from .vocabulary import byte_size

if TYPE_CHECKING:
    import pandas as pd

    from .session import Session

COLUMNS = ("file", "size", "kind", "media type", "sha256", "changed")
_SHOWN = 30
_TOLD_BYTES, _TOLD_FILES = 32 << 20, 50
"""From so much on a line says how far it is."""
_TOLD_S = 0.3


class Files(Sequence[TaskFile]):
    """``for file in task.files``, ``task.files[0].path``, ``.table()`` as a DataFrame, ``.note``: what is not in it."""

    def __init__(self, listings: Sequence[FileList], *, of_group: bool = False) -> None:
        self.listings = tuple(listings)
        self._of_group = of_group
        self._rows = [(listing, file) for listing in listings for file in listing.files]

    @overload
    def __getitem__(self, at: int) -> TaskFile: ...

    @overload
    def __getitem__(self, at: slice) -> list[TaskFile]: ...

    def __getitem__(self, at: int | slice) -> TaskFile | list[TaskFile]:
        return self._rows[at][1] if isinstance(at, int) else [file for _, file in self._rows[at]]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[TaskFile]:
        return (file for _, file in self._rows)

    @property
    def note(self) -> str:
        """What is not among them, and why."""
        return "; ".join(dict.fromkeys(each.note for each in self.listings if each.note))

    def rows(self) -> list[dict[str, Any]]:
        """A row a file, its texts as they are."""
        return [
            ({"member": listing.index} if self._of_group else {})
            | {
                "file": file.path, "size": "" if file.bytes is None else byte_size(file.bytes), "kind": file.kind,
                "media type": file.media_type, "sha256": file.sha256[:12],
                "changed": f"{file.mtime:%Y-%m-%d %H:%M:%S}" if file.mtime else "",
            }
            for listing, file in self._rows
        ]  # fmt: skip

    def table(self) -> pd.DataFrame:
        """A DataFrame with a row a file, its size in bytes and its whole digest."""
        rows = [
            {"member": listing.index, **file.model_dump(include={"path", "kind", "bytes", "media_type", "sha256"})}
            | {"mtime": file.mtime, "about": file.about}
            for listing, file in self._rows
        ]
        columns = ["path", "kind", "bytes", "media_type", "sha256", "mtime", "about"]
        return frame_of(rows, ["member", *columns] if self._of_group else columns)

    def __repr__(self) -> str:
        heads = (["member"] if self._of_group else []) + list(COLUMNS)
        cells = [[_cell(row[head]) for head in heads] for row in self.rows()[:_SHOWN]]
        widths = [max([len(head), *(len(row[at]) for row in cells)]) for at, head in enumerate(heads)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
                 for row in [heads, *cells]]  # fmt: skip
        if len(self) > _SHOWN:
            lines.append(f"and {len(self) - _SHOWN:,} more; .table() has all of them")
        if self.note:
            lines.append(f"Not among them: {self.note}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        heads = (["member"] if self._of_group else []) + list(COLUMNS)
        head = "".join(f"<th>{escape(name)}</th>" for name in heads)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_cell(row[name]))}</td>' for name in heads)}</tr>"
            for row in self.rows()[:_SHOWN]
        )
        more = f"<p>and {len(self) - _SHOWN:,} more; .table() has all of them</p>" if len(self) > _SHOWN else ""
        note = f"<p>Not among them: {escape(printable(self.note))}</p>" if self.note else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{note}"


def _cell(value: object) -> str:
    return printable(str(value).replace("\n", "\\n"))


def files_of_group(client: ReceiptCalls, group_id: str) -> Files:
    """Those of all members that have ended."""
    listings: list[FileList] = []
    after: int | None = None
    while True:
        page = client.group_files(group_id, after)
        listings += page.members
        after = page.next
        if after is None:
            return Files(listings, of_group=True)


def fetched(
    session: Session, found: Files, patterns: Sequence[str], to: Path, *, by_member: bool = False
) -> list[Path]:
    """Bring the files that patterns name. A line below the cell says how far it is where that takes a while."""
    wanted = chosen(found.listings, patterns or ("**",), to, by_member=by_member)
    return fetch(session.client, wanted, _line_of(session, Fetch(wanted)))


def _line_of(session: Session, asked: Fetch) -> Shown:
    if asked.bytes_total < _TOLD_BYTES and asked.files_total < _TOLD_FILES:
        return lambda _: None
    publisher, place = session.publisher, f"diamond-{uuid4().hex[:12]}"
    publisher.show({"text/plain": "…"}, display_id=place)
    return now_and_then(lambda text: publisher.update({"text/plain": text}, display_id=place))


def now_and_then(say: Callable[[str], None]) -> Shown:
    """Say how far it is, three times a second and at its end."""
    told = [0.0]

    def show(state: Fetch) -> None:
        now = time.monotonic()
        if now - told[0] >= _TOLD_S or state.files == state.files_total:
            told[0] = now
            say(state.text)

    return show


def export_folder(name: str, folder: str | Path | None) -> str:
    """As a full path: the server has another working folder than the kernel."""
    return str(Path.cwd() / (f"{name}-crate" if folder is None else Path(folder).expanduser()))
