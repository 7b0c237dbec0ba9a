"""Tasks and endpoints as Globus Compute knows them, with the switches that tests turn."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from .identities import Identity

TERMINAL = ("success", "failed")
SWITCHES = (
    "offline",
    "lose",
    "expire",
    "start_delay",
    "result_delay",
    "reject",
    "locked",
    "policy",
    "allowed_functions",
)


@dataclass
class Task:
    """One task, from the submission on."""

    id: str
    endpoint_id: str
    function_id: str
    group_id: str
    buffer: str  # the function's code and the packed arguments, as the endpoint gets them
    owner: Identity
    submission: Mapping[str, Any]  # the body of the submit request, less its tasks
    created_at: float = field(default_factory=time.time)
    status: str = "received"
    failed: bool = False
    data: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    completed_at: float | None = None
    visible_at: float = 0.0
    expired: bool = False

    def complete(
        self, data: str, *, failed: bool, details: Mapping[str, Any], transitions: Mapping[str, float]
    ) -> None:
        self.data, self.failed = data, failed
        self.details = {**details, "task_transitions": dict(transitions)}
        self.completed_at = time.time()
        self.status = "failed" if failed else "success"

    @property
    def document(self) -> dict[str, Any]:
        """What ``GET /v2/tasks/{id}`` says now."""
        if self.status not in TERMINAL:
            return {"task_id": self.id, "status": self.status}
        if time.time() < self.visible_at:
            return {"task_id": self.id, "status": "running"}
        known = {
            "task_id": self.id, "status": self.status, "completion_t": str(self.completed_at), "details": self.details,
        }  # fmt: skip
        if self.expired:
            return {**known, "reason": "The result has expired"}
        return {**known, "exception" if self.failed else "result": self.data}


class Backend(Protocol):
    """What stands behind an endpoint: worker.py, or a real agent."""

    def is_online(self, endpoint: Endpoint) -> bool: ...

    def launch(self, endpoint: Endpoint, task: Task) -> None:
        """Bring the task on its way. It comes back by Compute.complete, or never."""


@dataclass
class Endpoint:
    """One endpoint. The switches apply to what comes after they were turned."""

    name: str
    owner: Identity
    backend: Backend
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    public: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)  # in-process backend: added to the environment of every task
    python: str = ""  # in-process backend: which Python runs the tasks

    offline: bool = False  # tasks wait until Compute.set_online
    lose: int = 0  # so many of the next tasks never get an answer
    expire: int = 0  # so many of the next results are gone before they are asked for
    start_delay: float = 0.0  # seconds before a task starts
    result_delay: float = 0.0  # seconds before a result shows
    reject: tuple[int, str, str] | None = None  # submissions are answered with (HTTP status, code, message)
    locked: bool = False  # submissions and registrations are answered with 423
    policy: str = ""  # an authentication policy that the login of the caller must have satisfied
    allowed_functions: list[str] | None = None

    def turn_back(self) -> None:
        """Turn every switch back to where it is without a test."""
        for switch in fields(self):
            if switch.name in SWITCHES:
                setattr(self, switch.name, switch.default)

    def describe(self) -> dict[str, Any]:
        """What ``GET /v2/endpoints/{id}`` says."""
        known = self.metadata
        return {
            "uuid": self.id, "name": self.name, "display_name": known.get("display_name") or self.name,
            "multi_user": bool(known.get("multi_user")), "public": self.public, "description": "",
            "endpoint_config": known.get("endpoint_config", ""),
            "user_config_template": known.get("user_config_template", ""),
            "user_config_schema": known.get("user_config_schema") or {},
            "hostname": known.get("hostname", "login1"), "local_user": known.get("local_user", "alice"),
            "ip_address": "127.0.0.1", "endpoint_version": known.get("endpoint_version", "4.19.0"),
            "sdk_version": known.get("sdk_version", "4.19.0"), "subscription_uuid": None,
        }  # fmt: skip

    @property
    def listed(self) -> dict[str, str]:
        """Its line in ``GET /v2/endpoints``."""
        whole = self.describe()
        return {"uuid": self.id, "name": self.name, "display_name": whole["display_name"], "owner": self.owner.id}
