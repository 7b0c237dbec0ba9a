"""B30, the login: it ends at 3 a.m. or lacks a consent, and nothing is lost by that."""

import json
import time

import pytest

from jupyter_diamond.errors import GlobusProblem
from tests.globus.conftest import endpoints, globus_of, home, log_in, no_limit  # noqa: F401 - fixtures

pytestmark = pytest.mark.asyncio

COLLECTION = "5f0e8a9c-2f6b-4b8e-9a53-7c0f4f8b1b11"
CONSENT = f"urn:globus:auth:scope:transfer.api.globus.org:all[*https://auth.globus.org/scopes/{COLLECTION}/data_access]"


async def test_a_near_end_is_told_a_day_before(globus_of, globus_services):  # noqa: F811
    answer = globus_services.auth.issue()
    given = {"funcx_service": {**answer, "expires_at_seconds": int(time.time() + 20 * 3600)}}
    login = await globus_of(environ={"JUPYTER_DIAMOND_TOKENS": json.dumps(given)}).login()
    assert login.health == "signed_in"
    assert "renew them before that" in login.problem
    assert 19 * 3600 < login.expires_at.timestamp() - time.time() <= 20 * 3600


async def test_a_login_that_dies_at_night_is_a_state_and_a_new_one_goes_on(globus_of, globus_services):  # noqa: F811
    globus = globus_of()
    endpoint = globus_services.compute.add_endpoint("delta")
    await log_in(globus, globus_services)
    told = []
    globus.on_change(told.append)
    globus_services.auth.revoke()
    for _ in range(3):
        with pytest.raises(GlobusProblem) as caught:
            await globus.call(endpoints, sent=True)
        # nothing was taken and nothing is lost: who waits may ask again after a login
        assert (caught.value.outcome, caught.value.sent) == ("needs_login", False)
    assert globus_services.compute.tasks_of(endpoint) == []
    assert [login.health for login in told] == ["needs_login"]
    await log_in(globus, globus_services)
    assert await globus.call(endpoints) == ["delta"]
    assert [login.health for login in told] == ["needs_login", "signed_in"]


async def test_an_access_token_that_ends_midway_is_renewed_without_a_word(globus_of, globus_services):  # noqa: F811
    globus = globus_of()
    await log_in(globus, globus_services)
    told = []
    globus.on_change(told.append)
    for _ in range(3):
        globus_services.auth.expire()
        assert await globus.call(endpoints) == []
    assert told == []


async def test_a_missing_consent_names_itself_and_the_next_login_asks_for_it(globus_of, globus_services):  # noqa: F811
    globus = globus_of()
    await log_in(globus, globus_services)
    missing = {
        "code": "ConsentRequired",
        "message": "Missing required data_access consent",
        "required_scopes": [CONSENT],
    }
    globus_services.fault("GET /v2/endpoints", status=403, body=missing)
    with pytest.raises(GlobusProblem, match="wants your consent while asking for the files") as caught:
        await globus.call(endpoints, doing="asking for the files", sent=False)
    assert caught.value.outcome == "needs_login"
    assert (await globus.login()).health == "needs_login"
    assert await globus.call(endpoints) == []  # what needs no consent goes on
    assert (await log_in(globus, globus_services)).health == "signed_in"
    assert CONSENT.split("[")[1] in globus_services.auth.authorizations[-1]["scope"]
