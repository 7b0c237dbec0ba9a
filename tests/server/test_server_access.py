"""Who may ask: every verb of every class checks the token and the authorizer itself."""

from __future__ import annotations

import json

import pytest
from jupyter_server.auth.authorizer import Authorizer
from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_diamond.server.base import DiamondHandler
from jupyter_diamond.server.handlers import ROUTES

VERBS = [verb.lower() for verb in web.RequestHandler.SUPPORTED_METHODS if verb != "OPTIONS"]
EXAMPLES = {
    "sites/([^/]+)/interpreter": "sites/alpha/interpreter",
    "tasks/([^/]+)/files/(.+)": "tasks/fit/files/job.out",
    "continuations/((?!wait$|ack$)[^/]+)": "continuations/wish-00000001",
    r"openapi\.yaml": "openapi.yaml",
}


def example(route):
    path = route.removeprefix("/jupyter_diamond/api/")
    return EXAMPLES.get(path, path.replace("([^/]+)", "fit"))


SERVED = [(verb, route, handler) for route, handler in ROUTES for verb in VERBS if verb in vars(handler)]
EACH_VERB = pytest.mark.parametrize(("verb", "handler"), [(verb, handler) for verb, _, handler in SERVED])
EACH_PATH = pytest.mark.parametrize(("verb", "path"), [(verb, example(route)) for verb, route, _ in SERVED])


def test_every_route_has_a_verb():
    assert {handler for _, _, handler in SERVED} == {handler for _, handler in ROUTES}
    assert len({handler for _, handler in ROUTES}) == len(ROUTES)


@EACH_VERB
def test_each_verb_is_decorated_in_its_own_class(verb, handler):
    """``authorized`` remembers the first resource it saw, so an inherited method would check another's (facts)."""

    async def plain(self):
        pass

    method = vars(handler)[verb]
    assert method.__code__ is web.authenticated(plain).__code__
    assert method.__wrapped__.__code__ is authorized(plain).__code__
    assert handler.auth_resource == "diamond"


def test_no_verb_is_inherited_from_our_base():
    unimplemented = web.RequestHandler._unimplemented_method
    for verb in VERBS:
        assert getattr(DiamondHandler, verb) in (unimplemented, getattr(web.RequestHandler, verb))


@EACH_PATH
async def test_no_token_no_answer(fetch_raw, service, verb, path):
    before = service.store.newest_event()
    got = await fetch_raw(path, method=verb.upper(), token=False)
    assert got.code == 403
    if path == "login/callback":  # who asks there is a browser
        assert got.headers["Content-Type"].startswith("text/html")
    else:
        assert json.loads(got.body)["code"] == "http_403"
    assert service.store.newest_event() == before


@EACH_PATH
async def test_the_authorizer_is_asked(ask, started, verb, path):
    asked = []

    class Deny(Authorizer):
        def is_authorized(self, handler, user, action, resource):
            asked.append((action, resource))
            return False

    started.serverapp.web_app.settings["authorizer"] = Deny(parent=started.serverapp)
    got = await ask(verb.upper(), path, good=False)
    assert got.code == 403
    assert asked == [("write" if verb in ("post", "put", "delete") else "read", "diamond")]


async def test_a_page_of_another_origin_cannot_post(fetch_raw, submit, service):
    await submit()
    headers = {"Origin": "https://evil.example", "Cookie": "username-x=1"}
    got = await fetch_raw("tasks/fit/cancel", method="POST", headers=headers, token=False)
    assert got.code in (403, 404)
    assert service.store.task("fit").cancel_requested_by is None
