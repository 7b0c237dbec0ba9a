"""The real SDK clients, pointed at the stand-in, with the little that tests of it do: submit source, wait, look."""

from __future__ import annotations

from typing import Any

from globus_compute_sdk.serialize import ComputeSerializer, JSONData
from globus_sdk import ComputeClientV2, ComputeClientV3
from globus_sdk.authorizers import AccessTokenAuthorizer

from tests.live.slurm import wait_until

from .standin import StandIn
from .tasks import TERMINAL

WANTED = ["globus_compute_sdk.serialize.JSONData"]  # how results shall be packed


class TaskClient:
    """A person's clients. They repeat nothing by themselves, unless ``retries`` says so."""

    def __init__(self, services: StandIn, *, token: str = "", retries: int = 0) -> None:
        authorizer = AccessTokenAuthorizer(token or services.auth.issue()["access_token"])
        self.v2 = ComputeClientV2(base_url=services.url, authorizer=authorizer)
        self.v3 = ComputeClientV3(base_url=services.url, authorizer=authorizer)
        self.v2.retry_config.max_retries = self.v3.retry_config.max_retries = retries
        self._serializer = ComputeSerializer(strategy_data=JSONData())

    def register(self, source: str) -> str:
        """Register the one function of a source text."""
        name = source.partition("def ")[2].partition("(")[0]
        function = {"function_name": name, "function_code": source, "serialized": False}
        return str(self.v3.register_function(function)["function_uuid"])

    def submit(self, endpoint_id: str, source: str, *arguments: Any) -> str:
        """Submit one task; its id comes back."""
        function = self.register(source)
        packed = self._serializer.pack_buffers([self._serializer.serialize(part) for part in (list(arguments), {})])
        answer = self.v3.submit(endpoint_id, {"tasks": {function: [packed]}, "result_serializers": WANTED})
        return str(answer["tasks"][function][0])

    def document(self, task_id: str) -> dict[str, Any]:
        document: dict[str, Any] = self.v2.get_task_batch([task_id])["results"][task_id]
        return document

    def wait(self, task_id: str, *, until: str = "", seconds: float = 90) -> dict[str, Any]:
        """Wait until the task has ended, or has this status."""
        wanted = (until,) if until else TERMINAL
        wait_until(lambda: self.document(task_id)["status"] in wanted, seconds, f"Task {task_id} is not {wanted}")
        return self.document(task_id)
