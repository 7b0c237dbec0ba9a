"""Globus Transfer: collections that are folders here, what can be asked and done at once, and tasks that really copy."""

from __future__ import annotations

import functools
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .auth import Auth, Token
from .server import Answer, Request, Server
from .transfer_collections import ALLOWED, Collection, described, problem
from .transfer_tasks import Mover, Task, link

API = "/v0.10"
LISTED = 100_000  # entries that one ls gives at most


class Transfer:
    """The service, and what a test does to it."""

    def __init__(self, server: Server, auth: Auth) -> None:
        self._server, self._auth = server, auth
        self._lock = threading.RLock()
        self.collections: dict[str, Collection] = {}
        self.tasks: dict[str, Task] = {}
        self._submissions: dict[str, str | None] = {}
        self.mover = Mover(server.closing)
        add = server.router.add
        for method, path, handler in (
            ("GET", "/submission_id", self._submission_id),
            ("POST", "/transfer", self._submit),
            ("POST", "/delete", self._submit),
            ("GET", "/task_list", self._task_list),
            ("GET", "/task/{task_id}", self._get_task),
            ("POST", "/task/{task_id}/cancel", self._cancel),
            ("GET", "/task/{task_id}/event_list", self._events),
            ("GET", "/task/{task_id}/successful_transfers", self._successful),
            ("GET", "/task/{task_id}/skipped_errors", self._skipped),
            ("GET", "/task/{task_id}/pause_info", self._pause_info),
            ("GET", "/endpoint/{collection_id}", self._get_endpoint),
            ("GET", "/endpoint_search", self._search),
            ("GET", "/operation/endpoint/{collection_id}/ls", self._ls),
            ("GET", "/operation/endpoint/{collection_id}/stat", self._stat),
            ("POST", "/operation/endpoint/{collection_id}/mkdir", self._mkdir),
            ("POST", "/operation/endpoint/{collection_id}/rename", self._rename),
        ):
            add(method, API + path, self._signed_in(handler))

    # what tests do

    def add_collection(self, name: str, root: Path, **what: Any) -> Collection:
        """Make a folder a collection. ``what``: fields of Collection."""
        root.mkdir(parents=True, exist_ok=True)
        made = Collection(name, root.resolve(), what.pop("owner", self._auth.person), **what)
        self.collections[made.id] = made
        return made

    def transfers(self) -> list[Task]:
        """Every transfer that was ever accepted, in order; deletions are none."""
        with self._lock:
            return [task for task in self.tasks.values() if task.document["type"] == "TRANSFER"]

    def forget_task(self, task_id: str) -> None:
        """Drop the history of one, as the service does after some weeks."""
        with self._lock:
            del self.tasks[task_id]

    def close(self) -> None:
        with self._lock:
            tasks = list(self.tasks.values())
        for task in tasks:
            task.cancelled.set()
        for task in tasks:
            task.thread.join(10)

    # who asks

    def _signed_in(self, handler: Callable[..., Answer]) -> Callable[..., Answer]:
        @functools.wraps(handler)
        def check(request: Request, **parts: str) -> Answer:
            token = self._auth.holder(request, "transfer.api.globus.org")
            if token is None:
                raise problem(401, "AuthenticationFailed", "Token is not active", request.path)
            return handler(request, token, **parts)

        return check

    def _collection(self, collection_id: str) -> Collection:
        if collection_id not in self.collections:
            raise problem(404, "EndpointNotFound", f"No such endpoint '{collection_id}'")
        return self.collections[collection_id]

    def _reach(self, token: Token, *ids: str) -> list[Collection]:
        """The collections, where this login may use them."""
        found = [self._collection(one) for one in ids]
        wanted = [
            f"{ALLOWED}[*https://auth.globus.org/scopes/{one.id}/data_access]" for one in found if one.data_access
        ]
        wanted = [scope for scope in wanted if not self._auth.identities.consented(token.identity, scope)]
        if wanted:
            raise problem(403, "ConsentRequired", "Missing required data_access consent", required_scopes=wanted)
        for one in found:
            demands = _demands(one, token)
            if demands:
                raise problem(
                    403, "AuthorizationRequired", "The login does not satisfy the collection",
                    authorization_parameters=demands,
                )  # fmt: skip
        return found

    def _there(self, token: Token, collection_id: str) -> Collection:
        """A collection that can be asked something now."""
        (found,) = self._reach(token, collection_id)
        if not found.connected:
            said = f"The endpoint '{found.name}' is not currently connected to Globus"
            raise problem(502, "ExternalError.DirListingFailed.GCDisconnected", said)
        if found.ls_error:
            raise problem(*found.ls_error)
        return found

    # collections

    def _get_endpoint(self, _: Request, __: Token, collection_id: str) -> Answer:
        return 200, self._collection(collection_id).document

    def _search(self, request: Request, _: Token) -> Answer:
        words = request.query.get("filter_fulltext", "").lower()
        return 200, _page(
            request, "endpoint_list",
            [one.document for one in self.collections.values() if words in f"{one.name} {one.id}".lower()], 25,
        )  # fmt: skip

    def _ls(self, request: Request, token: Token, collection_id: str) -> Answer:
        given = request.query.get("path") or "/"
        found = self._there(token, collection_id)
        folder = found.path(given)
        if not folder.exists():
            raise found.lacks(given)
        if not folder.is_dir():
            raise problem(502, "ExternalError.DirListingFailed.NotDirectory", f"'{given}' is not a directory")
        listed = sorted(
            (described(one) for one in folder.iterdir()), key=lambda one: (one["type"] != "dir", one["name"])
        )
        if request.query.get("show_hidden", "1").lower() in ("0", "false"):
            listed = [one for one in listed if not one["name"].startswith(".")]
        page = _page(request, "file_list", listed, LISTED)
        return 200, {**page, "endpoint": found.id, "path": given.rstrip("/") + "/", "absolute_path": None,
                     "rename_supported": found.renames, "symlink_supported": False}  # fmt: skip

    def _stat(self, request: Request, token: Token, collection_id: str) -> Answer:
        given = request.query.get("path") or "/"
        found = self._there(token, collection_id)
        path = found.path(given)
        if not found.stats:
            raise problem(409, "NotSupported", "This operation is not supported on this collection", request.path)
        if not path.exists():
            raise found.lacks(given, "stat")
        return 200, described(path)

    def _mkdir(self, request: Request, token: Token, collection_id: str) -> Answer:
        found = self._there(token, collection_id)
        path = found.path(request.json()["path"])
        if path.exists():
            raise problem(502, "ExternalError.MkdirFailed.Exists", "Path already exists, Error (mkdir)", request.path)
        path.mkdir()
        return 202, {"DATA_TYPE": "mkdir_result", "code": "DirectoryCreated", "request_id": uuid.uuid4().hex[:9],
                     "message": "The directory was created successfully", "resource": request.path}  # fmt: skip

    def _rename(self, request: Request, token: Token, collection_id: str) -> Answer:
        found = self._there(token, collection_id)
        asked = request.json()
        old, new = found.path(asked["old_path"]), found.path(asked["new_path"])
        if not old.exists():
            raise found.lacks(asked["old_path"])
        if not found.renames or new.is_dir():
            raise problem(502, "ExternalError.RenameFailed", f"'{asked['new_path']}' cannot be named so", request.path)
        old.rename(new)
        return 200, _result("FileRenamed", "File or directory renamed successfully", request)

    # tasks

    def _submission_id(self, _: Request, __: Token) -> Answer:
        value = str(uuid.uuid4())
        with self._lock:
            self._submissions[value] = None
        return 200, {"DATA_TYPE": "submission_id", "value": value}

    def _submit(self, request: Request, token: Token) -> Answer:
        asked = request.json()
        kind, submission = asked["DATA_TYPE"], asked.get("submission_id")
        if not asked.get("DATA"):
            raise problem(400, "ClientError.BadRequest.NoTransferItems", "A transfer requires at least one item",
                          request.path)  # fmt: skip
        if not submission:
            raise problem(400, "ClientError.BadRequest", "submission_id is required", request.path)
        with self._lock:
            known = self._submissions.get(submission)
            task_id = known or self._accept(asked, kind, token)
            self._submissions[submission] = task_id
        said = "has already been submitted" if known else "has been accepted and a task has been created"
        return 200 if known else 202, {
            "DATA_TYPE": f"{kind}_result", "code": "Duplicate" if known else "Accepted", "submission_id": submission,
            "task_id": task_id, "message": f"The {kind} {said}", "request_id": uuid.uuid4().hex[:9],
            "resource": request.path, "task_link": link(API, task_id),
        }  # fmt: skip

    def _accept(self, asked: dict[str, Any], kind: str, token: Token) -> str:
        names = ("endpoint",) if kind == "delete" else ("source_endpoint", "destination_endpoint")
        ends = self._reach(token, *(asked[name] for name in names))
        task = Task(asked, ends, token.identity)
        self.tasks[task.id] = task
        self.mover.start(task)
        return task.id

    def _task(self, token: Token, task_id: str) -> Task:
        task = self.tasks.get(task_id)
        if task is None or task.owner != token.identity:
            raise problem(404, "TaskNotFound", f"No task found with id '{task_id}'")
        return task

    def _get_task(self, _: Request, token: Token, task_id: str) -> Answer:
        return 200, dict(self._task(token, task_id).document)

    def _task_list(self, request: Request, token: Token) -> Answer:
        rules = dict(part.split(":", 1) for part in request.query.get("filter", "").split("/") if part)
        mine = [dict(task.document) for task in self.tasks.values() if task.owner == token.identity]
        for name, values in rules.items():
            mine = [one for one in mine if str(one[name]) in values.split(",")]
        return 200, _page(request, "task_list", mine[::-1], 10)

    def _cancel(self, request: Request, token: Token, task_id: str) -> Answer:
        task = self._task(token, task_id)
        if task.ended:
            said = "The task completed before the cancel request was processed."
            return 200, _result("TaskComplete", said, request)
        task.cancelled.set()
        return 200, _result("Canceled", "The task has been cancelled successfully.", request)

    def _events(self, request: Request, token: Token, task_id: str) -> Answer:
        return 200, _page(request, "event_list", self._task(token, task_id).events[::-1], 10)

    def _successful(self, _: Request, token: Token, task_id: str) -> Answer:
        done = list(self._task(token, task_id).done)
        return 200, {"DATA_TYPE": "successful_transfers", "DATA": done, "marker": 0, "next_marker": None}

    def _skipped(self, _: Request, token: Token, task_id: str) -> Answer:
        skipped = list(self._task(token, task_id).skipped)
        return 200, {"DATA_TYPE": "skipped_errors", "DATA": skipped, "marker": 0, "next_marker": None}

    def _pause_info(self, _: Request, token: Token, task_id: str) -> Answer:
        ends = self._task(token, task_id).ends
        said = [one.paused for one in ends]
        rules = [{"DATA_TYPE": "pause_rule_limited", "message": text, "endpoint_id": one.id,
                  "endpoint_display_name": one.name} for one, text in zip(ends, said, strict=True) if text]  # fmt: skip
        return 200, {"DATA_TYPE": "pause_info_limited", "pause_rules": rules, "source_pause_message": said[0],
                     "destination_pause_message": said[-1] if len(said) > 1 else None,
                     "source_pause_message_share": None, "destination_pause_message_share": None}  # fmt: skip


def _demands(one: Collection, token: Token) -> dict[str, Any]:
    """What a collection wants of a login beyond this one."""
    if one.ha_timeout is not None and time.time() - token.auth_time > one.ha_timeout:
        return {"session_message": "Session timeout policies require recent authentication", "prompt": "login",
                "session_required_identities": [token.identity.id]}  # fmt: skip
    if one.mfa and "mfa" not in token.session:
        return {"session_message": "This collection requires multi-factor authentication", "session_required_mfa": True}
    if one.policy and one.policy not in token.session:
        return {"session_message": "Sign in as the site wants it", "session_required_policies": [one.policy]}
    return {}


def _page(request: Request, kind: str, everything: list[dict[str, Any]], usual: int) -> dict[str, Any]:
    offset, limit = int(request.query.get("offset", 0)), int(request.query.get("limit", usual))
    part = everything[offset : offset + limit]
    return {"DATA_TYPE": kind, "DATA": part, "length": len(part), "limit": limit, "offset": offset,
            "total": len(everything), "has_next_page": offset + limit < len(everything)}  # fmt: skip


def _result(code: str, message: str, request: Request) -> dict[str, Any]:
    return {"DATA_TYPE": "result", "code": code, "message": message, "request_id": uuid.uuid4().hex[:9],
            "resource": request.path}  # fmt: skip
