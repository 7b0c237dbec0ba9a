"""What the services, and what lies between, can do to us: each fault has one outcome, and nothing is sent twice."""

import asyncio
import time

import pytest
import requests

from jupyter_diamond.errors import GlobusProblem
from jupyter_diamond.globus.problems import problem_of
from tests.live.globus.identities import BOB

from .conftest import OURS, endpoints, log_in, until

pytestmark = pytest.mark.asyncio

SUBMIT = "POST /v3/endpoints/.*/submit"
PORTAL = "<html><title>Campus network: accept the terms</title></html>"


def submit(endpoint, payload="4\nnull"):
    """One task for an endpoint, as the transport sends it."""

    def act(clients):
        code = {"function_name": "look", "function_code": "def look(): return 1", "serialized": False}
        function = clients.compute3.register_function(code)["function_uuid"]
        return clients.compute3.submit(endpoint.id, {"tasks": {function: [payload]}, "create_queue": False})["tasks"]

    return act


async def told(globus, act, **how):
    with pytest.raises(GlobusProblem) as caught:
        await globus.call(act, doing="asking delta", **how)
    problem = caught.value
    assert "\n" not in problem.message
    assert problem.message.endswith(".")
    return problem


@pytest.fixture
def delta(globus_services):
    """An endpoint whose tasks only wait."""
    return globus_services.compute.add_endpoint("delta", offline=True)


@pytest.mark.parametrize(("fault", "outcome", "sent", "transient", "made", "words"), [
    ({"status": 429, "headers": {"Retry-After": "7"}}, "throttled", False, True, 0, "fewer requests"),
    ({"status": 500}, "unreachable", True, True, 0, "an error of its own (500)"),
    ({"status": 502, "when": "after"}, "unreachable", True, True, 1, "an error of its own (502)"),
    ({"status": 504, "when": "after"}, "unreachable", True, True, 1, "(504)"),
    ({"drop": True, "when": "after"}, "unreachable", True, True, 1, "cannot be reached"),
    ({"drop": True}, "unreachable", True, True, 0, "cannot be reached"),
    ({"delay": 3.0, "when": "after", "status": 200}, "unreachable", True, True, 1, "did not answer in time"),
    ({"status": 200, "body": PORTAL}, "unreachable", True, True, 0, "A web page came in place of Globus's answer"),
    ({"status": 200, "body": PORTAL, "when": "after"}, "unreachable", True, True, 1, "gateway of this network"),
    ({"status": 403, "body": {"code": "NO", "message": "not on Sundays"}}, "refused", False, False, 0, "not on Sundays"),
    ({"status": 404, "body": {"code": "ENDPOINT_NOT_FOUND"}}, "refused", False, False, 0, "no such endpoint"),
    ({"status": 413}, "refused", False, False, 0, "larger than the 10 MB"),
    ({"status": 422, "body": {"code": "BAD", "message": "no such option"}}, "refused", False, False, 0, "no such option"),
    ({"status": 423}, "offline", False, True, 0, "was stopped"),
    ({"status": 418, "body": "<h1>teapot</h1>"}, "refused", False, False, 0, "(418)"),
])  # fmt: skip
async def test_a_submission_that_meets_a_fault(
    globus_of, globus_services, delta, fault, outcome, sent, transient, made, words
):
    globus = globus_of(timeout_s=1.0)
    await log_in(globus, globus_services)
    rule = globus_services.fault(SUBMIT, times=-1, **fault)
    begun = time.monotonic()
    problem = await told(globus, submit(delta), sent=True)
    assert (problem.outcome, problem.sent, problem.transient) == (outcome, sent, transient)
    assert words in problem.message
    assert rule.hits == 1, "the SDK must not send it again"
    assert time.monotonic() - begun < 3.0
    await until(lambda: len(globus_services.compute.tasks_of(delta)) == made, 4.0)
    assert problem.retry_after_s == (7.0 if outcome == "throttled" else None)
    assert (await globus.login()).health == "signed_in"


async def test_what_never_left_was_not_sent(globus_of, globus_services, delta):
    globus = globus_of()
    await log_in(globus, globus_services)
    globus_services.down()
    problem = await told(globus, submit(delta), sent=True)
    assert (problem.outcome, problem.sent, problem.transient) == ("unreachable", False, True)
    assert (await globus.login()).health == "unreachable"
    globus_services.up()
    assert (await globus.login()).health == "signed_in"


async def test_a_name_that_nobody_knows_was_not_sent(globus_of, globus_services, monkeypatch):
    globus = globus_of()
    await log_in(globus, globus_services)
    monkeypatch.setenv("GLOBUS_SDK_SERVICE_URL_COMPUTE", "http://compute.invalid/")
    problem = await told(globus, endpoints, sent=True)
    assert (problem.outcome, problem.sent) == ("unreachable", False)


async def test_a_question_whose_connection_broke_is_asked_once_more(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    once = globus_services.fault("GET /v2/endpoints", drop=True)
    assert await globus.call(endpoints) == []
    assert once.hits == 1
    always = globus_services.fault("POST /v2/batch_status", drop=True, times=-1)
    problem = await told(globus, lambda clients: clients.compute2.get_task_batch(["x"]), sent=False)
    assert (problem.outcome, problem.sent, always.hits) == ("unreachable", False, 2)


async def test_an_expired_token_is_renewed_and_the_submission_goes_once(globus_of, globus_services, delta):
    globus = globus_of()
    await log_in(globus, globus_services)
    await globus.call(endpoints)
    globus_services.auth.expire()
    await globus.call(submit(delta))
    assert len(globus_services.compute.tasks_of(delta)) == 1
    assert (await globus.login()).health == "signed_in"
    # and what was renewed is stored
    seen = len(globus_services.requests("oauth2/token"))
    assert await globus_of().call(endpoints) == ["delta"]
    assert len(globus_services.requests("oauth2/token")) == seen


async def test_a_revoked_login_needs_a_login_and_is_not_tried_in_vain(globus_of, globus_services, delta):
    globus = globus_of()
    await log_in(globus, globus_services)
    changes = []
    globus.on_change(changes.append)
    globus_services.auth.revoke()
    problem = await told(globus, submit(delta), sent=True)
    assert (problem.outcome, problem.sent) == ("needs_login", False)
    assert "has ended or was revoked" in problem.message
    login = await globus.login()
    assert (login.health, login.mode, login.problem) == ("needs_login", "cached", problem.message)
    asked = len(globus_services.requests())
    for _ in range(3):
        await told(globus, endpoints)
    assert len(globus_services.requests()) == asked
    assert [one.health for one in changes] == ["needs_login"]
    assert (await log_in(globus, globus_services)).health == "signed_in"
    assert await globus.call(submit(delta))
    assert [one.health for one in changes] == ["needs_login", "signed_in"]


async def test_the_state_alone_sees_that_a_login_was_revoked(globus_of, globus_services):
    """The SDK's own login_required() says no then."""
    await log_in(globus_of(), globus_services)
    globus_services.auth.revoke()
    login = await globus_of().login()
    assert (login.health, "was revoked" in login.problem) == ("needs_login", True)


async def test_a_policy_asks_for_its_own_login_and_the_next_one_satisfies_it(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    policy = "44444444-4444-4444-8444-444444444444"
    strict = globus_services.compute.add_endpoint("strict", policy=policy, offline=True)
    plain = globus_services.compute.add_endpoint("plain", offline=True)
    problem = await told(globus, submit(strict), sent=True)
    assert (problem.outcome, problem.sent) == ("needs_login", False)
    assert "Sign in again for this endpoint" in problem.message
    login = await globus.login()
    assert (login.health, login.problem) == ("needs_login", problem.message)
    await globus.call(submit(plain))  # the login is good for others
    assert (await globus.login()).health == "needs_login"
    start = await globus.begin()
    assert start.needed_for == "Sign in again for this endpoint."
    login = await globus.finish(globus_services.auth.approve(start.url).code)
    assert globus_services.auth.authorizations[-1]["session_required_policies"] == policy
    assert (login.health, login.problem) == ("signed_in", "")
    await globus.call(submit(strict))
    assert (await globus.begin()).needed_for == ""


async def test_a_policy_is_known_without_an_app_as_well(globus_of, globus_services):
    tokens = globus_services.auth.issue()["access_token"]
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": f'{{"funcx_service": "{tokens}"}}'})
    strict = globus_services.compute.add_endpoint("strict", policy="p", offline=True)
    assert (await told(globus, submit(strict))).outcome == "needs_login"


async def test_an_endpoint_of_somebody_else(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    theirs = globus_services.compute.add_endpoint("theirs", owner=BOB, offline=True)
    problem = await told(globus, submit(theirs))
    assert (problem.outcome, problem.sent) == ("refused", False)
    assert "jupyter diamond auth says who you are" in problem.message


async def test_tokens_that_globus_refuses_need_a_login(globus_of):
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": '{"funcx_service": "dead"}'})
    problem = await told(globus, endpoints)
    assert (problem.outcome, problem.sent) == ("needs_login", False)
    assert (await globus.login()).health == "needs_login"


@pytest.mark.parametrize("fault", [{"status": 502}, {"status": 200, "body": PORTAL}, {"drop": True}])
async def test_a_login_page_that_fails_midway_can_be_tried_again(globus_of, globus_services, fault):
    globus = globus_of(client_id=OURS)
    start = await globus.begin()
    globus_services.fault("POST /v2/oauth2/token", **fault)
    with pytest.raises(GlobusProblem) as caught:
        await globus.finish(globus_services.auth.approve(start.url).code)
    assert caught.value.outcome == "unreachable"
    assert (await globus.finish(globus_services.auth.approve(start.url).code)).health == "signed_in"


async def test_the_state_while_globus_is_away(globus_of, globus_services):
    await log_in(globus_of(), globus_services)
    globus_services.down()
    login = await globus_of().login()
    assert (login.health, login.mode) == ("unreachable", "cached")
    assert "cannot be reached" in login.problem


async def test_a_slow_globus_keeps_nobody_waiting_for_the_state(globus_of, globus_services):
    await log_in(globus_of(), globus_services)
    globus_services.fault("userinfo", delay=20.0, times=-1)
    begun = time.monotonic()
    assert (await globus_of(timeout_s=0.5).login()).health == "unreachable"
    assert time.monotonic() - begun < 5.0


async def test_what_is_cancelled_before_its_turn_is_never_sent(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    rule = globus_services.fault("GET /v2/endpoints", delay=0.5, status=500)
    first = asyncio.create_task(globus.call(endpoints))
    await until(lambda: rule.hits)
    asked = []
    second = asyncio.create_task(globus.call(lambda _: asked.append(1)))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(GlobusProblem):
        await first
    await globus.call(endpoints)
    assert asked == []


async def test_requests_never_overlap(globus_of, globus_services):
    """An app of the SDK is not thread safe: everything runs in one thread, in turn."""
    import threading

    globus = globus_of()
    await log_in(globus, globus_services)
    threads, inside, most = set(), 0, 0

    def act(clients):
        nonlocal inside, most
        threads.add(threading.get_ident())
        inside += 1
        most = max(most, inside)
        clients.compute2.get_endpoints()
        inside -= 1

    await asyncio.gather(*(globus.call(act) for _ in range(8)))
    assert (len(threads), most) == (1, 1)
    assert threading.get_ident() not in threads


class TaskExecutionFailed(Exception):
    """By name and module, as problem_of knows it."""


TaskExecutionFailed.__module__ = "globus_compute_sdk.errors.error_types"


@pytest.mark.parametrize(("error", "outcome", "words"), [
    (KeyError("exception"), "expired", "has dropped the answer"),
    (ValueError("This type of response data does not support indexing."), "unreachable", "A web page came"),
    (TaskExecutionFailed("Traceback…\nMaxResultSizeExceeded: 11 MB"), "failed", "10 MB"),
    (TaskExecutionFailed("parsl...WorkerLost: Task failure due to loss of worker"), "failed", "worker died"),
    (TaskExecutionFailed("BrokenProcessPool: a child died"), "failed", "worker died"),
    (TaskExecutionFailed("Ignoring start request for untrusted identity"), "failed", "another Globus identity"),
    (TaskExecutionFailed("Failed to start or unexpected error: (ClickException) no"), "failed", "(ClickException) no"),
    (TaskExecutionFailed("Traceback (most recent call last):\n  …\nZeroDivisionError: by zero\n"), "failed", "by zero"),
    (TaskExecutionFailed(""), "failed", "does not say why"),
    (ModuleNotFoundError("no", name="globus_sdk"), "refused", "pip install 'jupyter-diamond[globus]'"),
    (PermissionError(13, "Permission denied", "/x/storage.db"), "needs_login", "cannot be used"),
    (ValueError('Unrecognized environment "local"'), "refused", "GLOBUS_SDK_ENVIRONMENT"),
    (ZeroDivisionError("of ours"), "unreachable", "(ZeroDivisionError)"),
])  # fmt: skip
async def test_what_sdks_raise(error, outcome, words):
    problem = problem_of(error, "looking at delta", sent=True)
    assert (problem.outcome, problem.__cause__) == (outcome, error)
    assert words in problem.message
    assert problem_of(problem, "x", sent=False) is problem


async def test_the_sdk_s_own_version_check():
    from globus_compute_sdk.errors import SerializationError, VersionMismatch

    assert problem_of(VersionMismatch("too old"), "x", sent=False).outcome == "refused"
    assert problem_of(SerializationError("dill"), "x", sent=False).outcome == "failed"


async def test_a_certificate_of_a_gateway_is_told_as_such():
    from globus_sdk import exc

    inner = requests.exceptions.SSLError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate in chain")
    problem = problem_of(exc.convert_request_exception(inner), "asking delta", sent=True)
    assert (problem.outcome, problem.sent) == ("unreachable", False)
    assert "REQUESTS_CA_BUNDLE" in problem.message


async def test_an_environment_that_globus_does_not_have(globus_of, globus_services, monkeypatch, home):
    monkeypatch.setenv("GLOBUS_SDK_ENVIRONMENT", "local")
    for name in ("AUTH", "COMPUTE", "TRANSFER"):
        monkeypatch.delenv(f"GLOBUS_SDK_SERVICE_URL_{name}")
    globus = globus_of(environ={"JUPYTER_DIAMOND_TOKENS": '{"funcx_service": "x"}'})
    assert (await told(globus, endpoints)).outcome == "refused"
