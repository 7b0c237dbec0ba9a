"""What is asked of Globus Transfer, one call a method, with what it answers of a path in our words."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_diamond.errors import DataProblem, GlobusProblem
from jupyter_diamond.globus.access import Globus

from .globus_task import line
from .listing import MOST_ENTRIES, PART, Entry, Kind, Listing

if TYPE_CHECKING:
    from jupyter_diamond.globus.clients import Clients

T = TypeVar("T")
SERVICE = "transfer.api.globus.org"
KNOWN_S = 3600.0
FOLDERS = 100
"""So many folders are looked into, one question each; what is larger is left to Globus itself."""


@dataclass(frozen=True)
class Known:
    """A collection, as far as it matters to who moves something. ``session_min``: how long a login is good for it."""

    id: str
    name: str
    high_assurance: bool = False
    session_min: int | None = None
    connected: bool = True


class Calls:
    """Every method raises GlobusProblem where Globus says no or nothing, DataProblem where it is about the path."""

    def __init__(self, globus: Globus) -> None:
        self._globus = globus
        self._known: dict[str, tuple[float, Known]] = {}

    async def collection(self, collection: str) -> Known:
        """What it is, as it was within the last hour. DataProblem (``no_way``) where there is none."""
        kept = self._known.get(collection)
        if kept is not None and time.monotonic() - kept[0] < KNOWN_S:
            return kept[1]
        try:
            found = await self._ask(
                lambda clients: clients.transfer.get_endpoint(collection).data,
                f"looking for the collection {collection}",
            )
        except GlobusProblem as problem:
            if _answer(problem)[0] != 404:
                raise
            raise DataProblem(problem.message, kind="no_way", evidence=problem.evidence) from problem
        minutes = found.get("authentication_timeout_mins")
        known = Known(
            collection, line(str(found.get("display_name") or collection)),
            high_assurance=bool(found.get("high_assurance")), connected=found.get("gcp_connected") is not False,
            session_min=minutes if isinstance(minutes, int) else None,
        )  # fmt: skip
        self._known[collection] = (time.monotonic(), known)
        return known

    async def look(self, collection: str, path: str, *, folders: int = 0) -> Listing:
        """What lies there; also what is in a folder, where that is one question each for at most so many ``folders``.

        Raises DataProblem (``permission``) where it may not be seen; what is missing is a listing that says so.
        """
        where = f"{path} of {(await self.collection(collection)).name}"
        try:
            found = await self._stat(collection, path, where)
        except GlobusProblem as problem:
            kind = fault_of(problem)
            if kind == "missing":
                return Listing("missing")
            if kind == "permission":
                raise DataProblem(
                    f"You may not read {where}.", kind="permission", evidence=problem.evidence,
                    advice="Have it opened to you at the site, or choose another path.",
                ) from problem  # fmt: skip
            raise
        if found is None:
            return Listing("missing")
        if found["type"] == "file":
            return Listing("file", {"": _entry("", found)})
        if found["type"] != "dir":
            return Listing("other")
        return await self._walk(collection, path, folders) if folders else Listing("folder", whole=False)

    async def _stat(self, collection: str, path: str, where: str) -> dict[str, Any] | None:
        """The entry of a path. Collections that cannot tell of one path list the folder that it is in."""
        try:
            return await self._ask(
                lambda clients: _plain(clients.transfer.operation_stat(collection, path).data), f"looking at {where}"
            )
        except GlobusProblem as problem:
            if not _unsupported(problem):
                raise
        above, name = posixpath.split(path.rstrip("/"))
        if not name or name == "~":
            await self._ls(collection, path)
            return {"type": "dir"}
        return next((one for one in await self._ls(collection, above) if one["name"] == name), None)

    async def _walk(self, collection: str, path: str, most: int) -> Listing:
        files, folders, links = dict[str, Entry](), list[str](), 0
        left = [""]
        while left:
            if len(folders) >= most or len(files) > MOST_ENTRIES:
                return Listing("folder", whole=False)
            below = left.pop()
            for one in await self._ls(collection, posixpath.join(path, below)):
                name = posixpath.join(below, str(one["name"]))
                if str(one["name"]).startswith(PART):
                    continue
                if one["type"] == "dir":
                    folders.append(name)
                    left.append(name)
                elif one["type"] == "file":
                    files[name] = _entry(name, one)
                else:
                    links += 1
        return Listing("folder", files, tuple(folders), links)

    async def _ls(self, collection: str, path: str) -> list[dict[str, Any]]:
        def act(clients: Clients) -> list[dict[str, Any]]:
            return [_plain(one) for one in clients.transfer.operation_ls(collection, path=path, limit=MOST_ENTRIES)]

        return await self._ask(act, f"listing {path} of {(await self.collection(collection)).name}")

    async def submission_id(self) -> str:
        """One that nobody has; what is submitted with it is submitted once."""
        return str(
            await self._ask(lambda clients: clients.transfer.get_submission_id()["value"], "preparing a transfer")
        )

    async def submit(self, body: dict[str, Any], doing: str) -> str:
        """The task's id: the same one for the same submission id, however often it is sent."""

        def act(clients: Clients) -> str:
            send = (
                clients.transfer.submit_transfer if body["DATA_TYPE"] == "transfer" else clients.transfer.submit_delete
            )
            return str(send(dict(body))["task_id"])

        return await self._ask(act, doing, sent=True)

    async def task(self, task_id: str) -> dict[str, Any]:
        """The task's document."""
        return await self._ask(
            lambda clients: _plain(clients.transfer.get_task(task_id).data), "asking how a transfer goes"
        )

    async def tasks(self, ids: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """The documents of several, in one question."""

        def act(clients: Clients) -> dict[str, dict[str, Any]]:
            found = clients.transfer.task_list(filter=f"task_id:{','.join(ids)}", limit=len(ids))
            return {str(one["task_id"]): _plain(one) for one in found}

        return await self._ask(act, "asking how transfers go")

    async def events(self, task_id: str, most: int = 50) -> tuple[dict[str, Any], ...]:
        """The newest first."""

        def act(clients: Clients) -> tuple[dict[str, Any], ...]:
            return tuple(_plain(one) for one in clients.transfer.task_event_list(task_id, limit=most))

        return await self._ask(act, "asking what went wrong with a transfer")

    async def skipped(self, task_id: str) -> tuple[str, ...]:
        """Paths that Globus left out, the first ones."""

        def act(clients: Clients) -> tuple[str, ...]:
            return tuple(line(str(one.get("source_path"))) for one in clients.transfer.task_skipped_errors(task_id))

        return (await self._ask(act, "asking what a transfer left out"))[:20]

    async def pause_message(self, task_id: str) -> str:
        """What the one who paused it says."""
        said = await self._ask(
            lambda clients: clients.transfer.task_pause_info(task_id).data, "asking why it is paused"
        )
        words = [rule.get("message") for rule in said.get("pause_rules") or ()]
        words += [value for name, value in said.items() if "pause_message" in name]
        return next((line(str(text)) for text in words if text), "no reason was given")

    async def cancel(self, task_id: str) -> None:
        """Ask for its end; one that has ended stays as it is."""
        await self._ask(lambda clients: clients.transfer.cancel_task(task_id), "cancelling a transfer", sent=True)

    async def rename(self, collection: str, old: str, new: str) -> None:
        """Give a file or a folder another name."""
        name = (await self.collection(collection)).name
        await self._ask(
            lambda clients: clients.transfer.operation_rename(collection, old, new),
            f"renaming {new} at {name}",
            sent=True,
        )

    async def _ask(self, act: Callable[[Clients], T], doing: str, *, sent: bool = False) -> T:
        return await self._globus.call(act, doing=doing, sent=sent)


def fault_of(problem: GlobusProblem) -> Kind | str:
    """What an answer says of the path: ``missing``, ``permission``, or nothing."""
    status, code, text = _answer(problem)
    if problem.outcome == "needs_login" or code == "EndpointNotFound":
        return ""
    said = f"{code} {text}"
    if "NotFound" in code or "No such file" in said or "PATH_NOT_FOUND" in said:
        return "missing"
    denied = ("PermissionDenied", "Permission denied", "not allowed", "NotPermitted", "PERMISSION_DENIED")
    return "permission" if status in (403, 502) and any(word in said for word in denied) else ""


def _unsupported(problem: GlobusProblem) -> bool:
    status, code, _ = _answer(problem)
    return status in (405, 501) or "NotSupported" in code


def _answer(problem: GlobusProblem) -> tuple[int, str, str]:
    error = problem.__cause__
    return (
        int(getattr(error, "http_status", 0) or 0),
        str(getattr(error, "code", "") or ""),
        str(getattr(error, "message", "") or ""),
    )


def _entry(path: str, found: Any) -> Entry:
    at = datetime.fromisoformat(str(found["last_modified"]).replace("Z", "+00:00"))
    at = at if at.tzinfo else at.replace(tzinfo=timezone.utc)
    return Entry(path, int(found["size"]), int(at.timestamp()) * 1_000_000_000)


def _plain(found: Any) -> dict[str, Any]:
    return dict(found)
