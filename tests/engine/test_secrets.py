"""What must reach no model and no other program is left out of all that they are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.engine.secrets import BLOT, Secrets

ENV = {
    "JUPYTER_TOKEN": "0123456789abcdef", "OPENAI_API_KEY": "key-of-mine-1", "HOME": "/home/ada", "SSH_KEY_PATH": "/k/id",
    "TOKEN_SHORT": "abc", "KEYBOARD": "german-layout", "MY_PASSWORD": "correcthorse", "PASSWORD_HINT": "two words",
}  # fmt: skip
SHAPES = [
    "sk-proj-abcdefghijklmnopqrstuv", "ghp_" + "a1" * 18, "hf_" + "b" * 34, "AKIA" + "ABCDEFGH12345678",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcdefghijklmno",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----",
]  # fmt: skip


def test_values_of_secret_variables_are_left_out_and_others_stay():
    text = "t=0123456789abcdef k=key-of-mine-1 p=correcthorse h=/home/ada german-layout abc two words"
    assert Secrets(ENV).blot(text) == f"t={BLOT} k={BLOT} p={BLOT} h=/home/ada german-layout abc two words"


def test_what_is_told_later_is_known_and_the_environment_is_read_anew():
    env = dict(ENV)
    secrets = Secrets(env)
    secrets.know("server-token-42", None, "", "short", "not a secret at all")
    env["NEW_TOKEN"] = "fresh-fresh-1"
    told = "server-token-42 fresh-fresh-1 short not a secret at all"
    assert secrets.blot(told) == f"{BLOT} {BLOT} short not a secret at all"


@pytest.mark.parametrize("shape", SHAPES)
def test_keys_of_known_services_are_told_by_their_shape(shape):
    assert Secrets({}).blot(f"a {shape} b") == f"a {BLOT} b"


def test_a_text_that_was_cut_within_a_secret_shows_no_end_of_it():
    assert Secrets(ENV).blot("6789abcdef and on") == f"{BLOT} and on"
    assert Secrets(ENV).blot("cdef and on") == "cdef and on", "too little of it to matter"
    assert "hunter2" not in Secrets({}).blot("https://ada:hunter2@host/x")


def test_json_is_searched_to_its_leaves():
    content = {"a": ["0123456789abcdef", {"key-of-mine-1": 1}], "n": 3, "t": ("correcthorse",)}
    assert Secrets(ENV).blot_all(content) == {"a": [BLOT, {BLOT: 1}], "n": 3, "t": [BLOT]}


@given(st.text(max_size=300))
def test_any_text_is_read_and_no_secret_stays(text):
    assert "0123456789abcdef" not in Secrets(ENV).blot(f"{text}0123456789abcdef{text}")
