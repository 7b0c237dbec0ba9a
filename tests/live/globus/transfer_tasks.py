"""Tasks of Globus Transfer: their documents, their events, and the thread that does what they ask."""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from .identities import Identity
from .server import HttpError
from .transfer_collections import Collection
from .transfer_copying import Broken, Cancelled, checksum, copied, is_same

AT_ONCE = 3  # transfers of one user that run; the others are queued
AGAIN_S = 0.05  # what failed is tried again so often; the service takes minutes
CREDENTIALS = ("EXPIRED_CREDENTIALS", "CREDENTIALS_EXPIRED", "AUTH")


def now() -> str:
    return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S+00:00}"


def link(api: str, task_id: str) -> dict[str, Any]:
    return {"DATA_TYPE": "link", "href": f"{api}/task/{task_id}?format=json", "rel": "related", "resource": "task",
            "title": "related task"}  # fmt: skip


class Task:
    """One task, from the submission on. ``document`` is what ``GET task/{id}`` says."""

    def __init__(self, asked: dict[str, Any], ends: list[Collection], owner: Identity) -> None:
        self.id, self.asked, self.ends, self.owner = str(uuid.uuid4()), asked, ends, owner
        self.events: list[dict[str, Any]] = []
        self.done: list[dict[str, Any]] = []
        self.skipped: list[dict[str, Any]] = []
        self.cancelled = threading.Event()
        self.thread = threading.Thread()
        self.began = time.monotonic()
        self.document = _document(self)

    @property
    def ended(self) -> bool:
        return self.document["status"] in ("SUCCEEDED", "FAILED")

    @property
    def late(self) -> bool:
        deadline = datetime.fromisoformat(self.document["deadline"].replace("Z", "+00:00"))
        deadline = deadline if deadline.tzinfo else deadline.replace(tzinfo=timezone.utc)
        return datetime.now(timezone.utc) > deadline

    def event(self, code: str, details: str | None = None, *, is_error: bool = False) -> None:
        self.events.append({
            "DATA_TYPE": "event", "code": code, "description": code.lower().replace("_", " "), "details": details,
            "is_error": is_error, "parent_task_id": None, "time": now(),
        })  # fmt: skip

    def fault(self, code: str, details: str) -> None:
        """Something failed, and is tried again."""
        self.document["faults"] += 1
        self.says(code, details, is_ok=False)
        self.event(code, details, is_error=True)

    def says(self, nice: str, details: str | None = None, *, is_ok: bool = True) -> None:
        words = nice.replace("_", " ").capitalize() if not is_ok else nice
        self.document.update(
            nice_status=nice, nice_status_short_description=words, nice_status_details=details, is_ok=is_ok
        )

    def moved(self, count: int) -> None:
        self.document["bytes_transferred"] += count
        seconds = max(time.monotonic() - self.began, 0.001)
        self.document["effective_bytes_per_second"] = int(self.document["bytes_transferred"] / seconds)

    def finish(self, status: str, code: str, **what: Any) -> None:
        self.event(code, is_error=status == "FAILED")
        self.document.update(
            completion_time=now(), is_ok=None, is_paused=False, nice_status=None, nice_status_details=None,
            nice_status_short_description=None, subtasks_pending=0, **what,
        )  # fmt: skip
        self.document["status"] = status


@dataclass
class Item:
    """One file to be copied."""

    source: Path
    destination: Path
    asked: dict[str, Any]


class Mover:
    """Does tasks, each in a thread of its own, three at a time."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing, self._places = closing, threading.Semaphore(AT_ONCE)

    def start(self, task: Task) -> None:
        task.thread = threading.Thread(target=self._run, args=(task,), daemon=True)
        task.thread.start()

    def check(self, task: Task) -> None:
        """Raise Cancelled or Broken where it is to end."""
        if task.cancelled.is_set() or self._closing.is_set():
            raise Cancelled
        if task.late:
            raise Broken("EXPIRED", "The task deadline passed")

    def ready(self, task: Task) -> None:
        """Wait until nothing is wrong with either collection."""
        told = ""
        for end in task.ends:
            while end.stall or not end.connected or end.paused is not None:
                code = end.stall or ("PAUSED_BY_ADMIN" if end.paused is not None else "GC_NOT_CONNECTED")
                task.document["is_paused"] = end.paused is not None
                if code != told:
                    told = code
                    task.fault(code, f"{code} on {end.name}")
                if code in CREDENTIALS:
                    task.document["status"] = "INACTIVE"
                self.check(task)
                task.cancelled.wait(0.02)
            if task.document["status"] == "INACTIVE" and end.resumes:
                task.document["status"] = "ACTIVE"
            while task.document["status"] == "INACTIVE" and not end.resumes:
                self.check(task)
                task.cancelled.wait(0.02)
            if end.fail:
                raise Broken(*end.fail)
        task.document["is_paused"] = False
        if told or task.document["nice_status"] == "Queued":
            task.says("OK")
        self.check(task)

    def _run(self, task: Task) -> None:
        try:
            while not self._places.acquire(timeout=0.02):
                self.check(task)
            try:
                task.event("STARTED")
                self._delete(task) if task.asked["DATA_TYPE"] == "delete" else self._transfer(task)
            finally:
                self._places.release()
            task.finish("SUCCEEDED", "SUCCEEDED")
        except Cancelled:
            pending = task.document["subtasks_pending"]
            task.finish("FAILED", "CANCELED", subtasks_canceled=max(1, pending))
        except Broken as error:
            counted = "subtasks_expired" if error.code == "EXPIRED" else "subtasks_failed"
            fatal = {"code": error.code, "description": error.description}
            pending = task.document["subtasks_pending"]
            task.finish("FAILED", error.code, fatal_error=fatal, **{counted: max(1, pending)})

    def _delete(self, task: Task) -> None:
        self.ready(task)
        for item in task.asked["DATA"]:
            path = task.ends[0].path(item["path"])
            if not path.exists():
                if not task.asked.get("ignore_missing"):
                    raise Broken("FILE_NOT_FOUND", item["path"])
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _transfer(self, task: Task) -> None:
        self.ready(task)
        document = task.document
        items = [item for asked in task.asked["DATA"] for item in self._expanded(task, asked)]
        document["files"] = len(items)
        document["subtasks_total"] = document["subtasks_pending"] = len(items) + 1
        task.event("PROGRESS")
        for item in items:
            self._copy(task, item)
        document["subtasks_succeeded"] = document["subtasks_total"]

    def _expanded(self, task: Task, asked: dict[str, Any]) -> Iterator[Item]:
        """The files of one item. What is missing is waited for: the task stays active, and counts faults."""
        source, destination = task.ends
        path = self._readable(task, asked["source_path"])
        if path is None:
            return
        try:
            target = destination.path(asked["destination_path"])
        except HttpError:
            target = self._denied(task, asked["destination_path"], destination)
        if path.is_dir() != bool(asked.get("recursive")):
            raise Broken("IS_A_DIRECTORY" if path.is_dir() else "NOT_A_DIRECTORY", asked["source_path"])
        if not path.is_dir():
            yield Item(path, target, asked)
            return
        target.mkdir(parents=True, exist_ok=True)
        for one in _walked(path, task.asked.get("filter_rules") or []):
            there = target / one.relative_to(path)
            if one.is_symlink():
                task.document["symlinks"] += 1
            elif one.is_dir():
                task.document["directories"] += 1
                there.mkdir(parents=True, exist_ok=True)
            elif source.is_denied(one):
                self._denied(task, source.seen(one), source)
            else:
                yield Item(one, there, asked)

    def _readable(self, task: Task, given: str) -> Path | None:
        source = task.ends[0]
        while True:
            try:
                path = source.path(given)
            except HttpError:
                return self._denied(task, given, source)
            if path.exists():
                return path
            if task.asked.get("skip_source_errors"):
                task.document["subtasks_skipped_errors"] += 1
                task.skipped.append({"DATA_TYPE": "skipped_error", "error_code": "FILE_NOT_FOUND", "source_path": given,
                                     "destination_path": None, "error_details": "No such file or directory",
                                     "error_time": now(), "is_directory": False, "is_symlink": False})  # fmt: skip
                return None
            task.fault("FILE_NOT_FOUND", _told(source, "No such file or directory", given))
            self._pause(task)

    def _denied(self, task: Task, given: str, end: Collection) -> Path:
        """Try it again and again, until somebody allows it."""
        while end.is_denied(end.root / given.lstrip("/")):
            task.fault("PERMISSION_DENIED", _told(end, "Permission denied", given))
            self._pause(task)
        return end.path(given)

    def _pause(self, task: Task) -> None:
        self.check(task)
        task.cancelled.wait(AGAIN_S)

    def _copy(self, task: Task, item: Item) -> None:
        document, algorithm = task.document, item.asked.get("checksum_algorithm") or "MD5"
        if is_same(item.source, item.destination, document["sync_level"]):
            document["files_skipped"] += 1
        else:
            copied(self, task, item, algorithm)
            document["files_transferred"] += 1
            source, destination = task.ends
            checked = document["verify_checksum"]
            task.done.append({
                "DATA_TYPE": "successful_transfer", "source_path": source.seen(item.source),
                "destination_path": destination.seen(item.destination), "size": item.source.stat().st_size,
                "checksum": checksum(item.source, algorithm) if checked and item.source.stat().st_size < 1 << 20 else None,
                "checksum_algorithm": algorithm if checked else None, "dynamic": False,
            })  # fmt: skip
        document["subtasks_succeeded"] += 1
        document["subtasks_pending"] -= 1


def _walked(folder: Path, rules: list[dict[str, Any]]) -> Iterator[Path]:
    for one in sorted(folder.iterdir()):
        kind = "dir" if one.is_dir() else "file"
        matching = (rule for rule in rules if fnmatch(one.name, rule["name"]) and rule.get("type", kind) == kind)
        rule = next(matching, None)
        if rule is not None and rule["method"] == "exclude":
            continue
        yield one
        if one.is_dir() and not one.is_symlink():
            yield from _walked(one, rules)


def _told(end: Collection, message: str, path: str) -> str:
    return (
        f"Error (transfer)\nEndpoint: {end.name} ({end.id})\nServer: 127.0.0.1:443\nFile: {path}\n"
        f"Command: RETR {path}\nMessage: {message}\n---\nDetails: 550 {message}"
    )


def _document(task: Task) -> dict[str, Any]:
    asked, ends = task.asked, task.ends
    tomorrow = datetime.now(timezone.utc) + timedelta(days=1)
    source, destination = ends[0], ends[1] if len(ends) > 1 else None
    counted = ("bytes_transferred", "bytes_checksummed", "effective_bytes_per_second", "files", "directories",
               "symlinks", "files_skipped", "files_transferred", "faults", "subtasks_total", "subtasks_pending",
               "subtasks_succeeded", "subtasks_failed", "subtasks_canceled", "subtasks_expired", "subtasks_retrying",
               "subtasks_skipped_errors")  # fmt: skip
    return {
        "DATA_TYPE": "task", "task_id": task.id, "type": asked["DATA_TYPE"].upper(), "status": "ACTIVE",
        "label": asked.get("label"), "request_time": now(), "completion_time": None,
        "deadline": asked.get("deadline") or tomorrow.isoformat(timespec="seconds"), "owner_id": task.owner.id,
        "username": "u_standin", "command": "API 0.10", "source_endpoint_id": source.id,
        "source_endpoint_display_name": source.name, "source_endpoint": source.id,
        "destination_endpoint_id": destination and destination.id, "destination_endpoint": destination and destination.id,
        "destination_endpoint_display_name": destination and destination.name, "is_ok": True, "is_paused": False,
        "fatal_error": None, "nice_status": "Queued", "nice_status_details": None, "nice_status_expires_in": None,
        "nice_status_short_description": "Queued", "history_deleted": False, "canceled_by_admin": None,
        "canceled_by_admin_message": None, "sync_level": asked.get("sync_level"),
        "verify_checksum": asked.get("verify_checksum", True), "encrypt_data": asked.get("encrypt_data", False),
        "preserve_timestamp": asked.get("preserve_timestamp", False),
        "skip_source_errors": asked.get("skip_source_errors", False),
        "fail_on_quota_errors": asked.get("fail_on_quota_errors", False),
        "delete_destination_extra": asked.get("delete_destination_extra", False),
        "filter_rules": asked.get("filter_rules"), "recursive_symlinks": "ignore",
        **dict.fromkeys(counted, 0),
    }  # fmt: skip
