"""The user's endpoints: each with its machine and its site, and the machines that have none; whose endpoint a site has."""

from __future__ import annotations

import json
import uuid

import pytest

from jupyter_diamond.engine.endpoints import checks, endpoints
from jupyter_diamond.engine.link import SiteLinks
from jupyter_diamond.model.site import Site
from tests.live.globus import BOB

from .conftest import log_in

pytestmark = pytest.mark.asyncio
DELTA = {"hostname": "dt-login03.delta.ncsa.illinois.edu", "local_user": "ada", "endpoint_version": "4.19.0"}


def site(endpoint, **fields):
    return Site(name="delta", transport="globus-compute", endpoint=endpoint, scheduler="slurm", **fields)


@pytest.fixture
def globus(globus_of, globus_services):
    return globus_of(environ={"JUPYTER_DIAMOND_TOKENS": json.dumps(globus_services.auth.issue())})


async def tried(globus, found):
    links = SiteLinks((found,), globus, answer_s=20.0)
    try:
        return {check.name: check for check in await checks(links["delta"], globus)}
    finally:
        await links.close()


async def test_each_endpoint_has_its_machine_and_its_site(globus, globus_services):
    delta = globus_services.compute.add_endpoint("delta", metadata=DELTA)
    other = globus_services.compute.add_endpoint("lab", metadata={"hostname": "lab.uni.edu"})
    globus_services.compute.add_endpoint("hers", owner=BOB)
    globus_services.compute.set_online(other, online=False)
    found = await endpoints(globus, [site(delta.id)])
    rows = {row.id: row for row in found.endpoints}
    assert set(rows) == {delta.id, other.id}
    assert (rows[delta.id].machine, rows[delta.id].site, rows[delta.id].online) == ("delta", "delta", True)
    assert (rows[other.id].machine, rows[other.id].site, rows[other.id].online) == (None, None, False)
    assert "delta" not in found.without
    assert {"anvil", "vista"} <= set(found.without)


async def test_without_a_login_nothing_is_known_and_it_says_so(globus_of):
    found = await endpoints(globus_of(), ())
    assert (found.endpoints, found.without) == ((), ())
    assert "log in" in found.problem


async def test_a_list_that_is_none_is_a_problem_and_no_endpoint(globus, globus_services):
    globus_services.fault("GET /v2/endpoints", body={"detail": "no list"}, status=200)
    found = await endpoints(globus, ())
    assert found.endpoints == ()
    assert "without what belongs into it" in found.problem


async def test_an_endpoint_that_works_says_who_answers_with_what(globus, globus_services):
    delta = globus_services.compute.add_endpoint("delta", metadata=DELTA)
    found = await tried(globus, site(delta.id))
    assert [check.answer for check in found.values()] == ["ok", "ok", "ok"], found
    assert "is yours and online" in found["endpoint"].sentence
    assert "there; Python " in found["agent"].sentence
    assert "in use" in found["threads"].sentence


async def test_an_endpoint_of_somebody_else_is_told_apart(globus, globus_services):
    hers = globus_services.compute.add_endpoint("hers", owner=BOB, public=True)
    (check,) = (await tried(globus, site(hers.id))).values()
    assert check.answer == "fail"
    assert "its owner's tasks only" in check.sentence


async def test_an_endpoint_that_is_offline_says_what_to_type_where(globus, globus_services):
    delta = globus_services.compute.add_endpoint("jupyter-diamond", metadata=DELTA)
    globus_services.compute.set_online(delta, online=False)
    (check,) = (await tried(globus, site(delta.id))).values()
    assert check.answer == "fail"
    assert "dt-login03.delta.ncsa.illinois.edu" in check.sentence
    assert "sh ~/.globus_compute/jupyter-diamond/start.sh" in check.sentence


async def test_an_endpoint_that_is_not_there_is_one_sentence(globus):
    (check,) = (await tried(globus, site(uuid.uuid4()))).values()
    assert check.answer == "fail"


async def test_one_for_many_users_and_an_old_one_are_warned_of(globus, globus_services):
    many = globus_services.compute.add_endpoint("many", metadata={**DELTA, "multi_user": True})
    assert (await tried(globus, site(many.id)))["endpoint"].answer == "warn"
    old = globus_services.compute.add_endpoint("old", metadata={**DELTA, "endpoint_version": "4.2.0"})
    assert "up to date" in (await tried(globus, site(old.id)))["endpoint"].sentence


async def test_a_login_that_ended_is_the_only_thing_that_is_said(globus_of, globus_services):
    globus = globus_of()
    await log_in(globus, globus_services)
    delta = globus_services.compute.add_endpoint("delta", metadata=DELTA)
    globus_services.auth.revoke()
    (check,) = (await tried(globus, site(delta.id))).values()
    assert check.answer == "fail"
    assert "log in" in check.sentence
