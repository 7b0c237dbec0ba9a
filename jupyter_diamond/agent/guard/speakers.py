"""Whose server this is, and who only looks in.

A Jupyter server that a person starts lets in who has its token or password: whoever that is has a terminal there, so
they own it. A server of a JupyterHub may be shared: the Hub then says who each user is, and the server belongs to the
one whom JUPYTERHUB_USER names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from jupyter_diamond.errors import PolicyBlocked
from jupyter_diamond.model.proposal import Speaker


def is_guest(username: str, env: Mapping[str, str] | None = None) -> bool:
    """Whether somebody whom the Jupyter server authenticated does not own it."""
    owner = (os.environ if env is None else env).get("JUPYTERHUB_USER", "")
    return bool(owner) and username != owner


def speaker(
    username: str, *, channel: str = "rest", agent: str | None = None, env: Mapping[str, str] | None = None
) -> Speaker:
    """Who speaks. Raises ValueError where the agent or the channel has no such name."""
    return Speaker(user=username, agent=agent, channel=channel, guest=is_guest(username, env))


def person_only(by: Speaker, what: str) -> str:
    """Why this speaker may not; empty for a person who owns the server."""
    if by.guest:
        return f"{by.user} is a guest of this server: guests look, and only its owner may {what}."
    if by.agent is not None:
        return f"{by.agent} is an agent: only a person may {what}."
    return ""


def refuse_guest(by: Speaker) -> None:
    """Raises PolicyBlocked for who may only look."""
    if by.guest:
        raise PolicyBlocked(f"{by.user} is a guest of this server: guests look, nothing else.")
