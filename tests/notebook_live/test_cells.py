"""Cells of every kind run at a site as they would here."""

from __future__ import annotations


def test_crlf_and_magics_without_effect(nb):
    nb.submit("crlf --out a", "a = 1\r\nif a:\r\n    a = '''x\r\ny'''\r\n")
    assert nb.value("a") == "x\ny"
    ran = nb.submit("magic --out a", "%matplotlib inline\n%time a = 5\nlen?\n")
    assert "%matplotlib on line 1 has no effect at a site and is left out." in ran.text
    assert nb.value("a") == 5


def test_top_level_await(nb):
    nb.submit("awaits --out a", "import asyncio\nawait asyncio.sleep(0.01)\nasync def f(): return 7\na = await f()")
    assert nb.value("a") == 7
    assert nb.run("await awaits").text == "7"


def test_an_exception_shows_the_users_own_lines(nb):
    nb.run("def inverse(v):\n    w = v\n    return 1 / w")
    ran = nb.run("%%diamond_submit bad --out a,b --wait\nb = 3\nprint('so far')\n\na = inverse(0)\n")
    assert ran.cards[0].startswith("bad   ✗ failed on here:machine")
    assert "ZeroDivisionError: division by zero. Read its traceback." in ran.cards[0]
    printed, traceback = (output["data"]["text/plain"] for output in ran.shown)
    assert printed == "so far"
    assert 'File "cell bad", line 4, in <module>\n    a = inverse(0)' in traceback
    assert "line 3, in inverse\n    return 1 / w" in traceback
    assert "diamond_runner" not in traceback
    for ask in ("bad.result()", "bad.result('a')", "await bad", "%diamond result bad"):
        failed = nb.fails(ask)
        assert failed.error.startswith("RemoteError: ZeroDivisionError: division by zero (raised on "), ask
        assert 'File "cell bad", line 4' in failed.text
        assert "jupyter_diamond" not in failed.text, failed.text
    assert nb.run("bad.result('b')").text == "3"  # what was there when it failed is not lost


def test_a_very_long_exception_is_one_sentence_on_the_card(nb):
    ran = nb.run("%%diamond_submit long --wait\nraise ValueError('first line\\n' + 'x' * 1_000_000)")
    assert ran.cards[0].split("\n")[1] == "ValueError: first line. Read its traceback."
    assert len(ran.shown[-1]["data"]["text/plain"]) < 300_000


def test_bash(nb):
    nb.run("who = 'a b\"c $(id) \\'q\\''\nfrom pathlib import Path\nwhere = Path('/tmp/x y')")
    ran = nb.submit("sh --lang bash --in who,where", 'echo "hi $who"; echo "$where" | tr y z')
    assert ran.shown[0]["data"]["text/plain"] == "hi a b\"c $(id) 'q'\n/tmp/x z"
    ran = nb.run("%%diamond_submit sh2 --lang bash --wait\necho out\necho err >&2\nexit 3\n")
    assert "The bash cell ended with exit code 3. Look at the job's log." in ran.cards[0]
    assert nb.fails("sh2.result()").error.startswith("RemoteError: the bash cell ended with exit code 3 (raised on ")
    assert nb.run("print(sh2.logs())").text.splitlines()[:2] == ["out", "err"]


DEFINITIONS = """
import enum, functools, collections, mylib
from dataclasses import dataclass, field
from mylib import clean
def twice(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k) * 2
    return inner
SCALE = 3
def make(n):
    def add(x):
        return x + n
    return add
add5 = make(5)
square = lambda x: x ** 2
@twice
def h(x, s=SCALE):
    return add5(x) + square(x) + s + clean(x)
@dataclass
class P:
    x: int
    tags: list = field(default_factory=list)
    def norm(self): return h(self.x)
class Colour(enum.Enum):
    RED = 1
Pair = collections.namedtuple("Pair", "a b")
p = P(3, ["é"])
"""


def test_what_was_born_in_the_notebook_goes_there_and_comes_back(nb):
    (nb.server.notebooks / "mylib.py").write_text("def clean(x):\n    return x + 1\n")
    nb.run(DEFINITIONS)
    nb.submit("born --out r,q,c,n", "r = [h(2), p.norm()]\nq = P(9, p.tags)\nc = Colour.RED\nn = Pair(1, P(2))")
    assert nb.value("r == [h(2), p.norm()]")
    assert nb.value("type(q) is P and q == P(9, ['é']) and c is Colour.RED and n == Pair(1, P(2))")


def test_an_object_s_class_is_the_notebook_s_own_at_both_ends_also_beside_bytecode(nb):
    nb.run(DEFINITIONS)
    nb.run("both = {'f': make(3), 'p': P(1), 'pair': Pair(1, P(2))}")
    nb.submit("mixed --out there,back", "there = [type(both['p']) is P, type(both['pair'][1]) is P]\nback = both")
    assert nb.value("there") == [True, True]
    assert nb.value("[type(back['p']) is P, type(back['pair'][1]) is P, back['f'](1) == 4]") == [True, True, True]


def test_a_class_that_the_cell_defines_anew_is_not_taken_for_the_notebook_s(nb):
    nb.run("class Kind:\n    def who(self): return 'notebook'")
    nb.submit("anew --out k", "class Kind:\n    def who(self): return 'cell'\nk = Kind()")
    assert nb.value("k.who()") == "cell"


def test_a_module_that_was_changed_after_its_import_is_told(nb):
    module = nb.server.notebooks / "changing.py"
    module.write_text("def f():\n    return 1\n")
    nb.run("import changing, time; time.sleep(1.1)")
    module.write_text("def f():\n    return 100\n")
    ran = nb.submit("changed --out r", "r = changing.f()")
    assert "changing.py was changed after this kernel imported it; the site gets the file as it is now." in ran.text
    assert nb.value("r") == 100


def test_a_value_that_cannot_come_back_is_told_and_the_others_are_here(nb):
    ran = nb.run("%%diamond_submit partly --out ok,g --wait\nok = 1\ng = (i for i in range(3))")
    assert "'g' (generator) was not returned" in ran.cards[0]
    assert nb.value("ok") == 1
    assert "was not returned" in nb.fails("partly.result('g')").error


SEGMENTED = """
from jupyter_diamond import checkpoint
print("began")
if checkpoint.latest() is None:
    with checkpoint.saving("half"): pass
    checkpoint.leave()
a = checkpoint.latest().rpartition("/")[2]
"""


def test_a_work_in_segments_comes_back_as_one(nb):
    ran = nb.submit("parts --segments 3 --out a", SEGMENTED)
    assert nb.value("a") == "half"
    assert "· segment 2 of 3 ·" in ran.cards[-1], ran.cards
    assert ran.cards[-1].startswith("parts   ✓ succeeded")
    story = nb.run("print(parts.timeline())").text
    assert "Segment 2 of 3, from checkpoint half: attempt 1 left off to be continued." in story
    assert nb.run("parts.result()").text == "'half'"
    assert nb.run("parts.verdict").text.startswith("`parts` did what was asked at ")


def test_one_that_may_not_go_on_says_so(nb):
    ran = nb.run(f"%%diamond_submit once --out a --wait\n{SEGMENTED}")
    assert "without --segments 5 nothing would go on from there" in ran.text
    assert "1 segment is all that --segments allows." in ran.cards[-1], ran.cards
    assert "left off" in nb.fails("once.result()").error
    assert "`once` did not do what was asked." in nb.run("%diamond task once").text
