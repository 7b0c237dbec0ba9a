"""Collections of the Transfer stand-in: a folder each, and what is wrong with it for now."""

from __future__ import annotations

import os
import stat
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .identities import Identity
from .server import HttpError

ALLOWED = "urn:globus:auth:scope:transfer.api.globus.org:all"


def problem(status: int, code: str, message: str, resource: str = "/", **more: Any) -> HttpError:
    """An error as Globus Transfer words it."""
    request_id = uuid.uuid4().hex[:9]
    return HttpError(status, {"code": code, "message": message, "request_id": request_id, "resource": resource, **more})


@dataclass
class Collection:
    """A folder, and the switches that tests turn while it is used."""

    name: str
    root: Path
    owner: Identity
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    entity_type: str = "GCSv5_mapped_collection"
    data_access: bool = False  # wants a consent of its own
    ha_timeout: float | None = None  # seconds after which a login is too old for it
    policy: str | None = None  # an authentication policy that a login must satisfy
    mfa: bool = False
    rate: float | None = None  # bytes a second
    stall: str | None = None  # an event code; nothing moves meanwhile
    resumes: bool = True  # what was suspended goes on by itself once the credentials are good again
    paused: str | None = None  # what its administrator says of it
    fail: tuple[str, str] | None = None  # code and description of a fatal error
    corrupt: int = 0  # so many files arrive damaged
    connected: bool = True
    denied: tuple[str, ...] = ()  # paths that may not be read or written
    ls_error: tuple[int, str, str] | None = None
    renames: bool = True
    stats: bool = True  # some connectors cannot tell of one path

    def path(self, given: str | None) -> Path:
        """The path here of one of the collection. Raises HttpError where that may not be reached."""
        path = given or "/"
        path = path.removeprefix("/~")
        full = Path(os.path.normpath(f"{self.root}/{path}"))
        if full != self.root and not full.is_relative_to(self.root):
            raise self.refuses(path)
        if self.is_denied(full):
            raise self.refuses(path)
        return full

    def is_denied(self, path: Path) -> bool:
        return any(path.is_relative_to(self.root / denied.lstrip("/")) for denied in self.denied)

    def seen(self, path: Path) -> str:
        """The path of the collection for one here."""
        return "/" + path.relative_to(self.root).as_posix()

    def refuses(self, path: str) -> HttpError:
        return problem(
            403, "EndpointPermissionDenied",
            f"Denied by endpoint, Error (list)\nEndpoint: {self.name} ({self.id})\nServer: 127.0.0.1:443\n"
            f"Command: MLST {path}\nMessage: Fatal FTP Response\n---\nDetails: 500 Command failed : Path not allowed.",
        )  # fmt: skip

    def lacks(self, path: str, doing: str = "list") -> HttpError:
        return problem(
            404, "NotFound" if doing == "stat" else "ClientError.NotFound",
            f"Path not found, Error (list)\nEndpoint: {self.name} ({self.id})\nServer: 127.0.0.1:443\n"
            f"Message: No such file or directory\n---\nDetails: Error: '{path}' not found",
        )  # fmt: skip

    @property
    def document(self) -> dict[str, Any]:
        """What ``GET endpoint/{id}`` says."""
        personal = self.entity_type.startswith("GCP")
        return {
            "DATA_TYPE": "endpoint", "id": self.id, "display_name": self.name, "entity_type": self.entity_type,
            "organization": "stand-in", "username": self.owner.username, "owner_id": self.owner.id,
            "owner_string": self.owner.username, "description": "a folder of a test", "public": False,
            "french_english_bilingual": False, "is_globus_connect": personal, "globus_connect_setup_key": None,
            "gcp_connected": self.connected if personal else None, "gcp_paused": False if personal else None,
            "s3_url": None, "s3_owner_activated": False, "host_endpoint_id": None, "host_path": None,
            "disable_verify": False, "disable_anonymous_writes": False, "force_verify": False,
            "force_encryption": False, "mfa_required": self.mfa, "myproxy_server": None, "myproxy_dn": None,
            "non_functional": False, "non_functional_endpoint_display_name": None,
            "non_functional_endpoint_id": None, "oauth_server": None, "default_directory": "/", "activated": True,
            "expires_in": -1, "expire_time": "2099-01-01 00:00:00+00:00", "shareable": True, "acl_available": False,
            "acl_editable": False, "in_use": False, "keywords": None, "my_effective_roles": ["administrator"],
            "high_assurance": self.ha_timeout is not None,
            "authentication_timeout_mins": None if self.ha_timeout is None else int(self.ha_timeout // 60),
            "DATA": [{"DATA_TYPE": "server", "hostname": "127.0.0.1", "uri": "ftp://127.0.0.1:443", "port": 443,
                      "scheme": "ftp", "id": 1, "subject": "/CN=stand-in"}],
        }  # fmt: skip


def described(path: Path) -> dict[str, Any]:
    """One file or folder, as ``ls`` and ``stat`` tell of it."""
    found = path.lstat()
    kind = "dir" if stat.S_ISDIR(found.st_mode) else "symlink" if stat.S_ISLNK(found.st_mode) else "file"
    at = datetime.fromtimestamp(int(found.st_mtime), timezone.utc)
    return {
        "DATA_TYPE": "file", "name": path.name, "type": kind, "size": found.st_size, "user": "alice", "group": "alice",
        "permissions": f"{stat.S_IMODE(found.st_mode):04o}", "last_modified": f"{at:%Y-%m-%d %H:%M:%S+00:00}",
        "link_target": str(path.readlink()) if kind == "symlink" else None, "link_group": None, "link_user": None,
        "link_size": None, "link_last_modified": None,
    }  # fmt: skip
