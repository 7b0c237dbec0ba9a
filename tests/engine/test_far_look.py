"""What the script that waits at a site says, and how it is read."""

import json
import subprocess
import time

import pytest

from jupyter_diamond.engine.far_look import look_script, parse_look

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


@pytest.mark.parametrize(
    "answer", [b"", b"noise\n", b"@@diamond:0 end.json 500\n{short", b"@@diamond:x end.json 1\na\n"]
)
def test_a_garbled_answer_makes_no_end(answer):
    assert all(seen.end is None for seen in parse_look(answer).values())
