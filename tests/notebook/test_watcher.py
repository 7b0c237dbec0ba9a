"""Values, outages and ends as a kernel follows them, against a real HTTP server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable

import pytest

from jupyter_diamond.errors import RemoteError, ResultUnavailable
from jupyter_diamond.model.manifest import CellError
from jupyter_diamond.model.states import State
from jupyter_diamond.notebook.binding import Namespace
from jupyter_diamond.notebook.handle import TaskHandle
from jupyter_diamond.notebook.session import Session

from .rest_server import TOKEN, RestServer
from .test_client import request


class PlainShell:
    """What a Session needs of a shell that has no kernel."""

    def __init__(self) -> None:
        self.user_ns: dict = {}
        self.display_pub = None


@pytest.fixture
def session(client):
    made = Session(PlainShell(), client)
    yield made
    made.watcher.stop()


def until(check: Callable[[], object], deadline_s: float = 8.0) -> object:
    limit = time.monotonic() + deadline_s
    while time.monotonic() < limit:
        found = check()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError("it did not happen in time")


def submit(
    session: Session, name: str = "fit", token: str = "a" * 32, outputs: tuple[str, ...] = ("model",)
) -> TaskHandle:
    expected = session.namespace.expect(outputs)
    submitted = session.client.submit(request(name, token, outputs=outputs), b"tar")
    session.follow(submitted.task, expected=expected)
    return TaskHandle(session, submitted.task)


def test_a_value_is_bound_when_its_result_is_ready(session, rest):
    fit = submit(session, outputs=("model", "scores"))
    rest.pool.start("fit")
    rest.pool.return_result("fit", {"model": [1, 2], "scores": {"r2": 0.9}})
    assert fit.result(timeout=5) == {"model": [1, 2], "scores": {"r2": 0.9}}
    assert session.shell.user_ns == {"model": [1, 2], "scores": {"r2": 0.9}}
    assert not fit.wait(0)
    rest.pool.end("fit")
    assert fit.wait(5)
    assert fit.state is State.COMPLETED


def test_one_output_is_the_result_itself(session, rest):
    fit = submit(session)
    rest.pool.finish("fit", {"model": 7})
    assert fit.result(timeout=5) == 7
    assert fit.result("model") == 7


def test_what_the_user_bound_since_is_kept_and_said(session, rest):
    fit = submit(session)
    session.shell.user_ns["model"] = "mine"
    rest.pool.finish("fit", {"model": 7})
    assert fit.result(timeout=5) == 7
    assert session.shell.user_ns["model"] == "mine"
    assert "kept your newer `model`" in fit._following.view()["note"]
    assert fit._following.view()["bound"] == ""


def test_the_value_held_at_submit_is_replaced(session, rest):
    session.shell.user_ns["model"] = old = [0]
    submit(session)
    rest.pool.finish("fit", {"model": 7})
    until(lambda: session.shell.user_ns["model"] is not old)
    assert session.shell.user_ns["model"] == 7


def test_a_later_submission_wins_whatever_the_order_of_their_ends():
    names: dict = {}
    namespace = Namespace(names)
    first, second = namespace.expect(("model",)), namespace.expect(("model",))
    first.bind("model", ["first"])
    second.bind("model", ["second"])
    assert names["model"] == ["second"]
    names.clear()
    third, fourth = namespace.expect(("model",)), namespace.expect(("model",))
    fourth.bind("model", ["fourth"])
    third.bind("model", ["third"])
    assert names["model"] == ["fourth"]
    assert third.kept == ("model",)


def test_a_failed_cell_raises_with_the_users_own_lines(session, rest):
    fit = submit(session)
    rest.pool.start("fit")
    error = CellError(
        ename="NameError", evalue="name 'y' is not defined", traceback=("  In[4], line 1", "    model = y")
    )
    rest.pool.finish("fit", error=error)
    with pytest.raises(RemoteError, match="NameError") as caught:
        fit.result(timeout=5)
    assert "    model = y" in str(caught.value)
    assert caught.value._render_traceback_()[:2] == ["  In[4], line 1", "    model = y"]
    assert session.shell.user_ns == {}


def test_a_task_that_ends_without_a_result_says_so(session, rest):
    fit = submit(session)
    rest.pool.end("fit", State.OUT_OF_MEMORY, cause="Killed for memory: asked 2 GB.", next="Ask for more: --memory 4G.")
    with pytest.raises(ResultUnavailable, match=r"Killed for memory: asked 2 GB. Ask for more"):
        fit.result(timeout=5)


def test_a_value_that_did_not_come_back_is_named_and_the_others_are_there(session, rest):
    fit = submit(session, outputs=("model", "lock"))
    rest.pool.finish("fit", {"model": 7}, missing={"lock": "a lock cannot be pickled."})
    assert fit.result("model", timeout=5) == 7
    with pytest.raises(ResultUnavailable, match="`lock` did not come back: a lock cannot be pickled"):
        fit.result()
    assert session.shell.user_ns == {"model": 7}


BROKEN = CellError(ename="OSError", evalue="[Errno 116] Stale file handle", traceback=("line 1",))


def test_a_failure_that_another_attempt_mends_is_not_the_result(session, rest):
    """The receipt of the first attempt is there before anybody knows that another one follows."""
    fit = submit(session)
    rest.pool.start("fit")
    rest.pool.log("fit", "of the first\n")
    rest.pool.return_result("fit", error=BROKEN)
    rest.pool.follow("fit", "Run again: the node failed under attempt 1.", failure="node")
    rest.pool.start("fit", job="812399")
    rest.pool.log("fit", "of the second\n")
    rest.pool.finish("fit", {"model": 7})
    assert fit.result(timeout=5) == 7
    assert fit.wait(5)
    assert session.shell.user_ns == {"model": 7}
    assert (fit.state, len(fit.task.attempts)) == (State.COMPLETED, 2)
    assert fit._following.log == "of the second\n"


def test_a_failure_that_nothing_follows_is_told_at_the_end(session, rest):
    fit = submit(session)
    rest.pool.finish("fit", error=BROKEN)
    with pytest.raises(RemoteError, match="Stale file handle"):
        fit.result(timeout=5)


def test_the_programs_own_error_is_told_before_its_scheduler_has_spoken(session, rest):
    fit = submit(session)
    rest.pool.start("fit")
    rest.pool.return_result("fit", error=CellError(ename="KeyError", evalue="'x'", traceback=("line 1",)))
    with pytest.raises(RemoteError, match="KeyError"):
        fit.result(timeout=5)
    assert fit.task.state is State.COMPLETING


def test_a_value_with_a_foreign_signature_is_not_opened(session, rest):
    fit = submit(session)
    rest.pool.return_result("fit", {"model": 7})
    # between the event and our request nothing else may be swapped in: rewrite the stored receipt
    fit.result(timeout=5)
    other = submit(session, "other", "b" * 32)
    task = rest.pool.named("other")
    rest.pool.results[task.id] = rest.pool.results[rest.pool.named("fit").id].model_copy(
        update={"task_id": task.id, "key": "cd" * 32}
    )
    rest.pool.change("other", State.COMPLETING, kind="attempt.result_ready", result_ready=True)
    with pytest.raises(ResultUnavailable, match="not signed with this attempt's key"):
        other.result(timeout=5)
    assert session.shell.user_ns == {"model": 7}


def test_a_large_value_is_fetched_after_the_receipt(session, rest):
    rest.pool.inline_bytes = 10
    fit = submit(session, outputs=("model", "small"))
    rest.pool.finish("fit", {"model": list(range(100)), "small": 1})
    assert fit.result("small", timeout=5) == 1
    assert fit.result("model") == list(range(100))
    until(lambda: session.shell.user_ns.get("model") == list(range(100)))


def test_two_threads_that_meet_the_end_together_agree_on_it(session, rest):
    """The kernel's own thread (a new handle) and the watcher hear of it at the same moment."""
    for n in range(20):
        name = f"fit{n}"
        submitted = session.client.submit(request(name, f"{n:032d}", outputs=("model",)), b"tar")
        rest.pool.start(name)
        handles: list[TaskHandle] = []
        threads = [
            threading.Thread(target=lambda t=submitted.task, h=handles: h.append(TaskHandle(session, t)))
            for _ in range(3)
        ]
        threads.append(threading.Thread(target=rest.pool.finish, args=(name, {"model": n})))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [handle.result(timeout=5) for handle in handles] == [n] * 3
        assert all(handle.wait(5) for handle in handles)
        assert "succeeded" in repr(handles[0])


def test_a_time_out_says_that_the_task_goes_on(session):
    fit = submit(session)
    with pytest.raises(TimeoutError, match="it goes on"):
        fit.result(timeout=0.05)
    assert fit.wait(0.01) is False


def test_an_outage_is_shown_and_survived(session, rest):
    fit = submit(session)
    rest.pool.start("fit")
    until(lambda: fit._following.task.state is State.RUNNING)
    rest.stop()
    trouble = until(lambda: fit._following.view()["trouble"])
    assert "has not answered since" in trouble
    assert "The job itself is not affected" in trouble
    rest.pool.finish("fit", {"model": 7})  # while the kernel hears nothing
    rest.start()
    assert fit.result(timeout=10) == 7
    assert fit.wait(10)
    assert fit._following.view()["trouble"] == ""


def test_events_before_following_are_not_missed(session, rest):
    submit(session, "other", "b" * 32)
    submitted = session.client.submit(request(outputs=("model",)), b"tar")
    rest.pool.finish("fit", {"model": 7})
    until(lambda: session.watcher._cursor >= len(rest.pool.events))
    assert TaskHandle(session, submitted.task).result(timeout=5) == 7


def test_a_task_that_has_ended_long_ago_gives_its_result(session, rest):
    session.client.submit(request(outputs=("model",)), b"tar")
    rest.pool.finish("fit", {"model": 7})
    assert TaskHandle(session, session.client.task("fit")).result(timeout=5) == 7


def test_nothing_is_asked_while_nothing_is_followed(session, rest):
    fit = submit(session)
    rest.pool.finish("fit", {"model": 7})
    assert fit.wait(5)
    until(lambda: session.watcher._cursor == -1)
    calls = len(rest.pool.calls)
    assert not session.watcher._stopped.wait(1.2)
    assert len(rest.pool.calls) == calls


def test_a_long_poll_is_one_request_not_a_busy_loop(session, rest):
    fit = submit(session)
    rest.pool.start("fit")
    until(lambda: fit._following.task.state is State.RUNNING)
    calls = len(rest.pool.calls)
    assert not fit.wait(1.0)
    assert len(rest.pool.calls) - calls <= 2


def test_cancel_returns_at_once_and_the_state_follows(session, rest):
    fit = submit(session)
    assert fit.cancel() is fit
    assert fit.wait(5)
    assert fit.state is State.CANCELLED
    assert "cancelled by you" in repr(fit)


def test_logs_are_text_that_reads_as_it_is(session, rest):
    fit = submit(session)
    rest.pool.log("fit", "one\n\x1b[31mtwo\x1b[0m\n10%\r20%\r100%\n")
    assert repr(fit.logs()) == "one\ntwo\n100%\n"
    assert fit.logs(tail=2) == "two\n100%"


def test_following_a_log_prints_until_the_end(session, rest, capsys):
    fit = submit(session)
    rest.pool.start("fit")
    rest.pool.log("fit", "first\n")

    def later():
        rest.pool.log("fit", "last\n")
        rest.pool.finish("fit", {"model": 1})

    timer = threading.Timer(0.4, later)
    timer.start()
    assert fit.logs(follow=True) is None
    timer.join()
    assert capsys.readouterr().out == "first\nlast\n"


def test_awaiting_does_not_hold_up_the_event_loop(session, rest):
    import asyncio

    fit = submit(session)
    ticks = []

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)

    async def main():
        ticking = asyncio.create_task(tick())
        threading.Timer(0.3, lambda: rest.pool.finish("fit", {"model": 7})).start()
        value = await fit
        ticking.cancel()
        return value

    assert asyncio.run(main()) == 7
    assert len(ticks) > 10


def test_a_restarted_server_with_a_new_port_is_followed_on(tmp_path, monkeypatch, rest):
    from jupyter_diamond.notebook.client import DiamondClient
    from jupyter_diamond.notebook.connect import find_server

    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    file = tmp_path / "jpserver-77.json"
    file.write_text(json.dumps({"url": rest.url, "token": TOKEN}))
    with DiamondClient(lambda: find_server({"JPY_PARENT_PID": "77"})) as client:
        session = Session(PlainShell(), client)
        fit = submit(session)
        rest.stop()
        second = RestServer(rest.pool).start()
        try:
            file.write_text(json.dumps({"url": second.url, "token": TOKEN}))
            rest.pool.finish("fit", {"model": 7})
            assert fit.result(timeout=10) == 7
        finally:
            session.watcher.stop()
            second.stop()
