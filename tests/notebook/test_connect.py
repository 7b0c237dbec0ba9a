from __future__ import annotations

import json

import pytest

from jupyter_diamond.errors import ServerUnavailable
from jupyter_diamond.notebook.connect import ServerAddress, find_server


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def test_the_environment_wins_over_the_runtime_file(runtime):
    (runtime / "jpserver-77.json").write_text(json.dumps({"url": "http://127.0.0.1:1/", "token": "file"}))
    env = {"DIAMOND_SERVER_URL": "http://hub:8000/user/me", "DIAMOND_SERVER_TOKEN": "given", "JPY_PARENT_PID": "77"}
    assert find_server(env) == ServerAddress("http://hub:8000/user/me/", "given")


def test_the_runtime_file_of_the_parent_process_is_read(runtime):
    (runtime / "jpserver-77.json").write_text(json.dumps({"url": "http://127.0.0.1:8888/base/", "token": "abc"}))
    (runtime / "jpserver-78.json").write_text(json.dumps({"url": "http://127.0.0.1:9999/", "token": "other"}))
    found = find_server({"JPY_PARENT_PID": "77"})
    assert found == ServerAddress("http://127.0.0.1:8888/base/", "abc")
    assert found.api == "http://127.0.0.1:8888/base/jupyter_diamond/api/"


def test_another_running_server_is_never_taken(runtime):
    (runtime / "jpserver-78.json").write_text(json.dumps({"url": "http://127.0.0.1:9999/", "token": "other"}))
    with pytest.raises(ServerUnavailable, match=r"process 77.*stopped, or it runs on another machine") as caught:
        find_server({"JPY_PARENT_PID": "77"})
    assert caught.value.transient


def test_a_server_with_a_password_only_is_named(runtime):
    (runtime / "jpserver-77.json").write_text(json.dumps({"url": "http://127.0.0.1:8888/", "token": ""}))
    with pytest.raises(ServerUnavailable, match="password only"):
        find_server({"JPY_PARENT_PID": "77"})


def test_a_remote_kernel_is_told_what_to_set(runtime):
    with pytest.raises(ServerUnavailable, match="Set DIAMOND_SERVER_URL and DIAMOND_SERVER_TOKEN"):
        find_server({})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"token": "x"}', "null"])
def test_an_unreadable_runtime_file_is_one_sentence(runtime, text):
    (runtime / "jpserver-77.json").write_text(text)
    with pytest.raises(ServerUnavailable, match=r"cannot be read"):
        find_server({"JPY_PARENT_PID": "77"})


def test_an_address_that_is_not_http_is_refused():
    with pytest.raises(ServerUnavailable, match="not an http address"):
        find_server({"DIAMOND_SERVER_URL": "localhost:8888"})


def test_loopback_addresses_are_known_so_that_no_proxy_stands_between():
    assert ServerAddress("http://127.0.0.1:8888/", "").loopback
    assert ServerAddress("http://[::1]:8888/", "").loopback
    assert not ServerAddress("https://hub.example.org/user/me/", "").loopback


def test_the_host_for_sentences_holds_no_secret():
    assert "secret" not in ServerAddress("http://me:secret@hub:8000/user/me/?token=secret", "secret").host
