"""A verdict as it reads."""

from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.states import State
from jupyter_diamond.model.verdict import Finding, GroupVerdict, TaskVerdict
from jupyter_diamond.notebook.verdict_text import remark, shown


def verdict(answer="no", **fields):
    finding = Finding(
        question="clean_log", answer=answer, sentence="Its log shows a crash.", evidence=("crash: \x1b[2JBus",)
    )
    base = {
        "task": "t1", "name": "fit", "state": State.COMPLETED, "attempt": 1, "correct": answer, "findings": (finding,),
        "sentence": "`fit` did not do what was asked. Its log shows a crash.", "attempts_left": 2, "moves_left": 1,
        "judged_at": from_epoch(0),
    }  # fmt: skip
    return TaskVerdict(**{**base, **fields})


def test_each_question_has_its_answer_and_evidence_and_nothing_moves_the_cursor():
    text = shown(verdict())
    assert (text.correct, text.found.task) == ("no", "t1")
    assert repr(text).splitlines() == [
        "`fit` did not do what was asked. Its log shows a crash.",
        "log clean      NO   Its log shows a crash.",
        "                    crash: Bus",
        "attempts left  2",
    ]


def test_a_plain_yes_is_no_remark():
    assert remark(verdict("yes")) == ""
    assert remark(verdict()) == "`fit` did not do what was asked. Its log shows a crash. crash: Bus"
    assert remark(verdict("unknown", sentence="Not all is known.")) == "Not all is known."


def test_a_group_counts_and_names_the_first():
    found = GroupVerdict(
        group="g1", name="sweep", members=9, answers={"yes": 7, "no": 1, "unknown": 1}, correct="no",
        sentence="`sweep`: 7 of 9 members did what was asked, 1 did not, of 1 it is not known.", first=(verdict(),),
        judged_at=from_epoch(0),
    )  # fmt: skip
    assert shown(found).splitlines()[1] == "  `fit` did not do what was asked. Its log shows a crash."
    assert remark(found) == ""
