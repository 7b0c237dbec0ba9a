"""The login in words, the same on every face."""

from __future__ import annotations

import html

from jupyter_diamond.model.login import Login, LoginHealth, LoginMode, LoginStart

HEALTH: dict[LoginHealth, str] = {
    "signed_in": "logged in",
    "needs_login": "not logged in",
    "not_installed": "not installed",
    "unreachable": "not known: Globus did not answer",
}
MODE: dict[LoginMode, str] = {
    "web": "a sign-in through the browser",
    "tokens": "tokens in JUPYTER_DIAMOND_TOKENS",
    "service": "a service identity in GLOBUS_COMPUTE_CLIENT_ID and GLOBUS_COMPUTE_CLIENT_SECRET",
    "pasted": "a pasted code, through your own application",
    "cached": "the login that the Globus Compute SDK keeps",
    "none": "",
}
PAIRS = (
    (
        "GLOBUS_CLIENT_ID, GLOBUS_CLIENT_SECRET",
        "an application for signing in through the browser: you stay who you are (PORTAL_CLIENT_* do as well)",
    ),
    (
        "GLOBUS_COMPUTE_CLIENT_ID, GLOBUS_COMPUTE_CLIENT_SECRET",
        "the application itself is who asks: it owns none of your endpoints, and they refuse it",
    ),
)
"""Row 68: two pairs with names that are easily mixed up."""
NOT_YOU = "This is an application and not you: it can use its own endpoints only."


def login_facts(login: Login) -> tuple[tuple[str, str], ...]:
    """Names and values; an empty value is nothing to show."""
    ends = "" if login.expires_at is None else f"{login.expires_at.astimezone():%-d %b %Y %H:%M}"
    renews = (
        "renews itself" if login.health == "signed_in" and login.mode in ("web", "service", "pasted", "cached") else ""
    )
    return (
        ("Globus", HEALTH[login.health]), ("as", login.identity or ""), ("by", MODE[login.mode]),
        ("until", ends or renews), ("tokens", login.tokens_path or ""),
        ("note", NOT_YOU if login.service_identity else ""), ("problem", login.problem),
    )  # fmt: skip


def login_text(login: Login) -> str:
    """The facts, a line each."""
    listed = [(name, value) for name, value in login_facts(login) if value]
    return "\n".join(f"{name:<8} {value}" for name, value in listed)


def left_text(before: Login, after: Login) -> str:
    """What a logout did."""
    lines = ["The Globus login is revoked and its tokens are deleted."]
    if before.mode == "cached":
        lines.append(
            f"It was the Globus Compute SDK's ({before.tokens_path}): programs and endpoints that use the same store "
            "are logged out, too."
        )
    if after.health == "signed_in":
        lines.append(f"What counts now is {MODE[after.mode]}.")
    elif after.problem.startswith("Globus could not"):
        lines = [after.problem]
    return " ".join(lines)


class LoginLink:
    """A link to open, as a notebook shows it."""

    def __init__(self, start: LoginStart) -> None:
        self.start = start

    @property
    def _what(self) -> str:
        then = "come back here" if self.start.way == "web" else "copy the code that its page shows, and paste it below"
        why = f"{self.start.needed_for.rstrip('.')}. " if self.start.needed_for else ""
        return f"{why}Open this link, allow the access, {then}:"

    def __repr__(self) -> str:
        return f"{self._what}\n{self.start.url}"

    def _repr_html_(self) -> str:
        url = html.escape(self.start.url, quote=True)
        link = f'<a href="{url}" target="_blank" rel="noopener noreferrer">Log in to Globus</a>'
        return f"<p>{html.escape(self._what)}</p><p>{link}</p>" if url.startswith("http") else html.escape(repr(self))
