"""The AMQP side of Globus Compute: real endpoint agents register here, get commands and tasks, send heartbeats, results.

A task never goes to the agent that registered (the *core* endpoint). It goes to a *user endpoint*, a process that the
agent starts on command for one user, configuration and Python.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from globus_compute_common.messagepack import pack, unpack
from globus_compute_common.messagepack.message_types import EPStatusReport, Result
from globus_compute_common.messagepack.message_types import Task as TaskMessage
from pika import BasicProperties

from .auth import Token
from .broker import Broker
from .identities import Identity
from .messages import Message
from .server import Answer, Request
from .tasks import Endpoint, Task

if TYPE_CHECKING:
    from .compute import Compute

RESULT_PREFIX = "standin_"  # the SDK's Executor listens on this and its task group's id


@dataclass
class Heartbeat:
    """The last one of an endpoint."""

    at: float  # monotonic
    period_s: float  # 0: going down
    active: bool

    @property
    def alive(self) -> bool:
        return self.period_s > 0 and self.active and time.monotonic() - self.at < 2 * self.period_s + 2


@dataclass
class UserEndpoint:
    """What a core endpoint is told to start."""

    id: str
    name: str
    core_id: str
    user: Identity
    options: Mapping[str, Any]
    runtime: Mapping[str, Any]


class Agents:
    """The backend of every endpoint that a real agent registered."""

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._broker = Broker()
        self._lock = threading.RLock()
        self._heartbeats: dict[str, Heartbeat] = {}
        self._users: dict[str, UserEndpoint] = {}  # by a digest of what makes them different
        for kind in ("results", "heartbeats"):
            self._broker.declare_exchange(kind, "topic")
            self._broker.declare_queue(kind)
            self._broker.bind(kind, kind, f"*.{kind}")
        self._broker.listen("results", self._on_result)
        self._broker.listen("heartbeats", self._on_heartbeat)
        self._broker.on_ack = self._on_ack

    @property
    def broker(self) -> Broker:
        return self._broker

    def close(self) -> None:
        self._broker.close()

    # routes

    def register(self, request: Request, token: Token, endpoint_id: str = "") -> Answer:
        """``POST /v3/endpoints`` makes one, ``PUT /v3/endpoints/{id}`` comes back with it."""
        body = request.json()
        known = self._compute.endpoints.get(endpoint_id)
        metadata = {**(body.get("metadata") or {}), **{key: body.get(key) for key in ("display_name", "multi_user")}}
        if known is None:
            known = Endpoint(body["endpoint_name"], token.identity, self, metadata=metadata)
            known.id = endpoint_id or known.id
            self._compute.endpoints[known.id] = known
        else:
            self._compute.check_unlocked(self._compute.endpoint_of(endpoint_id, token.identity))
            known.metadata = metadata
        known.allowed_functions = body.get("allowed_functions")
        answer = self._queues(known.id, core=True)
        self._broker.drain(f"{known.id}.commands")  # of its former life
        self._wake(known.id)
        return 200, answer

    def result_connection(self, _: Request, __: Token) -> Answer:
        """``GET /v2/get_amqp_result_connection_url``, for the SDK's Executor."""
        return 200, {"queue_prefix": RESULT_PREFIX, "connection_url": self._broker.url}

    # what endpoints are asked

    def is_online(self, endpoint: Endpoint) -> bool:
        heartbeat = self._heartbeats.get(endpoint.id)
        return not endpoint.offline and heartbeat is not None and heartbeat.alive

    def launch(self, endpoint: Endpoint, task: Task) -> None:
        task.status = "waiting-for-ep"
        if endpoint.offline:
            return
        user = self._user_endpoint(endpoint, task)
        self._ask_to_start(user)
        headers = {
            "function_uuid": task.function_id,
            "task_uuid": task.id,
            "result_serializers": task.submission.get("result_serializers") or [],
            "resource_specification": json.dumps(task.submission.get("resource_specification")),
        }
        properties = BasicProperties(headers=headers, delivery_mode=2)
        body = pack(TaskMessage(task_id=uuid.UUID(task.id), task_buffer=task.buffer))
        self._broker.publish(Message("", f"{user.id}.tasks", properties, body))

    def tell_executor(self, task: Task) -> None:
        """Send a result to the queue of its task group."""
        details = {name: value for name, value in task.details.items() if name != "task_transitions"}
        failure = {"code": "RemoteExecutionError", "user_message": "failed"} if task.failed else None
        body = pack(Result(task_id=uuid.UUID(task.id), data=task.data, details=details or None, error_details=failure))
        properties = BasicProperties(timestamp=int(time.time()), delivery_mode=2)
        self._broker.publish(Message("", RESULT_PREFIX + task.group_id, properties, body))

    def open_group(self, group_id: str) -> None:
        self._broker.declare_queue(RESULT_PREFIX + group_id)

    def _user_endpoint(self, endpoint: Endpoint, task: Task) -> UserEndpoint:
        options = task.submission.get("user_endpoint_config") or {}
        runtime = task.submission.get("user_runtime") or {}
        what = [endpoint.id, task.owner.id, options, runtime.get("python_version")]
        digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
        with self._lock:
            if digest not in self._users:
                name = f"uep.{endpoint.id}.{digest[:12]}"
                self._users[digest] = UserEndpoint(str(uuid.uuid4()), name, endpoint.id, task.owner, options, runtime)
                self._queues(self._users[digest].id)
            return self._users[digest]

    def _ask_to_start(self, user: UserEndpoint) -> None:
        """Send the agent the command, unless the user endpoint listens. One that only starts takes no harm from it."""
        if self._broker.queues[f"{user.id}.tasks"].consumers:
            return
        who = user.user
        identity = {"id": who.id, **who.claims, "status": "used", "identity_type": "login"}
        command = {
            "command": "cmd_start_endpoint", "globus_username": who.username, "globus_effective_identity": who.id,
            "globus_identity_set": [identity],
            "kwargs": {"name": user.name, "user_opts": user.options, "user_runtime": user.runtime,
                       "amqp_creds": self._queues(user.id)},
        }  # fmt: skip
        properties = BasicProperties(content_type="application/json", timestamp=int(time.time()), delivery_mode=2)
        self._broker.publish(Message("", f"{user.core_id}.commands", properties, json.dumps(command).encode()))

    def _wake(self, core_id: str) -> None:
        """An agent shows life: what waits for its user endpoints shall start them, also where they died meanwhile."""
        with self._lock:
            users = [user for user in self._users.values() if user.core_id == core_id]
        for user in users:
            if self._broker.queues[f"{user.id}.tasks"].messages:
                self._ask_to_start(user)

    def _queues(self, endpoint_id: str, *, core: bool = False) -> dict[str, Any]:
        """The addresses that an endpoint is given; their queues are there from now on."""
        url = self._broker.url

        def upward(kind: str) -> dict[str, Any]:
            how = {"exchange": kind, "routing_key": f"{endpoint_id}.{kind}", "mandatory": True,
                   "properties": {"delivery_mode": 2}}  # fmt: skip
            return {"connection_url": url, "exchange": kind, "queue": kind, "queue_publish_kwargs": how}

        def downward(kind: str) -> dict[str, Any]:
            self._broker.declare_queue(f"{endpoint_id}.{kind}")
            return {"connection_url": url, "exchange": kind, "queue": f"{endpoint_id}.{kind}"}

        answer = {
            "endpoint_id": endpoint_id,
            "task_queue_info": downward("tasks"),
            "result_queue_info": upward("results"),
            "heartbeat_queue_info": upward("heartbeats"),
        }
        return {**answer, "command_queue_info": downward("commands")} if core else answer

    # what endpoints say

    def _on_ack(self, message: Message) -> None:
        """A user endpoint takes responsibility for a task as it hands it to its engine: from here on it can be lost."""
        task = self._compute.tasks.get((message.properties.headers or {}).get("task_uuid", ""))
        if task and task.status == "waiting-for-ep":
            task.status = "running"

    def _on_heartbeat(self, message: Message) -> None:
        report: EPStatusReport = unpack(message.body)
        state, endpoint_id = report.global_state, str(report.endpoint_id)
        beat = Heartbeat(time.monotonic(), state.get("heartbeat_period", 30), state.get("active", True))
        self._heartbeats[endpoint_id] = beat
        if beat.alive:
            self._wake(endpoint_id)
        if state.get("error"):
            self._give_up(endpoint_id, state["error"])

    def _give_up(self, user_endpoint_id: str, why: str) -> None:
        """A user endpoint did not start: what waits for it fails. What a former life of it took stays as it is."""
        for message in self._broker.drain(f"{user_endpoint_id}.tasks"):
            self._compute.complete((message.properties.headers or {})["task_uuid"], why, failed=True)

    def _on_result(self, message: Message) -> None:
        result: Result = unpack(message.body)
        changes = {change.state.value: change.timestamp / 1e9 for change in result.task_statuses or ()}
        details = {name: str(value) for name, value in (result.details or {}).items()}
        failed = result.error_details is not None
        self._compute.complete(str(result.task_id), result.data, failed=failed, details=details, transitions=changes)
