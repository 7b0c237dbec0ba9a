"""Whose server it is."""

import pytest

from jupyter_diamond.agent.guard.speakers import is_guest, person_only, refuse_guest, speaker
from jupyter_diamond.errors import PolicyBlocked


@pytest.mark.parametrize(("username", "env", "guest"), [
    ("3f1c9a", {}, False),  # whoever has the token of a server of one's own
    ("ada", {"JUPYTERHUB_USER": "ada"}, False),
    ("eve", {"JUPYTERHUB_USER": "ada"}, True),
    ("ADA", {"JUPYTERHUB_USER": "ada"}, True),
    ("", {"JUPYTERHUB_USER": "ada"}, True),
    ("eve", {"JUPYTERHUB_USER": ""}, False),
])  # fmt: skip
def test_on_a_hub_only_the_one_it_was_started_for_owns_it(username, env, guest):
    assert is_guest(username, env) is guest
    assert speaker(username, env=env).guest is guest


def test_the_environment_of_the_server_is_asked(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    assert speaker("eve").guest
    assert not speaker("ada", channel="chat:one", agent="Diamond").guest


def test_who_may_not_is_told_why():
    assert person_only(speaker("ada", env={}), "approve") == ""
    assert "only a person may approve" in person_only(speaker("ada", agent="Diamond", env={}), "approve")
    eve = speaker("eve", env={"JUPYTERHUB_USER": "ada"})
    assert "only its owner may approve" in person_only(eve, "approve")
    with pytest.raises(PolicyBlocked, match="guests look, nothing else"):
        refuse_guest(eve)
