"""What only the user can give: a consent, a fresh login, another factor. It is asked for once, with a link, and goes on."""

import asyncio
import json

import pytest
import pytest_asyncio

from jupyter_diamond.model.data import Location
from tests.live.globus import ALICE, COMPUTE

from .test_globus_faults import until

pytestmark = pytest.mark.asyncio

THERE = {"x": b"x" * 3000}
HOUR = 3600


async def log_in(between):
    """As the user did it before: open the link, allow, paste the code."""
    start = await between.globus.begin()
    await between.globus.finish(between.services.auth.approve(start.url).code)


@pytest.fixture
def person(between_of, globus_services):
    """Somebody who logs in by hand, and has allowed Compute and Transfer already."""
    between = between_of(environ={})
    between.write(**{"in/x": "x" * 3000})
    return between


async def asked(between, moving):
    """Until the user is asked; the link."""
    await until(lambda: moving.done() or "needs_you" in between.states)
    assert not moving.done(), moving.result()
    state, sentence = between.said[-1]
    assert (state, sentence.endswith(".")) == ("needs_you", True)
    return between.links[-1]


async def test_without_any_login_it_asks_for_one_and_goes_on(person):
    moving = asyncio.create_task(person.move())
    link = await asked(person, moving)
    assert "Nobody is logged in to Globus" in person.said[-1][1]
    await person.globus.finish(person.services.auth.approve(link).code)
    await asyncio.wait_for(moving, 20)
    assert person.found() == THERE
    assert len(person.services.auth.authorizations) == 1, "one login is enough"


@pytest_asyncio.fixture
async def known(person):
    """The same, logged in for both services."""
    await log_in(person)
    needs = await person.mover.preconditions(*ends(person))
    await person.globus.finish(person.services.auth.approve(needs[0].link).code)
    assert await person.mover.preconditions(*ends(person)) == ()
    return person


def ends(between):
    move = between.made(between.transfer())
    return move.source, move.destination


@pytest.mark.parametrize("end", ["a", "b"])
async def test_a_consent_that_is_missing_is_asked_for_with_its_scope_and_goes_on(known, end):
    collection = getattr(known, end)
    collection.data_access = True
    moving = asyncio.create_task(known.move())
    link = await asked(known, moving)
    assert f"of {collection.name}" in known.said[-1][1]
    assert "consent" in known.said[-1][1]
    known.services.auth.approve(link)
    assert collection.id in known.services.auth.authorizations[-1]["scope"]
    assert known.submitted == []
    await known.globus.finish(known.services.auth.approve(link).code)
    await asyncio.wait_for(moving, 20)
    assert known.found() == THERE
    assert len(known.submitted) == 1


async def test_all_that_is_missing_is_told_at_plan_time_and_given_by_one_login(known):
    """B30: at plan time, not at three in the morning; and not one login for each collection."""
    known.a.data_access = known.b.data_access = True
    needs = await known.mover.preconditions(*ends(known))
    assert [(need.kind, need.blocks) for need in needs] == [("login", True)] * 2
    assert {"Site A", "Site B"} == {name for name in ("Site A", "Site B") for need in needs if name in need.sentence}
    assert needs[0].link == needs[1].link
    await known.globus.finish(known.services.auth.approve(needs[0].link).code)
    assert await known.mover.preconditions(*ends(known)) == ()
    await known.move()
    assert (known.found(), "needs_you" in known.states) == (THERE, False)
    assert known.services.requests("POST /v0.10/transfer")


async def test_no_consent_is_asked_for_where_none_is_wanted(known):
    """Some collections do not know the scope, and the login would fail with it."""
    await known.move()
    scopes = [asked["scope"] for asked in known.services.auth.authorizations]
    assert not any("data_access" in scope for scope in scopes)


@pytest.mark.parametrize(("demand", "sent"), [
    ({"ha_timeout": HOUR}, {"prompt": "login", "session_required_identities": ALICE.id}),
    ({"mfa": True}, {"session_required_mfa": "True"}),
    ({"policy": "44444444-4444-4444-8444-444444444444"},
     {"session_required_policies": "44444444-4444-4444-8444-444444444444"}),
], ids=["session", "mfa", "policy"])  # fmt: skip
async def test_a_login_that_the_site_does_not_accept_any_more_is_asked_for_again(known, demand, sent):
    vars(known.b).update(demand)
    known.services.auth.age(2 * HOUR)
    moving = asyncio.create_task(known.move())
    link = await asked(known, moving)
    assert "of Site B" in known.said[-1][1]
    code = known.services.auth.approve(link).code
    assert sent.items() <= known.services.auth.authorizations[-1].items()
    await known.globus.finish(code)
    await asyncio.wait_for(moving, 20)
    assert known.found() == THERE


async def test_a_collection_that_wants_fresh_logins_is_warned_of(known):
    known.b.ha_timeout = HOUR
    known.mover.calls._known.clear()  # it is asked again after an hour
    (need,) = await known.mover.preconditions(*ends(known))
    assert (need.kind, need.blocks) == ("session", False)
    assert "Site B wants a fresh login every 60 min" in need.sentence


async def test_what_stands_in_the_way_is_told_at_plan_time(known):
    source, destination = ends(known)
    gone = Location(kind="globus", collection=known.a.id, path="/gone")
    missing = type(source)(gone, "/gone", collection=known.a.id, collection_path="/gone")
    nowhere = type(source)(gone, "/gone")
    unknown = type(source)(gone, "/gone", collection="00000000-0000-4000-8000-000000000000", collection_path="/")
    known.b.entity_type, known.b.connected = "GCP_mapped_collection", False
    for source, kinds in ((missing, ["missing"]), (nowhere, ["no_way"]), (unknown, ["no_way"])):
        needs = await known.mover.preconditions(source, destination)
        assert [need.kind for need in needs][: len(kinds)] == kinds
        assert needs[-1].kind == "offline"
    known.b.connected, known.a.denied = True, ("in",)
    known.mover.calls._known.clear()
    (need,) = await known.mover.preconditions(*ends(known))
    assert (need.kind, need.blocks) == ("permission", True)
    assert known.submitted == []


async def test_a_task_that_was_suspended_asks_and_goes_on_by_itself(known):
    known.a.stall = "EXPIRED_CREDENTIALS"
    moving = asyncio.create_task(known.move())
    link = await asked(known, moving)
    assert link == f"https://app.globus.org/activity/{known.submitted[0].id}"
    known.b.rate = 15_000
    known.a.stall = None
    await asyncio.wait_for(moving, 20)
    assert (known.found(), len(known.submitted)) == (THERE, 1)


async def test_a_task_that_stays_suspended_is_replaced_once_the_login_is_good(known):
    """Globus: it will not go on by itself. What had arrived is not sent again."""
    known.b.resumes = False
    known.b.stall = "EXPIRED_CREDENTIALS"
    known.b.ha_timeout = HOUR
    moving = asyncio.create_task(known.move())
    await until(lambda: known.submitted and known.submitted[0].document["status"] == "INACTIVE")
    known.services.auth.age(2 * HOUR)
    await until(lambda: any("of Site B" in sentence for _, sentence in known.said))
    known.b.stall = None
    await known.globus.finish(known.services.auth.approve(known.links[-1]).code)
    moved = await asyncio.wait_for(moving, 20)
    first, second = known.submitted
    assert (first.document["status"], second.document["status"]) == ("FAILED", "SUCCEEDED")
    assert known.found() == THERE
    assert known.kept["native_id"] == second.id
    assert any("submitted anew" in line for line in moved.log)


async def test_a_login_that_is_revoked_meanwhile_is_asked_for_and_the_task_goes_on(known):
    known.b.rate = 3000
    moving = asyncio.create_task(known.move())
    await until(lambda: known.submitted and known.told)
    known.services.auth.revoke()
    link = await asked(known, moving)
    await known.globus.finish(known.services.auth.approve(link).code)
    await asyncio.wait_for(moving, 20)
    assert (known.found(), len(known.submitted)) == (THERE, 1)


async def test_tokens_of_the_environment_are_told_to_be_renewed_and_no_link_is_given(between_of, globus_services):
    tokens = globus_services.auth.issue([COMPUTE])
    between = between_of(environ={"JUPYTER_DIAMOND_TOKENS": json.dumps(tokens)})
    between.write(**{"in/x": "x" * 3000})
    moving = asyncio.create_task(between.move())
    assert await asked(between, moving) == ""
    assert "JUPYTER_DIAMOND_TOKENS holds no token of transfer.api.globus.org" in between.said[-1][1]
    moving.cancel()


async def test_a_service_identity_needs_no_human(between_of, globus_services):
    client = globus_services.auth.add_client()
    between = between_of(environ={"GLOBUS_COMPUTE_CLIENT_ID": client.id, "GLOBUS_COMPUTE_CLIENT_SECRET": client.secret})
    between.write(**{"in/x": "x" * 3000})
    await asyncio.wait_for(between.move(), 20)
    assert between.found() == THERE
