"""The client against a real HTTP server: typed answers, own errors, restarts."""

from __future__ import annotations

import json
import threading
import time

import pytest

from jupyter_diamond.errors import (
    Conflict,
    Infeasible,
    NotFound,
    ResultUnavailable,
    ServerUnavailable,
)
from jupyter_diamond.model.envelope import Envelope, Span
from jupyter_diamond.model.states import State
from jupyter_diamond.model.task import KernelPython, TaskRequest
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.connect import ServerAddress, find_server

from .rest_server import TOKEN, RestServer


def request(name: str = "fit", token: str = "a" * 32, digest: str = "d", **more) -> TaskRequest:
    return TaskRequest(
        client_token=token, name=name, source="x = 1", digest=digest, bundle_sha256="s",
        python=KernelPython(executable="python", version=(3, 11, 7)), **more,
    )  # fmt: skip


def test_every_answer_is_typed(client, rest):
    submitted = client.submit(request(outputs=("x",)), b"tar")
    task_id = submitted.task.id
    assert rest.pool.bundles[task_id] == b"tar"
    assert not submitted.attached
    rest.pool.start("fit")
    rest.pool.log("fit", "hello\n")
    rest.pool.finish("fit", {"x": [1, 2]})
    assert client.status().newest_event == len(rest.pool.events)
    assert [site.site for site in client.sites().sites] == ["delta", "vista"]
    assert client.refresh("delta").id == 1
    assert client.history("delta").series[0].free == (6, None)
    assert [site.n for site in client.forecasts().sites] == [9, 0]
    assert [row.actual for row in client.charges(30, tasks=True).accounts] == [0.5, None]
    assert client.interpreter("delta", ("numpy",)).missing == ()
    assert client.plan(Envelope()).choice.partition == "gpuA100x4"
    assert client.task("fit") == client.task(task_id)
    assert client.tasks(phase="ended")[0].state is State.COMPLETED
    assert client.tasks(phase="active") == ()
    assert client.decision("fit").chosen == 0
    assert client.task_events("fit").events[-1].type == "attempt.terminal"
    assert client.logs("fit").text == "hello\n"
    assert client.logs("fit", tail=3).text == "lo\n"
    assert client.result("fit").manifest.values[0].name == "x"
    assert client.file("fit", "result/x.json") == b"[1, 2]"
    assert client.events(0).cursor == len(rest.pool.events)
    assert client.events(-1).events == ()


def test_errors_come_back_as_their_own_class(client, rest):
    with pytest.raises(NotFound, match="no task named 'nope'"):
        client.task("nope")
    with pytest.raises(Infeasible, match="No site has a node"):
        client.submit(request(envelope=Envelope(cpus=Span.exactly(500))), b"")
    client.submit(request(), b"")
    with pytest.raises(ResultUnavailable, match="no result yet"):
        client.result("fit")
    with pytest.raises(Conflict, match="--again"):
        client.submit(request(token="b" * 32, digest="other"), b"")


def test_a_submission_that_is_repeated_gives_the_same_task(client):
    first = client.submit(request(), b"tar")
    again = client.submit(request(), b"tar")
    assert first.task.id == again.task.id


def test_a_name_that_looks_like_a_path_stays_one_segment(client):
    with pytest.raises(NotFound):
        client.task("../status")


def test_a_restarted_server_on_another_port_is_found_again(rest, tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    file = tmp_path / "jpserver-77.json"
    file.write_text(json.dumps({"url": rest.url, "token": TOKEN}))
    client = DiamondClient(lambda: find_server({"JPY_PARENT_PID": "77"}))
    client.submit(request(), b"tar")
    rest.stop()
    second = RestServer(rest.pool).start()
    try:
        file.write_text(json.dumps({"url": second.url, "token": TOKEN}))
        assert client.task("fit").name == "fit"
    finally:
        client.close()
        second.stop()


def test_a_connection_that_breaks_is_tried_again_with_the_same_token(client, rest):
    client.status()
    rest.stop()
    back = threading.Timer(0.5, rest.start)
    back.start()
    assert client.submit(request(), b"tar").task.name == "fit"
    back.join()
    assert len(rest.pool.tasks) == 1


def test_a_server_that_stays_away_is_one_sentence(client, rest):
    rest.stop()
    with pytest.raises(ServerUnavailable, match=r"cannot be reached. Tasks at their sites are not affected") as caught:
        client.status()
    assert caught.value.transient


def test_a_wrong_token_is_named(rest):
    with (
        DiamondClient(lambda: ServerAddress(rest.url, "wrong")) as client,
        pytest.raises(ServerUnavailable, match="does not accept this kernel's token"),
    ):
        client.status()


def test_a_server_without_our_extension_is_named(rest):
    elsewhere = ServerAddress(rest.url.replace("/user/me/", "/else/"), TOKEN)
    with (
        DiamondClient(lambda: elsewhere) as client,
        pytest.raises(ServerUnavailable, match="runs without jupyter_diamond"),
    ):
        client.status()


def test_a_proxy_of_the_login_node_is_not_used_for_loopback(rest, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with DiamondClient(lambda: ServerAddress(rest.url, TOKEN)) as client:
        assert client.status().version


def test_many_threads_share_one_client(client):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(client.status().version)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["0.1.0"] * 12


def test_a_closed_client_opens_nothing_anew_and_its_last_answer_closes_the_connections(client, rest):
    """A thread that waits for events while the session ends must neither be cut off nor leave a socket behind."""
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(client.events(0, wait_s=20).cursor))
    client.status()
    line = client._line
    thread.start()
    deadline = time.monotonic() + 10
    while line.users == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    client.close()
    assert not line.http.is_closed
    with pytest.raises(ServerUnavailable, match="was closed"):
        client.status()
    client_of_another_kernel = DiamondClient(lambda: ServerAddress(rest.url, TOKEN))
    with client_of_another_kernel:
        client_of_another_kernel.submit(request(), b"tar")
    thread.join(10)
    assert answers == [len(rest.pool.events)]
    assert line.http.is_closed
    assert client._line is None
