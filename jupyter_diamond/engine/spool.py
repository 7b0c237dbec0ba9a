"""Sealed inputs on this machine, kept from submission until their task has ended."""

from __future__ import annotations

import os
from pathlib import Path

from jupyter_diamond.errors import NotFound, StoreError


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

    def kept(self) -> list[str]:
        """Whose bundles are here."""
        return sorted(path.stem for path in self.folder.glob("*.tar"))

    def drop(self, task_id: str) -> None:
        """Forget a bundle."""
        self._path(task_id).unlink(missing_ok=True)
