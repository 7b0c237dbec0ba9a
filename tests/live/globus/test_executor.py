"""The real Executor of the Compute SDK, whose results come by AMQP: that the broker is one."""

from __future__ import annotations

import pytest
from globus_compute_sdk import Client, Executor
from globus_compute_sdk.errors import TaskExecutionFailed
from globus_sdk.authorizers import AccessTokenAuthorizer

from tests.live.globus import StandIn


def fail() -> None:
    """Travels by value: the worker knows nothing of this module."""
    raise ValueError("as it should")


def test_results_and_failures_come_to_an_executor(globus_services: StandIn) -> None:
    endpoint = globus_services.compute.add_endpoint("delta")
    authorizer = AccessTokenAuthorizer(globus_services.auth.issue()["access_token"])
    client = Client(do_version_check=False, authorizer=authorizer)
    for web in (client._compute_web_client.v2, client._compute_web_client.v3):
        web.base_url = globus_services.url

    with Executor(endpoint_id=endpoint.id, client=client) as executor:
        numbers = [executor.submit(abs, -number) for number in range(3)]
        failure = executor.submit(fail)

        assert [number.result(30) for number in numbers] == [0, 1, 2]
        with pytest.raises(TaskExecutionFailed, match="as it should"):
            failure.result(30)
