"""A real Jupyter server with the extension over a rehearsed service."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest, MockResponse
from tornado.httpclient import HTTPClientError

from jupyter_diamond.server.app import DiamondApp
from jupyter_diamond.server.handlers import OPENAPI
from jupyter_diamond.settings import DiamondStore
from tests.server.rehearsal import RehearsalService, a_request, multipart


@pytest.fixture
def jp_server_config(tmp_path, monkeypatch, make_service):
    monkeypatch.setattr(DiamondApp, "make_service", make_service)
    return {
        "ServerApp": {
            "jpserver_extensions": {"jupyter_diamond": True, "jupyter_server_terminals": False},
            "allow_unauthenticated_access": False,
            "reraise_server_extension_failures": True,
        },
        "DiamondStore": {"path": str(tmp_path / "diamond" / "store.sqlite")},
    }


@pytest.fixture
def make_service(request):
    """How the extension makes its service; a test may give another way with ``indirect``."""

    def make(app):
        return RehearsalService(DiamondStore(parent=app).path)

    return getattr(request, "param", make)


@pytest.fixture
def extension(jp_serverapp):
    return next(iter(jp_serverapp.extension_manager.extension_apps["jupyter_diamond"]))


@pytest.fixture
def started(extension, jp_serverapp, jp_asyncio_loop):
    """pytest-jupyter runs no start hooks."""
    jp_asyncio_loop.run_until_complete(jp_serverapp.extension_manager.start_all_extensions())
    return extension


@pytest.fixture
def service(started):
    return started.service


@pytest.fixture(scope="session")
def contract():
    return OpenAPI.from_file_path(str(OPENAPI))


@pytest.fixture
def ask(jp_fetch, contract):
    """Ask the API; the request (when it is meant to be good) and every answer are checked against openapi.yaml."""

    async def ask(method, path, *, params=None, form=None, body=None, headers=None, good=True):
        url = path.split("/")
        if form is not None:
            body, headers = json.dumps(form).encode(), {"Content-Type": "application/json", **(headers or {})}
        if method in ("POST", "PUT") and body is None:
            body = b""
        try:
            got = await jp_fetch(
                "jupyter_diamond", "api", *url, method=method, params=params or {}, body=body, headers=headers or {}
            )
        except HTTPClientError as refused:
            got = refused.response
        content_type = got.headers["Content-Type"].partition(";")[0]
        request = MockRequest(
            "http://localhost",
            method,
            f"/jupyter_diamond/api/{path}",
            args={name: str(value) for name, value in (params or {}).items()},
            data=None if body is None else body,
            headers=dict(headers or {}),
            content_type=(headers or {}).get("Content-Type", "application/json"),
        )
        if good:
            contract.validate_request(request)
        contract.validate_response(request, MockResponse(got.body, got.code, dict(got.headers), content_type))
        assert got.headers["X-Content-Type-Options"] == "nosniff"
        parsed = json.loads(got.body) if content_type == "application/json" else None
        return SimpleNamespace(code=got.code, json=parsed, body=got.body, headers=got.headers, type=content_type)

    return ask


@pytest.fixture
def fetch_raw(http_server_client, jp_base_url, jp_auth_header):
    """Fetch a path of the API exactly as it is written; ``token=False`` leaves the token out."""

    async def fetch(path, *, method="GET", headers=None, token=True):
        return await http_server_client.fetch(
            f"{jp_base_url}jupyter_diamond/api/{path}",
            method=method,
            body=b"{}" if method in ("POST", "PUT") else None,
            headers={**(jp_auth_header if token else {}), **(headers or {})},
            raise_error=False,
        )

    return fetch


@pytest.fixture
def submit(ask):
    async def submit(request=None, bundle=b"\x00tar\r\n--\xff", **how):
        text = (request or a_request()).model_dump_json().encode()
        body, headers = multipart(
            ("request", None, "application/json", text), ("bundle", "bundle.tar", "application/x-tar", bundle)
        )
        return await ask("POST", "tasks", body=body, headers=headers, **how)

    return submit
