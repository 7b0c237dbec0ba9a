"""The login at Globus: its state, its two ways, and where the browser comes back to."""

from __future__ import annotations

import html
import os
from typing import Any
from urllib.parse import urlsplit

from jupyter_server.auth.decorator import authorized
from jupyter_server.utils import url_path_join
from tornado import web

from jupyter_diamond.errors import DiamondError, InvalidRequest
from jupyter_diamond.globus.access import CALLBACK
from jupyter_diamond.model.login import Login

from .base import DiamondHandler
from .forms import CodeForm, LoginForm

HUB = "JUPYTERHUB_SERVICE_PREFIX"
_PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} - Diamond</title></head>
<body><h1>{title}</h1><p>{sentence}</p></body></html>
"""


class LoginHandler(DiamondHandler):
    """Who the server is to Globus."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """The state, without any prompt."""
        self.answer(await self.service.globus.login())

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Begin a login."""
        callback = self._callback() if self.form(LoginForm).way == "web" else None
        self.answer(await self.service.globus.begin(callback=callback))

    @web.authenticated
    @authorized
    async def delete(self) -> None:
        """Revoke and forget."""
        self.answer(await self.service.globus.logout())

    def _callback(self) -> str:
        """Our callback as the browser reaches it.

        A proxy in front of the server (a hub's) changes scheme, host and port, and only the browser knows them: it
        sends them as ``Origin``, which Jupyter has compared with the host by now.
        """
        origin = self.request.headers.get("Origin", "")
        public = self.service.globus.public_url
        if public:
            return f"{public.rstrip('/')}/{CALLBACK}"
        if urlsplit(origin).scheme in ("http", "https"):
            return origin + url_path_join(self.base_url, CALLBACK)
        if os.environ.get(HUB):
            raise InvalidRequest(
                "Where a browser reaches this server is not known here: begin the sign-in in JupyterLab's Diamond "
                "sidebar, or set c.DiamondGlobus.public_url."
            )
        return f"{self.request.protocol}://{self.request.host}{url_path_join(self.base_url, CALLBACK)}"


class CodeHandler(DiamondHandler):
    """The code of a login that was begun."""

    @web.authenticated
    @authorized
    async def post(self) -> None:
        """Hand it in."""
        self.answer(await self.service.globus.finish(self.form(CodeForm).code))


class CallbackHandler(DiamondHandler):
    """Where the browser comes back to: a page without any script, as it may show what others wrote."""

    async def prepare(self) -> None:  # type: ignore[override]  # as Jupyter's own APIHandler
        """Whatever becomes of it: no line of a log shall have the code."""
        self.request.uri = self.request.path
        await super().prepare()

    def check_xsrf_cookie(self) -> None:
        """Globus sends the browser here, so there is no cookie's twin; ``state`` ties the visit to what was begun."""

    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Finish the sign-in."""
        code, state, error, described = (
            self.get_query_argument(name, "") for name in ("code", "state", "error", "error_description")
        )
        if error:
            raise InvalidRequest(f"Globus did not log you in: {described or error}. Begin the sign-in again to retry.")
        if not code or not state:
            raise InvalidRequest("This page finishes a sign-in that was begun in JupyterLab; nothing was begun here.")
        login = await self.service.globus.finish(code, state=state)
        self._page(200, "You are logged in", _welcome(login))

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """A page here, too: nobody but a browser asks."""
        error = kwargs["exc_info"][1] if "exc_info" in kwargs else None
        if isinstance(error, DiamondError):
            self._page(error.http_status, "You are not logged in", error.message)
        elif status_code in (401, 403):
            sentence = "Open JupyterLab in this browser first, then begin the sign-in again."
            self._page(status_code, "You are not logged in to Jupyter here", sentence)
        else:
            self._page(status_code, "You are not logged in", "The Jupyter server's log says what happened.")

    def _page(self, status: int, title: str, sentence: str) -> None:
        self.set_status(status)
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        text = _PAGE.format(title=html.escape(title), sentence=html.escape(sentence))
        self.finish(text, set_content_type="text/html; charset=utf-8")


def _welcome(login: Login) -> str:
    who = f" as {login.identity}" if login.identity else ""
    return f"Globus knows you{who}. Close this page and go back to JupyterLab."


LOGIN_ROUTES: list[tuple[str, type[DiamondHandler]]] = [
    ("/login", LoginHandler),
    ("/login/code", CodeHandler),
    ("/login/callback", CallbackHandler),
]
