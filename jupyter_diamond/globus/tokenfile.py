"""Tokens in a file that only its owner can read, whole at any instant, whoever writes it and whoever dies meanwhile."""

from __future__ import annotations

import json
import logging
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from globus_sdk.token_storage import SQLiteTokenStorage, TokenStorage, TokenStorageData

_log = logging.getLogger(__name__)


class TokenFile(TokenStorage):
    """The tokens of one application. The SDK's own storages change the umask of the whole process while they write,
    and leave their folders open to everybody.
    """

    def __init__(self, path: Path, client_id: str) -> None:
        super().__init__(namespace=client_id)
        self.path = path

    def store_token_data_by_resource_server(
        self, token_data_by_resource_server: Mapping[str, TokenStorageData]
    ) -> None:
        """Add to what is there."""
        fresh = {name: data.to_dict() for name, data in token_data_by_resource_server.items()}
        self._write({**self._read(), **fresh})

    def get_token_data_by_resource_server(self) -> dict[str, TokenStorageData]:
        """Everything that this application has; nothing where the file is another application's, or damaged."""
        return {name: TokenStorageData.from_dict(data) for name, data in self._read().items()}

    def remove_token_data(self, resource_server: str) -> bool:
        """Forget one token; the file goes with the last one."""
        known = self._read()
        found = known.pop(resource_server, None) is not None
        if found and known:
            self._write(known)
        elif found:
            self.path.unlink(missing_ok=True)
        return found

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            with self.path.open("rb") as file:
                mine = os.fstat(file.fileno())
                if mine.st_uid != os.getuid():
                    raise PermissionError(f"{self.path} belongs to another user")
                if stat.S_IMODE(mine.st_mode) & 0o077:
                    os.fchmod(file.fileno(), 0o600)
                found = json.load(file)
            if found["client_id"] != self.namespace:
                return {}
            return {str(name): dict(data) for name, data in found["tokens"].items()}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError):
            _log.warning("%s is damaged, so whoever logged in has to do so again.", self.path)
            return {}

    def _write(self, tokens: Mapping[str, Mapping[str, object]]) -> None:
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            folder.chmod(0o700)
        partial = folder / f".{self.path.name}.{secrets.token_hex(6)}"
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump({"client_id": self.namespace, "tokens": tokens}, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


class SdkStore(SQLiteTokenStorage):
    """The store of the Globus Compute SDK, as the SDK makes it, but without changing the umask of the whole process."""

    file_format = "db"

    @contextmanager
    def user_only_umask(self) -> Iterator[None]:
        """Called where the file is not there yet: make it private before anything is in it."""
        Path(self.filepath).touch(mode=0o600)
        yield

    def _ensure_containing_dir_exists(self) -> None:
        Path(self.filepath).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
