"""What the script that waits at a site says, and how it is read."""

import asyncio
import contextlib
import itertools
import json
import logging
import subprocess
import time
from types import SimpleNamespace

import pytest

from jupyter_diamond.engine.far_look import LOG_PIECE, FarLooks, look_script, parse_look
from jupyter_diamond.transport.base import Completed

STARTED = {"at": 1.5, "host": "n1", "pid": 3, "native": "77"}
END = {
    "format": 1,
    "token": "t",
    "by": "shell",
    "outcome": "FAILED",
    "exit_code": 3,
    "at": 2.5,
    "why": "it's ü\n@@diamond:0 end.json 3",
}


def script(folders, **options):
    return look_script([(str(folder), known) for folder, known in folders], **{"every_s": 0.05, "for_s": 20} | options)


def run(text, **options):
    argv = ["bash", "--noprofile", "--norc", "-c", text]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


@pytest.fixture
def folders(tmp_path):
    made = [tmp_path / name for name in ("a", "it's b", "c")]
    for folder in made:
        folder.mkdir()
    return made


def test_news_come_as_soon_as_they_are_written(folders):
    waiting = run(script([(folder, False) for folder in folders]))
    (folders[1] / "tmp").write_text(json.dumps(STARTED))
    (folders[1] / "tmp").rename(folders[1] / "started.json")
    begun = time.monotonic()
    news = parse_look(waiting.stdout.read())
    assert time.monotonic() - begun < 10
    assert list(news) == [1]
    assert (news[1].started.host, news[1].started.native, news[1].end) == ("n1", "77", None)
    waiting.stdin.close()
    waiting.stdout.close()
    waiting.wait(10)


def test_all_that_is_there_comes_at_once_and_what_is_known_does_not(folders):
    (folders[0] / "started.json").write_text(json.dumps(STARTED))
    (folders[0] / "end.json").write_text(json.dumps(END, ensure_ascii=False) + "\n\n")
    (folders[2] / "started.json").write_text("{half")
    out, _ = run(script([(folders[0], True), (folders[1], True), (folders[2], False)])).communicate(timeout=20)
    news = parse_look(out)
    assert set(news) == {0, 2}
    assert (news[0].started, news[0].end.exit_code, news[0].end.why) == (None, 3, END["why"])
    assert news[2].unreadable == ("started.json",)


def test_it_ends_with_its_listener_and_after_its_time(folders):
    waiting = run(script([(folders[0], False)]))
    assert waiting.communicate(timeout=10)[0] == b""
    waiting = run(script([(folders[0], False)], for_s=1))
    assert waiting.stdout.read() == b""
    waiting.stdin.close()
    waiting.stdout.close()
    assert waiting.wait(10) == 0


def test_a_folder_that_is_gone_is_no_news(folders):
    assert run(script([(folders[0] / "gone", False)])).communicate(timeout=10)[0] == b""


LOG = b"epoch 1\n\x00\xff two\r50%\n\nlast \xc3\xbc, unfinished \n\n"


def test_a_log_comes_along_whatever_is_in_it_and_only_when_the_look_is_over_anyhow(folders):
    (folders[0] / "job.out").write_bytes(LOG)
    logs = {0: 3, 1: 0, 2: 10_000}
    (folders[2] / "job.out").write_bytes(LOG)
    text = script([(folder, True) for folder in folders], logs=logs, for_s=1)
    begun = time.monotonic()
    waiting = run(text)
    news = parse_look(waiting.stdout.read(), logs=logs)
    assert time.monotonic() - begun > 0.5, "a log is no news that ends a look"
    waiting.stdin.close()
    waiting.stdout.close()
    waiting.wait(10)
    assert set(news) == {0}
    assert (news[0].log, news[0].log_offset, news[0].end) == (LOG[3:], 3, None)


def test_a_script_that_has_waited_in_vain_tells_whose_log_ends_in_the_schedulers_words(folders, monkeypatch):
    """Slurm kills a batch job without a signal first: no file of its own tells that somebody cancelled it."""
    monkeypatch.setattr("jupyter_diamond.engine.far_look._NOTICES_S", 0)
    words = b"step 7\nslurmstepd-cn01: error: *** JOB 12 ON cn01 CANCELLED AT 2026-03-01T12:00:00 ***\n"
    (folders[0] / "job.out").write_bytes(b"x\n" * 9000)
    (folders[1] / "job.out").write_bytes(b"==> /elsewhere/job.out <==\n" + b"\xff" * 9000 + b"\n" + words)
    known = [(folder, True) for folder in (*folders, folders[0] / "gone")]
    out, _ = run(script(known, for_s=0, notice=b"slurmstepd")).communicate(timeout=20)
    news = parse_look(out, folders=[str(folder) for folder, _ in known])
    assert {i: (seen.noticed, seen.end) for i, seen in news.items()} == {1: (True, None)}
    one, _ = run(script(known[1:2], for_s=0, notice=b"slurmstepd")).communicate(timeout=20)
    assert parse_look(one, folders=[str(folders[1])])[0].noticed
    begun, _ = run(script([(folders[1], False)], for_s=0, notice=b"slurmstepd")).communicate(timeout=20)
    assert begun == b"", "one that has not started is not looked at"


def test_the_last_piece_of_a_log_comes_with_the_end(folders):
    (folders[1] / "job.out").write_bytes(LOG)
    (folders[1] / "end.json").write_text(json.dumps(END))
    out, _ = run(script([(folder, True) for folder in folders], logs={1: 0})).communicate(timeout=20)
    (seen,) = parse_look(out, logs={1: 0}).values()
    assert (seen.end.exit_code, seen.log) == (3, LOG)
    assert parse_look(out[:-50], cut=True, logs={1: 0})[1].end.exit_code == 3, "what was cut is asked for again"


def test_of_a_long_log_one_piece_comes(folders):
    (folders[0] / "job.out").write_bytes(bytes(range(256)) * (LOG_PIECE // 256 + 7))
    (folders[0] / "end.json").write_text(json.dumps(END))
    out, _ = run(script([(folders[0], True)], logs={0: 256})).communicate(timeout=20)
    seen = parse_look(out, logs={0: 256})[0]
    assert (len(seen.log), seen.log[:256]) == (LOG_PIECE, bytes(range(256)))


def test_of_many_logs_so_little_comes_that_all_fit_into_an_answer():
    many = dict.fromkeys(range(1000), 0)
    text = look_script([(f"/attempts/{number}", True) for number in many], every_s=1, for_s=1, logs=many)
    assert f"head -c {(4 << 20) // 1000} |" in text


@pytest.mark.parametrize(
    "answer", [b"", b"noise\n", b"@@diamond:0 end.json 500\n{short", b"@@diamond:x end.json 1\na\n"]
)
def test_a_garbled_answer_makes_no_end(answer):
    assert all(seen.end is None for seen in parse_look(answer).values())


class Silent:
    """A transport that lets no script wait; its site has news when it is told so."""

    longest_wait_s = 0.0

    def __init__(self, delay_s=0.0):
        self.looks, self.at_once, self.most_at_once = [], 0, 0
        self.news, self.delay_s = b"", delay_s

    async def run(self, script, **_):
        self.looks.append(time.monotonic())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.delay_s)
        self.at_once -= 1
        said, self.news = self.news, b""
        return Completed(exit=0, stdout=said, stderr=b"")


class Jobs:
    """Jobs that are looked for, by number."""

    def __init__(self, transport, monkeypatch):
        monkeypatch.setattr("jupyter_diamond.engine.far_look._SOON_S", 0.1)
        monkeypatch.setattr("jupyter_diamond.engine.far_look._SELDOM_S", 0.8)
        self.there, self.noted, self.changed = [], [], asyncio.Event()
        link = SimpleNamespace(name="delta", transport=transport, scheduler=SimpleNamespace(end_notice=b""))
        log = logging.getLogger("diamond.test")
        self.looks = FarLooks(link, log, lambda: list(self.there), self.note, lambda: 0.2, self.changed)

    def add(self, name):
        attempt = SimpleNamespace(folder=f"/attempts/{name}", started_at=None)
        self.there.append(SimpleNamespace(task=SimpleNamespace(id=name, attempt=attempt), log_from=None))
        self.changed.set()

    async def note(self, sights):
        self.noted += [known.task.id for known, _ in sights]
        return bool(sights)


@contextlib.asynccontextmanager
async def looking(jobs):
    task = asyncio.ensure_future(jobs.looks.run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def gaps(looks):
    return [after - before for before, after in itertools.pairwise(looks)]


@pytest.mark.asyncio
async def test_where_no_script_may_wait_looks_become_ever_more_seldom(monkeypatch):
    transport = Silent()
    jobs = Jobs(transport, monkeypatch)
    async with looking(jobs):
        await asyncio.sleep(0.3)
        assert transport.looks == [], "nobody looks for nothing"
        jobs.add("a")
        await asyncio.sleep(2.6)
    waits = gaps(transport.looks)
    assert 4 <= len(transport.looks) <= 5
    assert waits[0] < waits[1] < waits[2]
    assert max(waits) < 1.1


@pytest.mark.asyncio
async def test_another_job_and_every_news_make_looks_frequent_again(monkeypatch):
    transport = Silent()
    jobs = Jobs(transport, monkeypatch)
    async with looking(jobs):
        jobs.add("a")
        await asyncio.sleep(1.7)
        before = len(transport.looks)
        jobs.add("b")
        await asyncio.sleep(0.4)
        assert len(transport.looks) >= before + 1
        transport.news = b'@@diamond:1 started.json 9\n{"at": 1}\n'
        await asyncio.sleep(1.1)
    assert jobs.noted == ["b"]
    assert len(transport.looks) >= before + 3


@pytest.mark.asyncio
async def test_there_are_never_two_looks_at_once(monkeypatch):
    transport = Silent(delay_s=0.3)
    jobs = Jobs(transport, monkeypatch)
    async with looking(jobs):
        for i in range(8):
            jobs.add(str(i))
            await asyncio.sleep(0.15)
    assert transport.most_at_once == 1
    assert 2 <= len(transport.looks) <= 4


def test_an_answer_that_was_cut_leaves_its_last_folder_for_the_next_look():
    one = b'@@diamond:%d started.json 9\n{"at": 1}\n'
    assert list(parse_look(one % 0 + one % 1, cut=True)) == [0]
    assert list(parse_look(one % 0, cut=True)) == [0]
    assert list(parse_look(one % 0 + one % 1)) == [0, 1]
