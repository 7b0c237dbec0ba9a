"""Sealed inputs on this machine, kept from submission until their task has ended."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from jupyter_diamond.errors import InvalidRequest, NotFound, StoreError
from jupyter_diamond.model.task import TaskRequest


class Spool:
    """A 0700 folder beside the store with one bundle a task."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)

    def _path(self, task_id: str) -> Path:
        return self.folder / f"{task_id}.tar"

    def save(self, task_id: str, data: bytes) -> None:
        """Write a bundle, atomically. Raises StoreError when the disk refuses it."""
        path = self._path(task_id)
        scratch = path.with_suffix(".tmp")
        try:
            descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            scratch.replace(path)
        except OSError as problem:
            scratch.unlink(missing_ok=True)
            raise StoreError(
                f"The cell's inputs ({len(data):,} bytes) could not be kept in {self.folder}: {problem.strerror}. "
                "Make room there; nothing was submitted."
            ) from problem

    def load(self, task_id: str) -> bytes:
        """The bundle. Raises NotFound."""
        try:
            return self._path(task_id).read_bytes()
        except OSError as problem:
            raise NotFound(
                f"The inputs of task {task_id} are no longer in {self.folder} ({problem.strerror}); run the cell again."
            ) from problem

    def drop(self, task_id: str) -> None:
        """Forget a bundle."""
        self._path(task_id).unlink(missing_ok=True)


def check_bundle(request: TaskRequest, bundle: bytes, *, most: int) -> None:
    """Raises InvalidRequest when a cell's inputs are too large, or not those that were sealed."""
    if len(bundle) > most:
        raise InvalidRequest(
            f"The cell's inputs are {len(bundle):,} bytes; at most {most:,} travel with a cell. Save large data to a "
            "file, or raise c.DiamondLimits.bundle_bytes."
        )
    if hashlib.sha256(bundle).hexdigest() != request.bundle_sha256:
        raise InvalidRequest("The cell's inputs were damaged on their way to the server; run the cell again.")
