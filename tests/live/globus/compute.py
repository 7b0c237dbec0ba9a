"""Globus Compute, v2 and v3: endpoints, functions, tasks."""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from .agents import Agents
from .auth import Auth, Token
from .identities import Identity
from .local import Local
from .server import Answer, HttpError, Request, Server
from .tasks import TERMINAL, Endpoint, Task

PAYLOAD_BYTES = 10 * 1024 * 1024
VERSION = "1.99.0"


def problem(status: int, code: str, message: str, **more: Any) -> HttpError:
    """An error as Globus Compute words it; the SDK reads ``code`` and ``message``."""
    return HttpError(
        status,
        {"status": "Failed", "code": code, "message": message, "reason": message, "http_status_code": status,
         "error_args": [], "request_id": str(uuid.uuid4()), **more},
    )  # fmt: skip


class Compute:
    """The service, and what a test does to it."""

    def __init__(self, server: Server, auth: Auth) -> None:
        self._server, self._auth = server, auth
        self._lock = threading.RLock()
        self.endpoints: dict[str, Endpoint] = {}
        self.functions: dict[str, dict[str, Any]] = {}
        self.tasks: dict[str, Task] = {}
        self.groups: dict[str, list[str]] = {}
        self.min_sdk_version = self.min_endpoint_version = "2.0.0"
        self.agents = Agents(self)
        self.limit: tuple[int, float] | None = None  # so many requests in so many seconds; Globus has (20, 10.0)
        self._asked: deque[float] = deque()
        self._backends: list[Local] = []
        add = server.router.add
        add("GET", "/v2/version", self._version)
        for method, path, handler in (
            ("GET", "/v2/endpoints", self._list_endpoints),
            ("GET", "/v2/endpoints/{endpoint_id}", self._get_endpoint),
            ("GET", "/v2/endpoints/{endpoint_id}/status", self._endpoint_status),
            ("DELETE", "/v2/endpoints/{endpoint_id}", self._delete_endpoint),
            ("POST", "/v3/endpoints/{endpoint_id}/lock", self._lock_endpoint),
            ("GET", "/v3/endpoints/{endpoint_id}/allowed_functions", self._allowed_functions),
            ("POST", "/v3/endpoints/{endpoint_id}/submit", self._submit),
            ("POST", "/v3/functions", self._register_function),
            ("GET", "/v2/functions/{function_id}", self._get_function),
            ("DELETE", "/v2/functions/{function_id}", self._delete_function),
            ("GET", "/v2/tasks/{task_id}", self._get_task),
            ("POST", "/v2/batch_status", self._batch_status),
            ("GET", "/v2/taskgroup/{group_id}", self._task_group),
            ("POST", "/v3/endpoints", self.agents.register),
            ("PUT", "/v3/endpoints/{endpoint_id}", self.agents.register),
            ("GET", "/v2/get_amqp_result_connection_url", self.agents.result_connection),
        ):
            add(method, path, self.signed_in(handler))

    # what tests do

    def add_endpoint(
        self, name: str, *, env: Mapping[str, str] | None = None, workers: int = 1, **what: Any
    ) -> Endpoint:
        """Add an endpoint whose tasks run here, ``workers`` at a time. ``what``: fields of Endpoint."""
        python = what.pop("python", sys.executable)
        owner = what.pop("owner", self._auth.person)
        backend = Local(self, python, workers)
        self._backends.append(backend)
        endpoint = Endpoint(name, owner, backend, env=dict(env or {}), python=python, **what)
        self.endpoints[endpoint.id] = endpoint
        return endpoint

    def set_online(self, endpoint: Endpoint, online: bool = True) -> None:
        """Turn ``offline``; what waited for the endpoint starts."""
        endpoint.offline = not online
        if not online:
            return
        for task in self.tasks_of(endpoint):
            if task.status == "waiting-for-ep":
                endpoint.backend.launch(endpoint, task)

    def lose_running(self, endpoint: Endpoint) -> None:
        """Let the user endpoint die: what runs now stays "running" for ever."""
        self._local(endpoint).lose_running()

    def kill_running(self, endpoint: Endpoint) -> None:
        """Let the worker die: what runs now fails with WorkerLost."""
        self._local(endpoint).kill_running()

    def tasks_of(self, endpoint: Endpoint) -> list[Task]:
        """Every task that the endpoint was given, in order: also those that the caller knows nothing of."""
        with self._lock:
            return [task for task in self.tasks.values() if task.endpoint_id == endpoint.id]

    def complete(
        self,
        task_id: str,
        data: str,
        *,
        failed: bool,
        details: Mapping[str, Any] | None = None,
        transitions: Mapping[str, float] | None = None,
    ) -> None:
        """Take a result. Only the first one counts."""
        with self._lock:
            task = self.tasks.get(task_id)
            if task is None or task.status in TERMINAL:
                return
            endpoint = self.endpoints.get(task.endpoint_id)
            if endpoint:
                task.visible_at = time.time() + endpoint.result_delay
                if endpoint.expire:
                    endpoint.expire -= 1
                    task.expired = True
            task.complete(data, failed=failed, details=details or {}, transitions=transitions or {})
        if task.submission.get("create_queue"):
            self.agents.tell_executor(task)

    def close(self) -> None:
        for backend in self._backends:
            backend.close()
        self.agents.close()

    @staticmethod
    def _local(endpoint: Endpoint) -> Local:
        if not isinstance(endpoint.backend, Local):
            raise TypeError(f"{endpoint.name} has a real agent: kill its processes instead.")
        return endpoint.backend

    # who asks

    def signed_in(self, handler: Callable[..., Answer]) -> Callable[..., Answer]:
        """Let in only who has a good token; the handler gets it."""

        @functools.wraps(handler)
        def check(request: Request, **parts: str) -> Answer:
            token = self._auth.holder(request, "funcx_service")
            if token is None:
                raise problem(401, "UNAUTHENTICATED", "Credentials are expired or otherwise invalid")
            self._check_rate()
            return handler(request, token, **parts)

        return check

    def _check_rate(self) -> None:
        if self.limit is None:
            return
        most, seconds = self.limit
        now = time.monotonic()
        with self._lock:
            while self._asked and self._asked[0] <= now - seconds:
                self._asked.popleft()
            if len(self._asked) >= most:
                wait = str(math.ceil(self._asked[0] + seconds - now))
                refusal = problem(429, "TOO_MANY_REQUESTS", f"More than {most} requests in {seconds:g} s")
                raise HttpError(429, refusal.body, {"Retry-After": wait})
            self._asked.append(now)

    def endpoint_of(self, endpoint_id: str, who: Identity) -> Endpoint:
        """The endpoint, where it is and who asks may know of it."""
        endpoint = self.endpoints.get(endpoint_id)
        if endpoint is None:
            raise problem(404, "ENDPOINT_NOT_FOUND", f"Endpoint {endpoint_id} could not be resolved")
        if endpoint.owner != who and not endpoint.public:
            raise problem(403, "ENDPOINT_ACCESS_FORBIDDEN", f"Unauthorized access to endpoint {endpoint_id}")
        return endpoint

    # endpoints

    def _version(self, request: Request) -> Answer:
        if request.query.get("service") != "all":
            return 200, VERSION
        return 200, {"api": VERSION, "min_sdk_version": self.min_sdk_version, "min_ep_version": self.min_endpoint_version,
                     "min_endpoint_version": self.min_endpoint_version, "git_sha": "0" * 40}  # fmt: skip

    def _list_endpoints(self, request: Request, token: Token) -> Answer:
        anyones = request.query.get("role") == "any"
        return 200, [
            endpoint.listed
            for endpoint in self.endpoints.values()
            if endpoint.owner == token.identity or (anyones and endpoint.public)
        ]

    def _get_endpoint(self, _: Request, token: Token, endpoint_id: str) -> Answer:
        return 200, self.endpoint_of(endpoint_id, token.identity).describe()

    def _endpoint_status(self, _: Request, token: Token, endpoint_id: str) -> Answer:
        endpoint = self.endpoint_of(endpoint_id, token.identity)
        if not endpoint.backend.is_online(endpoint):
            return 200, {"status": "offline", "details": {}}
        waiting = sum(task.status not in TERMINAL for task in self.tasks_of(endpoint))
        details = {"total_workers": 1, "idle_workers": 0, "pending_tasks": waiting, "outstanding_tasks": waiting,
                   "managers": 1}  # fmt: skip
        return 200, {"status": "online", "details": details}

    def _delete_endpoint(self, _: Request, token: Token, endpoint_id: str) -> Answer:
        del self.endpoints[self.endpoint_of(endpoint_id, token.identity).id]
        return 200, {"result": 302}

    def _lock_endpoint(self, _: Request, token: Token, endpoint_id: str) -> Answer:
        self.endpoint_of(endpoint_id, token.identity).locked = True
        return 200, {"endpoint_id": endpoint_id, "lock_expiration_timestamp": "2099-01-01T00:00:00.000000+00:00"}

    def _allowed_functions(self, _: Request, token: Token, endpoint_id: str) -> Answer:
        allowed = self.endpoint_of(endpoint_id, token.identity).allowed_functions
        return 200, {"endpoint_id": endpoint_id, "restricted": allowed is not None, "functions": allowed or []}

    # functions

    def _register_function(self, request: Request, _: Token) -> Answer:
        if len(request.raw) > PAYLOAD_BYTES:
            raise problem(
                413, "FUNCTION_PAYLOAD_TOO_LARGE", f"Function of {len(request.raw)} B exceeds {PAYLOAD_BYTES} B"
            )
        function_id = str(uuid.uuid4())
        self.functions[function_id] = request.json()
        return 200, {"function_uuid": function_id}

    def _get_function(self, _: Request, __: Token, function_id: str) -> Answer:
        known = self._function(function_id)
        return 200, {"function_uuid": function_id, "function_name": known["function_name"],
                     "function_code": known["function_code"], "description": known.get("description"),
                     "metadata": known.get("meta")}  # fmt: skip

    def _delete_function(self, _: Request, __: Token, function_id: str) -> Answer:
        self._function(function_id)
        del self.functions[function_id]
        return 200, {"result": 302}

    def _function(self, function_id: str) -> dict[str, Any]:
        if function_id not in self.functions:
            raise problem(404, "FUNCTION_NOT_FOUND", f"Function {function_id} could not be resolved")
        return self.functions[function_id]

    # tasks

    def _submit(self, request: Request, token: Token, endpoint_id: str) -> Answer:
        endpoint = self.endpoint_of(endpoint_id, token.identity)
        body = request.json()
        self._check_submission(endpoint, token, body["tasks"], len(request.raw))
        group_id = body.get("task_group_id") or str(uuid.uuid4())
        submission = {key: value for key, value in body.items() if key != "tasks"}
        made: dict[str, list[Task]] = {}
        with self._lock:
            for function_id, payloads in body["tasks"].items():
                code = _code(self.functions[function_id])
                made[function_id] = [
                    Task(
                        str(uuid.uuid4()),
                        endpoint.id,
                        function_id,
                        group_id,
                        code + payload,
                        token.identity,
                        submission,
                    )
                    for payload in payloads
                ]
            new = [task for tasks in made.values() for task in tasks]
            self.tasks.update((task.id, task) for task in new)
            self.groups.setdefault(group_id, []).extend(task.id for task in new)
        if body.get("create_queue"):
            self.agents.open_group(group_id)
        for task in new:
            self._launch(endpoint, task)
        return 200, {"request_id": str(uuid.uuid4()), "task_group_id": group_id, "endpoint_id": endpoint.id,
                     "tasks": {function_id: [task.id for task in tasks] for function_id, tasks in made.items()}}  # fmt: skip

    def _check_submission(self, endpoint: Endpoint, token: Token, tasks: Mapping[str, Any], size: int) -> None:
        if size > PAYLOAD_BYTES:
            raise problem(413, "TASK_PAYLOAD_TOO_LARGE", f"Task payload of {size} B exceeds {PAYLOAD_BYTES} B")
        if endpoint.policy and endpoint.policy not in token.session:
            needs = {
                "session_required_policies": [endpoint.policy],
                "session_message": "Sign in again for this endpoint.",
            }
            raise problem(403, "AUTHORIZATION_REQUIRED", "The login does not satisfy the endpoint's authentication policy",
                          authorization_parameters=needs)  # fmt: skip
        if endpoint.reject:
            raise problem(*endpoint.reject)
        self.check_unlocked(endpoint)
        for function_id in tasks:
            self._function(function_id)
            if endpoint.allowed_functions is not None and function_id not in endpoint.allowed_functions:
                message = f"Function {function_id} not permitted on endpoint {endpoint.id}"
                raise problem(403, "FUNCTION_NOT_PERMITTED", message)

    @staticmethod
    def check_unlocked(endpoint: Endpoint) -> None:
        if endpoint.locked:
            raise problem(423, "ENDPOINT_LOCKED", f"Endpoint {endpoint.id} is locked")

    @staticmethod
    def _launch(endpoint: Endpoint, task: Task) -> None:
        if endpoint.lose:
            endpoint.lose -= 1
            task.status = "waiting-for-nodes"
        else:
            endpoint.backend.launch(endpoint, task)

    def _get_task(self, _: Request, token: Token, task_id: str) -> Answer:
        task = self.tasks.get(task_id)
        if task is None or task.owner != token.identity:
            raise problem(404, "TASK_NOT_FOUND", f"Task {task_id} could not be resolved")
        return 200, task.document

    def _batch_status(self, request: Request, token: Token) -> Answer:
        results = {}
        for task_id in request.json()["task_ids"]:
            task = self.tasks.get(task_id)
            known = task is not None and task.owner == token.identity
            unknown = {"task_id": task_id, "status": "failed", "reason": "unknown task"}
            results[task_id] = task.document if task is not None and known else unknown
        return 200, {"response": "batch", "results": results}

    def _task_group(self, _: Request, __: Token, group_id: str) -> Answer:
        if group_id not in self.groups:
            raise problem(404, "TASK_GROUP_NOT_FOUND", f"TaskGroup {group_id} could not be resolved")
        tasks = [self.tasks[task_id] for task_id in self.groups[group_id]]
        made = [{"id": task.id, "created_at": time.strftime("%Y-%m-%dT%H:%M:%S.000000", time.gmtime(task.created_at))}
                for task in tasks]  # fmt: skip
        return 200, {"taskgroup_id": group_id, "create_websockets_queue": True, "tasks": made}


def _code(function: Mapping[str, Any]) -> str:
    """The function as endpoints get it. Registered as plain source, it is wrapped as the SDK's PureSourceTextInspect."""
    code = str(function["function_code"])
    if function.get("serialized") is not False:
        return code
    wrapped = f"st\n{function['function_name']}:{code}"
    return f"{len(wrapped)}\n{wrapped}"
