"""News are posted, signed, to a real server of this machine: again until it takes them, and then never again."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from jupyter_diamond.engine.news import webhooks
from jupyter_diamond.engine.news.webhooks import SECRET, problem_of
from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.continuation import InState, Registration, Terminal, Waking
from jupyter_diamond.model.states import State
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import DiamondEngine, DiamondLimits, DiamondNews, DiamondSites, DiamondStore
from tests.engine.conftest import ended, until

WORD = "a secret of 16 or more characters"


class Receiver:
    """Takes posts; answers what ``answers`` says, then 204."""

    def __init__(self, *answers: int) -> None:
        self.posts, self.taken, self.answers = [], [], list(answers)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answers.pop(0) if receiver.answers else 204
                receiver.posts.append((self.path, dict(self.headers), body))
                if 200 <= status < 300:
                    receiver.taken.append(self.headers["Idempotency-Key"])
                self.send_response(status)
                if status in (301, 302, 307, 308):
                    self.send_header("Location", f"{receiver.url}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def receive(monkeypatch):
    monkeypatch.setenv(SECRET, WORD)
    monkeypatch.setattr(webhooks, "_FIRST_S", 0.1)
    monkeypatch.setattr(webhooks, "_LAST_S", 0.4)
    made = []

    def receive(*answers):
        made.append(Receiver(*answers))
        return made[-1]

    yield receive
    for each in made:
        each.close()


@pytest.fixture
def start(bench):
    async def start(url, **news):
        service = DiamondService(
            store=DiamondStore(path=str(bench.folder / "diamond" / "store.sqlite")),
            sites=DiamondSites(path=str(bench.sites_path)), engine=DiamondEngine(), limits=DiamondLimits(),
            log=logging.getLogger("diamond.test"), news=DiamondNews(webhook_url=url, **news),
        )  # fmt: skip
        await service.start()
        bench.services.append(service)
        return service

    return start


async def stop(bench, service):
    await service.stop()
    bench.services.remove(service)


def wish(task, condition):
    return Registration(id=uuid.uuid4().hex, subject=task.id, condition=condition, consumer="webhook")


async def all_read(service, told):
    """So many pieces of news were told in all, and each is acknowledged."""

    async def check():
        everything = (await service.consumers.wait("webhook", 0)).events
        return len(everything) == told and not (await service.consumers.wait("webhook")).events

    await until(check)


@pytest.mark.asyncio
async def test_news_are_posted_again_until_they_are_taken_and_then_never_again(bench, start, receive):
    receiver = receive(500, 429)
    service = await start(f"{receiver.url}/hook")
    task = await ended(service, await bench.submit(service, "pass"))
    for condition in (InState(states=(State.RUNNING,)), Terminal()):
        await service.consumers.register(wish(task, condition))
    await until(lambda: asyncio.to_thread(lambda: len(receiver.taken) == 2))
    await all_read(service, 2)
    events = [json.loads(body) for _, _, body in receiver.posts]
    assert [event["data"]["kind"] for event in events] == ["state", "state", "state", "terminal"], "in their order"
    assert len({headers["Idempotency-Key"] for _, headers, _ in receiver.posts[:3]}) == 1
    news = Waking.model_validate(events[-1]["data"])
    assert (news.outcome.value, news.id, news.name) == ("OK", receiver.taken[-1], "fit")
    for path, headers, body in receiver.posts:
        signed = headers["Diamond-Timestamp"].encode() + b"." + body
        assert headers["Diamond-Signature"] == "sha256=" + hmac.new(WORD.encode(), signed, hashlib.sha256).hexdigest()
        assert path == "/hook"
        assert WORD not in str(headers) + body.decode()
    await stop(bench, service)
    again = await start(f"{receiver.url}/hook")
    other = await ended(again, await bench.submit(again, "print(1)", name="other"))
    await again.consumers.register(wish(other, Terminal()))
    await all_read(again, 3)
    assert len(receiver.posts) == 5
    assert len(set(receiver.taken)) == len(receiver.taken) == 3, "each was taken once"


@pytest.mark.asyncio
async def test_a_server_restart_in_between_loses_and_doubles_nothing(bench, start, receive):
    receiver = receive(*[503] * 1000)
    service = await start(receiver.url)
    task = await ended(service, await bench.submit(service, "pass"))
    await service.consumers.register(wish(task, Terminal()))
    await until(lambda: asyncio.to_thread(lambda: len(receiver.posts) >= 2))
    await stop(bench, service)
    assert receiver.taken == []
    receiver.answers.clear()
    again = await start(receiver.url)
    await all_read(again, 1)
    assert len(receiver.taken) == 1
    assert {headers["Idempotency-Key"] for _, headers, _ in receiver.posts} == set(receiver.taken)


@pytest.mark.asyncio
async def test_what_is_never_taken_is_given_up_and_the_tasks_story_says_so(bench, start, receive):
    receiver = receive(*[302] * 1000)
    service = await start(receiver.url, webhook_for_s=0.5)
    task = await ended(service, await bench.submit(service, "pass"))
    await service.consumers.register(wish(task, Terminal()))
    await all_read(service, 1)
    (told,) = [e for e in (await service.task_events(task.id)).events if e.type == "continuation.expired"]
    assert "redirects are not followed" in told.data["why"]
    assert {path for path, _, _ in receiver.posts} == {"/"}, "nobody went elsewhere"


@pytest.mark.asyncio
async def test_without_a_secret_nothing_is_posted_and_it_is_said(bench, start, receive, monkeypatch):
    receiver = receive()
    monkeypatch.delenv(SECRET)
    service = await start(receiver.url)
    task = await ended(service, await bench.submit(service, "pass"))
    with pytest.raises(InvalidRequest, match=f"set {SECRET}"):
        await service.consumers.register(wish(task, Terminal()))
    assert receiver.posts == []


@pytest.mark.parametrize(("url", "words"), [
    ("", "There is no webhook"),
    ("http://example.org/hook", "https only"),
    ("http://127.0.0.1.example.org/", "https only"),
    ("ftp://example.org/", "is not an address"),
    ("https://", "is not an address"),
    ("https://host:99999/", "is not an address"),
    ("hook", "is not an address"),
    ("https://me:word@example.org/", "user or password"),
])  # fmt: skip
def test_an_address_that_will_not_do_is_named(url, words):
    assert words in problem_of(url, WORD.encode())
    assert WORD not in problem_of(url, WORD.encode())


@pytest.mark.parametrize(
    "url", ["https://example.org/x?y=1", "http://localhost:8080", "http://127.0.0.1/", "http://[::1]:1/"]
)
def test_an_address_that_will_do_is_taken(url):
    assert problem_of(url, WORD.encode()) == ""
    assert "16 characters" in problem_of(url, b"short")


@pytest.mark.asyncio
async def test_a_server_killed_after_the_answer_posts_the_same_again_and_the_receiver_can_drop_it(
    bench, start, receive, monkeypatch
):
    """It dies between the other side's 2xx and its own note of it: nothing that comes after it is written."""
    receiver, dead = receive(), asyncio.Event()

    async def dies(self, *_):
        dead.set()
        await asyncio.Event().wait()

    service = await start(receiver.url)
    task = await ended(service, await bench.submit(service, "pass"))
    with monkeypatch.context() as patch:
        patch.setattr(webhooks.Webhook, "_taken", dies)
        await service.consumers.register(wish(task, Terminal()))
        await asyncio.wait_for(dead.wait(), 20.0)
        await stop(bench, service)
    service = await start(receiver.url)
    await service.consumers.register(wish(task, InState(states=(State.RUNNING,))))
    await all_read(service, 2)
    (_, first, one), (_, again, same), (_, later, _) = receiver.posts
    assert one == same
    for name in ("Idempotency-Key", "Diamond-Sequence"):
        assert first[name] == again[name] != later[name]
    told = json.loads(one)
    assert (told["data"]["id"], str(told["seq"])) == (first["Idempotency-Key"], first["Diamond-Sequence"])
    assert int(first["Diamond-Sequence"]) < int(later["Diamond-Sequence"])
