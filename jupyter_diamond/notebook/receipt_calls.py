"""What the server can be asked about receipts, and about the files that tasks left."""

from __future__ import annotations

from urllib.parse import quote

from jupyter_diamond.model.receipt import Crate, FileList, GroupFiles, Receipt

from .calls import Calls, parsed, part

_LOOK_S, _EXPORT_S = 180.0, 1800.0
PIECE_BYTES = 4 << 20


class ReceiptCalls(Calls):
    """The part of the client that is about what tasks left."""

    def receipt(self, ref: str, attempt: int | None = None) -> Receipt:
        """What is known of the newest attempt, or of the n-th."""
        return parsed(Receipt, self._call("GET", f"tasks/{part(ref)}/receipt", params=_of(attempt), timeout=_LOOK_S))

    def files(self, ref: str, attempt: int | None = None) -> FileList:
        """The files that can be fetched."""
        return parsed(FileList, self._call("GET", f"tasks/{part(ref)}/files", params=_of(attempt), timeout=_LOOK_S))

    def group_files(self, ref: str, after: int | None = None) -> GroupFiles:
        """The files of a group's members; ``next`` says where to go on."""
        asked = {} if after is None else {"after": after}
        return parsed(GroupFiles, self._call("GET", f"groups/{part(ref)}/files", params=asked, timeout=_LOOK_S))

    def piece(self, ref: str, ask: str, offset: int, *, attempt: int | None = None) -> bytes:
        """At most 4 MiB of a file; nothing at its end."""
        asked = {"offset": offset, "limit": PIECE_BYTES} | _of(attempt)
        path = f"tasks/{part(ref)}/files/{quote(ask)}"
        return self._call("GET", path, params=asked, timeout=_LOOK_S).content

    def crate(self, ref: str, folder: str, *, copy_bytes: int | None = None, group: bool = False) -> Crate:
        """Export a task, or a group, to a folder of the server's machine. Safe to repeat."""
        body = {"folder": folder} | ({} if copy_bytes is None else {"copy_bytes": copy_bytes})
        path = f"{'groups' if group else 'tasks'}/{part(ref)}/crate"
        return parsed(Crate, self._call("POST", path, json=body, timeout=_EXPORT_S))


def _of(attempt: int | None) -> dict[str, int]:
    return {} if attempt is None else {"attempt": attempt}
