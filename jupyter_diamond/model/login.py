"""Who we are to Globus, and what a user must do to be it."""

from __future__ import annotations

from typing import Literal

from .base import UtcTime, Value

LoginMode = Literal["web", "tokens", "service", "pasted", "cached", "none"]
"""Where the credentials come from, in the order in which they are looked for: a sign-in through the browser (``web``),
tokens from the environment, a service identity from the environment, a code that the user pasted, the login that the
Globus Compute SDK keeps (``cached``)."""
LoginWay = Literal["web", "code"]
"""Through the browser and back to our server, or by a code that Globus shows and the user pastes."""
LoginHealth = Literal["signed_in", "needs_login", "not_installed", "unreachable"]


class Login(Value):
    """The state of the login. ``problem`` is one sentence when it is not ``signed_in``, or will not be for much longer.

    ``identity`` is the user name, as ``ada@uni.edu``; None where nobody said. ``expires_at``: when a human must log in
    again at the latest, as far as is known. ``ways``: how a login can be begun here; none where the environment has it.
    """

    health: LoginHealth
    mode: LoginMode = "none"
    identity: str | None = None
    problem: str = ""
    expires_at: UtcTime | None = None
    ways: tuple[LoginWay, ...] = ()
    service_identity: bool = False
    """The server acts as an application of its own, not as the user: endpoints of the user are not its own."""
    tokens_path: str | None = None
    """Where the tokens lie; None where they are not in a file of ours."""


class LoginStart(Value):
    """A login that was begun: open ``url``, allow, and come back (``web``) or paste the code (``code``)."""

    way: LoginWay
    url: str
    needed_for: str = ""
