"""The audit: every line follows from the one before, so that none is changed, removed or put in unseen."""

import json
import sqlite3

import pytest

from jupyter_diamond.store import Store
from jupyter_diamond.store.audit import FIRST
from tests.store.proposed import ADA, BOT
from tests.store.store_samples import at


@pytest.fixture
def filled(path):
    store = Store(path)
    for number in range(5):
        store.audit.note("act.done", BOT, at=at(number), subject="proposal:p1", hash_="a" * 64, site="alpha", n=number)
    yield store
    store.close()


def rewritten(path, *statements):
    with sqlite3.connect(path) as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        for statement, given in statements:
            raw.execute(statement, given)
    raw.close()
    again = Store(path)
    try:
        return again.audit.verify().problems
    finally:
        again.close()


def body(path, seq):
    with sqlite3.connect(path) as raw:
        (text,) = raw.execute("SELECT body FROM audit WHERE seq = ?", (seq,)).fetchone()
    raw.close()
    return json.loads(text)


def test_lines_are_chained(filled):
    lines = filled.audit.lines()
    assert [line.seq for line in lines] == [1, 2, 3, 4, 5]
    assert lines[0].before == FIRST
    assert [line.before for line in lines[1:]] == [line.digest for line in lines[:-1]]
    assert (lines[0].by, lines[0].subject, lines[0].detail) == (BOT, "proposal:p1", {"site": "alpha", "n": 0})
    checked = filled.audit.verify()
    assert (checked.lines, checked.newest, checked.problems) == (5, lines[-1].digest, ())
    assert [line.seq for line in filled.audit.lines(after=3)] == [4, 5]


@pytest.mark.parametrize("statement", ["UPDATE audit SET at = 0", "DELETE FROM audit WHERE seq = 5"])
def test_no_code_changes_it_by_mistake(filled, path, statement):
    raw = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute(statement)
    raw.close()
    assert filled.audit.verify().lines == 5


def test_an_empty_audit_is_in_order(store):
    assert store.audit.verify().problems == ()
    assert store.audit.verify().newest == FIRST


def test_it_goes_on_in_another_process(filled, path):
    again = Store(path)
    again.audit.note("switch.off", ADA, at=at(9))
    assert again.audit.verify().problems == ()
    assert filled.audit.lines(after=5)[0].what == "switch.off"
    again.close()


@pytest.mark.parametrize("field", ["what", "subject", "hash", "at", "detail", "by", "before", "seq"])
def test_a_changed_line_is_found(filled, path, field):
    line = body(path, 3)
    line[field] = {
        "detail": {"site": "beta"}, "by": {"user": "eve"}, "seq": 4, "at": "2026-03-01T12:00:09Z", "before": "1" * 64,
        "hash": "b" * 64,
    }.get(field, "other")  # fmt: skip
    assert rewritten(path, ("UPDATE audit SET body = ? WHERE seq = 3", (json.dumps(line),))) == ("Line 3 was changed.",)


def test_a_line_that_was_changed_with_its_digest_breaks_the_chain(filled, path):
    from jupyter_diamond.model.proposal import Audited
    from jupyter_diamond.store.audit import digest

    line = Audited.model_validate(body(path, 3)).model_copy(update={"what": "act.refused"})
    line = line.model_copy(update={"digest": digest(line)})
    said = rewritten(
        path, ("UPDATE audit SET body = ?, digest = ? WHERE seq = 3", (line.model_dump_json(), line.digest))
    )
    assert said == ("Line 4 does not follow line 3: one of them was put in or changed.",)


@pytest.mark.parametrize(("gone", "said"), [
    ("seq = 3", "Line 3 is gone."), ("seq IN (2, 3)", "Lines 2 to 3 are gone."), ("seq = 1", "Line 1 is gone."),
    ("seq > 3", "Lines 4 to 5 are gone."), ("seq > 0", "Lines 1 to 5 are gone."),
])  # fmt: skip
def test_a_removed_line_is_found_the_newest_too(filled, path, gone, said):
    assert rewritten(path, (f"DELETE FROM audit WHERE {gone}", ())) == (said,)


def test_a_line_that_was_put_in_is_found(filled, path):
    line = body(path, 5)
    line["seq"], line["before"] = 6, line["digest"]
    put = "INSERT INTO audit (seq, at, digest, body) VALUES (6, 0, ?, ?)"
    assert rewritten(path, (put, ("f" * 64, json.dumps(line)))) == ("Line 6 was changed.",)
    between = ("UPDATE audit SET seq = seq + 1 WHERE seq = 6", ())
    assert "Line 6 is gone." in rewritten(path, between)


def test_a_line_that_is_no_json_is_said(filled, path):
    said = rewritten(path, ("UPDATE audit SET body = 'x' WHERE seq = 2", ()))
    assert said == ("Line 2 cannot be read.",)
