"""What the real Compute clients see at the stand-in: tasks that really run, and every fault and switch."""

from __future__ import annotations

import time
import uuid
from typing import Any

import globus_sdk
import pytest
from globus_compute_sdk.serialize import JSONData

from tests.live.globus import BOB, TRANSFER, Endpoint, StandIn, TaskClient
from tests.live.slurm import wait_until

DOUBLE = "def double(x):\n    import os\n    return {'double': 2 * x, 'cluster': os.environ.get('CLUSTER')}\n"
SLEEP = "def sleep(seconds):\n    import time\n    time.sleep(seconds)\n    return seconds\n"


@pytest.fixture
def endpoint(globus_services: StandIn) -> Endpoint:
    return globus_services.compute.add_endpoint("delta", env={"CLUSTER": "delta"})


@pytest.fixture
def client(globus_services: StandIn) -> TaskClient:
    return TaskClient(globus_services)


def test_a_task_runs_and_its_result_is_plain_json(client: TaskClient, endpoint: Endpoint) -> None:
    done = client.wait(client.submit(endpoint.id, DOUBLE, 21))

    assert done["status"] == "success"
    assert JSONData().deserialize(done["result"]) == {"double": 42, "cluster": "delta"}
    assert done["details"]["endpoint_id"] == endpoint.id
    assert set(done["details"]["task_transitions"]) == {"execution-start", "execution-end"}


def test_an_exception_comes_back_as_the_remote_traceback(client: TaskClient, endpoint: Endpoint) -> None:
    done = client.wait(client.submit(endpoint.id, "def fail(x):\n    raise ValueError(f'no {x}')\n", 1))

    assert done["status"] == "failed"
    assert "ValueError: no 1" in done["exception"]


def test_a_login_node_runs_one_task_at_a_time(client: TaskClient, endpoint: Endpoint) -> None:
    tasks = [client.submit(endpoint.id, SLEEP, 0.2) for _ in range(2)]

    first, second = (client.wait(task)["details"]["task_transitions"] for task in tasks)

    assert second["execution-start"] >= first["execution-end"]


@pytest.mark.parametrize("failure", [{"status": 502, "body": "<html>Bad Gateway</html>"}, {"drop": True}])
def test_a_submission_that_is_retried_after_it_was_accepted_runs_twice(
    globus_services: StandIn, endpoint: Endpoint, failure: dict[str, Any]
) -> None:
    client = TaskClient(globus_services, retries=1)
    globus_services.fault("/submit", when="after", **failure)

    client.submit(endpoint.id, DOUBLE, 1)

    assert len(globus_services.compute.tasks_of(endpoint)) == 2


def test_without_retries_the_caller_of_an_accepted_submission_learns_of_no_task(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    globus_services.fault("/submit", when="after", drop=True)

    with pytest.raises(globus_sdk.NetworkError):
        client.submit(endpoint.id, DOUBLE, 1)

    [task] = globus_services.compute.tasks_of(endpoint)
    assert client.wait(task.id)["status"] == "success"
    [seen] = globus_services.requests("/submit")
    assert (seen.status, seen.done) == (None, 200)


def test_a_fault_before_the_act_leaves_nothing_behind(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    globus_services.fault("/submit", status=503)

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.submit(endpoint.id, DOUBLE, 1)

    assert problem.value.http_status == 503
    assert globus_services.compute.tasks_of(endpoint) == []
    assert [seen.done for seen in globus_services.requests("/submit")] == [None]


def test_the_sdk_waits_as_long_as_retry_after_says(globus_services: StandIn, endpoint: Endpoint) -> None:
    client = TaskClient(globus_services, retries=2)
    globus_services.fault("/status", status=429, headers={"Retry-After": "1"})
    begun = time.monotonic()

    assert client.v2.get_endpoint_status(endpoint.id)["status"] == "online"

    assert time.monotonic() - begun >= 1
    assert [seen.status for seen in globus_services.requests("/status")] == [429, 200]


def test_too_many_requests_are_throttled(client: TaskClient, globus_services: StandIn, endpoint: Endpoint) -> None:
    globus_services.compute.limit = (2, 10.0)
    for _ in range(2):
        client.v2.get_endpoint_status(endpoint.id)

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.v2.get_endpoint_status(endpoint.id)

    assert problem.value.http_status == 429
    assert 0 < int(problem.value.headers["Retry-After"]) <= 10


def test_an_answer_slower_than_the_clients_timeout_is_a_timeout(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    globus_services.fault("/status", delay=1)

    with client.v2.transport.tune(http_timeout=0.2), pytest.raises(globus_sdk.GlobusTimeoutError):
        client.v2.get_endpoint_status(endpoint.id)


def test_a_page_of_html_with_status_200_holds_no_data(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    globus_services.fault("/status", status=200, body="<html>Please accept the terms of this network</html>")

    answer = client.v2.get_endpoint_status(endpoint.id)

    with pytest.raises(ValueError, match="does not support indexing"):
        answer["status"]


def test_a_service_that_is_gone_comes_back_with_all_that_it_knew(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    task = client.submit(endpoint.id, DOUBLE, 1)
    globus_services.down()
    with pytest.raises(globus_sdk.NetworkError):
        client.document(task)

    globus_services.up()

    assert client.wait(task)["status"] == "success"


def test_tasks_wait_for_an_endpoint_that_is_offline(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    globus_services.compute.set_online(endpoint, online=False)
    task = client.submit(endpoint.id, DOUBLE, 1)

    assert client.v2.get_endpoint_status(endpoint.id).data == {"status": "offline", "details": {}}
    assert client.document(task)["status"] == "waiting-for-ep"

    globus_services.compute.set_online(endpoint)
    assert client.wait(task)["status"] == "success"


def test_a_task_that_is_lost_stays_as_it_is(client: TaskClient, endpoint: Endpoint) -> None:
    endpoint.lose = 1
    lost, next_one = (client.submit(endpoint.id, DOUBLE, 1) for _ in range(2))

    client.wait(next_one)

    assert client.document(lost)["status"] == "waiting-for-nodes"


def test_a_task_whose_user_endpoint_died_runs_for_ever(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint
) -> None:
    lost = client.submit(endpoint.id, SLEEP, 60)
    client.wait(lost, until="running")

    globus_services.compute.lose_running(endpoint)

    client.wait(client.submit(endpoint.id, DOUBLE, 1))
    assert client.document(lost)["status"] == "running"


def test_a_task_whose_worker_died_says_so(client: TaskClient, globus_services: StandIn, endpoint: Endpoint) -> None:
    task = client.submit(endpoint.id, SLEEP, 60)
    client.wait(task, until="running")

    globus_services.compute.kill_running(endpoint)

    assert "WorkerLost" in client.wait(task)["exception"]


def test_an_expired_result_is_a_success_without_a_result(client: TaskClient, endpoint: Endpoint) -> None:
    endpoint.expire = 1

    done = client.wait(client.submit(endpoint.id, DOUBLE, 1))

    assert done["status"] == "success"
    assert "result" not in done


def test_a_result_that_is_slow_shows_later(client: TaskClient, globus_services: StandIn, endpoint: Endpoint) -> None:
    endpoint.result_delay = 0.5
    task = client.submit(endpoint.id, DOUBLE, 1)
    wait_until(lambda: globus_services.compute.tasks[task].completed_at is not None, 20, "The task did not end")

    assert client.document(task)["status"] == "running"
    assert client.wait(task)["status"] == "success"


def test_an_unknown_task_is_404_alone_and_failed_in_a_batch(client: TaskClient, endpoint: Endpoint) -> None:
    nobody = str(uuid.uuid4())

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.v2.get_task(nobody)

    assert problem.value.http_status == 404
    assert client.document(nobody)["status"] == "failed"


@pytest.mark.parametrize(
    ("switch", "value", "status", "code"),
    [
        (
            "reject",
            (422, "SEMANTICALLY_INVALID", "Identity failed to map to a local user name."),
            422,
            "SEMANTICALLY_INVALID",
        ),
        ("locked", True, 423, "ENDPOINT_LOCKED"),
        ("owner", BOB, 403, "ENDPOINT_ACCESS_FORBIDDEN"),
        ("allowed_functions", [], 403, "FUNCTION_NOT_PERMITTED"),
    ],
)
def test_a_submission_can_be_refused(
    client: TaskClient, endpoint: Endpoint, switch: str, value: object, status: int, code: str
) -> None:
    setattr(endpoint, switch, value)

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.submit(endpoint.id, DOUBLE, 1)

    assert (problem.value.http_status, problem.value.code) == (status, code)


def test_an_endpoint_of_somebody_else_is_not_listed(client: TaskClient, endpoint: Endpoint) -> None:
    assert [one["uuid"] for one in client.v2.get_endpoints()] == [endpoint.id]

    endpoint.owner = BOB

    assert list(client.v2.get_endpoints()) == []


def test_a_policy_asks_for_another_login_and_takes_it(globus_services: StandIn, endpoint: Endpoint) -> None:
    endpoint.policy = "55555555-5555-4555-8555-555555555555"

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        TaskClient(globus_services).submit(endpoint.id, DOUBLE, 1)

    needs = problem.value.info.authorization_parameters
    assert needs.session_required_policies == [endpoint.policy]
    again = globus_services.auth.issue(session=[endpoint.policy])["access_token"]
    client = TaskClient(globus_services, token=again)
    assert client.wait(client.submit(endpoint.id, DOUBLE, 1))["status"] == "success"


@pytest.mark.parametrize("end", ["expire", "revoke"])
def test_a_token_past_its_time_is_401(
    client: TaskClient, globus_services: StandIn, endpoint: Endpoint, end: str
) -> None:
    getattr(globus_services.auth, end)()

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.v2.get_endpoint_status(endpoint.id)

    assert problem.value.http_status == 401


def test_a_token_for_another_service_is_401(globus_services: StandIn, endpoint: Endpoint) -> None:
    client = TaskClient(globus_services, token=globus_services.auth.issue([TRANSFER])["access_token"])

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.v2.get_endpoint_status(endpoint.id)

    assert problem.value.http_status == 401


def test_more_than_ten_mebibytes_are_too_much_both_ways(client: TaskClient, endpoint: Endpoint) -> None:
    size = (10 << 20) + 1

    with pytest.raises(globus_sdk.GlobusAPIError) as problem:
        client.submit(endpoint.id, "def length(x):\n    return len(x)\n", "x" * size)
    back = client.wait(client.submit(endpoint.id, "def long(size):\n    return 'x' * size\n", size))

    assert (problem.value.http_status, problem.value.code) == (413, "TASK_PAYLOAD_TOO_LARGE")
    assert "MaxResultSizeExceeded" in back["exception"]


def test_tasks_end_with_the_services(endpoint: Endpoint, globus_services: StandIn, tmp_path: Any) -> None:
    client = TaskClient(globus_services)
    mark = tmp_path / "alive"
    beat = (
        "def beat(path):\n    import pathlib, time\n    while True:\n"
        "        pathlib.Path(path).write_text(str(time.time()))\n        time.sleep(0.02)\n"
    )
    client.submit(endpoint.id, beat, str(mark))
    wait_until(mark.exists, 20, "The task did not start")

    globus_services.close()

    last = mark.read_text()
    time.sleep(0.2)
    assert mark.read_text() == last
