"""The stand-in answers in the shape of the answers that globus_sdk ships for tests: it must not drift from them.

Every key that Globus is known to send is sent, with a value of the same kind. More keys are allowed: the services add
some as well.
"""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import globus_sdk
import pytest
from globus_sdk.scopes import ComputeScopes, TransferScopes
from globus_sdk.testing import RegisteredResponse, get_response_set

from tests.live.globus import ALICE, BOB, TRANSFER, Collection, Endpoint, StandIn, TaskClient
from tests.live.slurm import wait_until

FUNCTION = {"function_name": "add", "function_code": "def add(x):\n    return x + 1\n", "serialized": False}
ADD = "def add(x):\n    return x + 1\n"
OLD_FORMS = {  # of v2, which the Compute SDK no longer uses
    "compute.v2.lock_endpoint",
    "compute.v2.register_endpoint",
    "compute.v2.register_function",
    "compute.v2.submit",
}
MAY_BE_NULL = {"subscription_uuid"}


IN_TRANSFER = {  # of what others use: administrators of endpoints, streams, subscriptions
    "create_tunnel", "delete_tunnel", "endpoint_manager_task_list", "endpoint_manager_task_successful_transfers",
    "get_stream_access_point", "get_tunnel", "get_tunnel_events", "list_tunnels", "set_subscription_admin_verified",
    "set_subscription_id", "update_endpoint", "update_tunnel",
}  # fmt: skip


class World:
    """A stand-in with something of everything in it, and who asks."""

    def __init__(self, services: StandIn, folder: Path) -> None:
        self.services, self.folder = services, folder
        self.client = TaskClient(services)
        self.endpoint: Endpoint = services.compute.add_endpoint("delta")
        services.compute.add_endpoint("public", owner=BOB, public=True)
        described = {"description": "adds", "meta": {"python_version": "3.11.7", "sdk_version": "4.19.0"}}
        self.function = self.client.v3.register_function({**FUNCTION, **described})["function_uuid"]
        self.endpoint.allowed_functions = [self.function]
        registered = services.auth.add_client("conformance")
        self.auth = globus_sdk.ConfidentialAppAuthClient(registered.id, registered.secret)

    @functools.cached_property
    def task(self) -> str:
        """One that has ended."""
        self.endpoint.allowed_functions = None
        task = self.client.submit(self.endpoint.id, ADD, 1)
        self.client.wait(task)
        return task

    @functools.cached_property
    def transfer(self) -> globus_sdk.TransferClient:
        token = self.services.auth.issue([TRANSFER])["access_token"]
        return globus_sdk.TransferClient(
            base_url=self.services.url, authorizer=globus_sdk.AccessTokenAuthorizer(token), retry_config=None
        )

    @functools.cached_property
    def collection(self) -> Collection:
        """One with a file and a closed folder in it."""
        (self.folder / "file1.txt").write_text("four")
        (self.folder / "closed").mkdir()
        return self.services.transfer.add_collection("tutorial", self.folder, denied=("closed",))

    def transferred(self) -> globus_sdk.GlobusHTTPResponse:
        """A submission."""
        data = globus_sdk.TransferData(self.collection.id, self.collection.id)
        data.add_item("/file1.txt", "/copied/file1.txt")
        return self.transfer.submit_transfer(data)

    @functools.cached_property
    def moved(self) -> str:
        """A transfer that has ended."""
        moved = str(self.transferred()["task_id"])
        wait_until(lambda: self.services.transfer.tasks[moved].ended, 10, "not moved")
        return moved

    def deleted(self) -> globus_sdk.GlobusHTTPResponse:
        data = globus_sdk.DeleteData(self.collection.id)
        data.add_item("/none")
        return self.transfer.submit_delete(data)

    @property
    def group(self) -> str:
        return self.services.compute.tasks[self.task].group_id

    def tokens(self, *scopes: str) -> globus_sdk.OAuthTokenResponse:
        return self.auth.oauth2_client_credentials_tokens(scopes)

    def exchange(self, code: str) -> globus_sdk.OAuthTokenResponse:
        self.auth.oauth2_start_flow("https://hub.test/back", requested_scopes=[ComputeScopes.all])
        return self.auth.oauth2_exchange_code_for_tokens(code)

    def agent(self) -> dict[str, Any]:
        """What an agent says as it registers."""
        return {"endpoint_name": "anvil", "display_name": "Anvil", "metadata": {"endpoint_version": "4.19.0"}}


@pytest.fixture
def world(globus_services: StandIn, tmp_path: Path) -> World:
    return World(globus_services, tmp_path)


ANSWERS: dict[str, Callable[[World], Any]] = {
    "compute.v2.get_version/default": lambda w: w.client.v2.get_version(),
    "compute.v2.get_version/all": lambda w: w.client.v2.get_version(service="all"),
    "compute.v2.get_endpoints/default": lambda w: w.client.v2.get_endpoints(),
    "compute.v2.get_endpoints/any": lambda w: w.client.v2.get_endpoints(role="any"),
    "compute.v2.get_endpoint/default": lambda w: w.client.v2.get_endpoint(w.endpoint.id),
    "compute.v2.get_endpoint_status/default": lambda w: w.client.v2.get_endpoint_status(w.endpoint.id),
    "compute.v2.delete_endpoint/default": lambda w: w.client.v2.delete_endpoint(w.endpoint.id),
    "compute.v2.get_function/default": lambda w: w.client.v2.get_function(w.function),
    "compute.v2.delete_function/default": lambda w: w.client.v2.delete_function(w.function),
    "compute.v2.get_task/default": lambda w: w.client.v2.get_task(w.task),
    "compute.v2.get_task_batch/default": lambda w: w.client.v2.get_task_batch([w.task]),
    "compute.v2.get_task_group/default": lambda w: w.client.v2.get_task_group(w.group),
    "compute.v2.get_result_amqp_url/default": lambda w: w.client.v2.get_result_amqp_url(),
    "compute.v3.get_endpoint_allowlist/default": lambda w: w.client.v3.get_endpoint_allowlist(w.endpoint.id),
    "compute.v3.lock_endpoint/default": lambda w: w.client.v3.lock_endpoint(w.endpoint.id),
    "compute.v3.register_endpoint/default": lambda w: w.client.v3.register_endpoint(w.agent()),
    "compute.v3.update_endpoint/default": lambda w: w.client.v3.update_endpoint(w.endpoint.id, w.agent()),
    "compute.v3.register_function/default": lambda w: w.client.v3.register_function(FUNCTION),
    "compute.v3.submit/default": lambda w: w.client.v3.submit(w.endpoint.id, {"tasks": {w.function: ["[]"]}}),
    "transfer.get_submission_id/default": lambda w: w.transfer.get_submission_id(),
    "transfer.submit_transfer/default": lambda w: w.transferred(),
    "transfer.submit_transfer/failure": lambda w: w.transfer.post(
        "/v0.10/transfer", data={"DATA_TYPE": "transfer", "DATA": [], "submission_id": "x"}
    ),
    "transfer.submit_delete/default": lambda w: w.deleted(),
    "transfer.cancel_task/default": lambda w: w.transfer.cancel_task(w.moved),
    "transfer.task_list/default": lambda w: w.transfer.task_list(query_params={"filter": f"task_id:{w.moved}"}),
    "transfer.get_endpoint/default": lambda w: w.transfer.get_endpoint(w.collection.id),
    "transfer.operation_stat/default": lambda w: w.transfer.operation_stat(w.collection.id, "/file1.txt"),
    "transfer.operation_stat/not_found": lambda w: w.transfer.operation_stat(w.collection.id, "/foo"),
    "transfer.operation_stat/permission_denied": lambda w: w.transfer.operation_stat(w.collection.id, "/closed"),
    "transfer.operation_mkdir/default": lambda w: w.transfer.operation_mkdir(w.collection.id, "/made"),
    "transfer.operation_rename/default": lambda w: w.transfer.operation_rename(w.collection.id, "/file1.txt", "/f2"),
    "auth.oauth2_client_credentials_tokens/default": lambda w: w.tokens(TransferScopes.all),
    "auth.oauth2_client_credentials_tokens/openid": lambda w: w.tokens("openid"),
    "auth.oauth2_token_introspect/default": lambda w: w.auth.oauth2_token_introspect(
        w.tokens("openid")["access_token"]
    ),
    "auth.oauth2_revoke_token/default": lambda w: w.auth.oauth2_revoke_token("nobody's"),
    "auth.get_identities/default": lambda w: globus_sdk.AuthClient().get_identities(ids=BOB.id),
    "auth.get_consents/default": lambda w: globus_sdk.AuthClient().get_consents(ALICE.id),
    "auth.userinfo/unauthorized": lambda w: globus_sdk.AuthClient().userinfo(),
    "auth.oauth2_exchange_code_for_tokens/invalid_grant": lambda w: w.exchange("guessed"),
}


@pytest.mark.parametrize("known", ANSWERS)
def test_an_answer_has_the_shape_that_the_sdk_knows(world: World, known: str) -> None:
    name, case = known.split("/")
    expected = get_response_set(name).lookup(case)
    assert isinstance(expected, RegisteredResponse)

    status, answer = asked(ANSWERS[known], world)

    # the SDK's samples of Transfer name no status of a success; its documents have 202 for what is accepted
    assert status in ({expected.status, 202} if name.startswith("transfer.") else {expected.status})
    assert list(differences(expected.json, answer)) == []


def test_every_compute_answer_that_the_sdk_knows_is_compared() -> None:
    sets = set()
    for version in ("v2", "v3"):
        folder = importlib.import_module(f"globus_sdk.testing.data.compute.{version}")
        sets |= {f"compute.{version}.{module.name}" for module in pkgutil.iter_modules(folder.__path__)}

    assert sets - {known.split("/")[0] for known in ANSWERS} == OLD_FORMS


def test_every_transfer_answer_that_is_of_use_here_is_compared() -> None:
    folder = importlib.import_module("globus_sdk.testing.data.transfer")
    known = {module.name for module in pkgutil.iter_modules(folder.__path__) if not module.ispkg}

    compared = {name.split("/")[0].removeprefix("transfer.") for name in ANSWERS if name.startswith("transfer.")}
    assert known - compared - {"_common"} == IN_TRANSFER


@pytest.mark.parametrize(
    ("known", "answer"),
    [({"a": 1}, {}), ({"a": 1}, {"a": "1"}), ({"a": [{"b": 1}]}, {"a": [{}]}), ({"a": [1]}, {"a": []}), ([1], {})],
)
def test_a_difference_is_noticed(known: Any, answer: Any) -> None:
    assert list(differences(known, answer)) != []


def asked(ask: Callable[[World], Any], world: World) -> tuple[int, Any]:
    try:
        answer = ask(world)
    except globus_sdk.GlobusAPIError as problem:
        return problem.http_status, problem.raw_json
    return answer.http_status, json.loads(answer.text)


def differences(known: Any, answer: Any, at: str = "") -> Iterator[str]:
    """Where an answer lacks what the known one has, or has it of another kind."""
    if isinstance(known, dict) and isinstance(answer, dict):
        if known and all(map(is_id, known)):  # by ids, which differ
            known, answer = list(known.values()), list(answer.values())
            yield from differences(known, answer, at)
            return
        for key, value in known.items():
            if key not in answer:
                yield f"{at}.{key} is missing"
            elif value is not None and not (answer[key] is None and key in MAY_BE_NULL):
                yield from differences(value, answer[key], f"{at}.{key}")
    elif isinstance(known, list) and isinstance(answer, list):
        if known and not answer:
            yield f"{at} is empty"
        for value in answer:
            if known:
                yield from differences(known[0], value, at + "[]")
    elif type(known) is not type(answer):
        yield f"{at} is {answer!r}, not a {type(known).__name__}"


def is_id(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True
