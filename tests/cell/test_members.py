"""What a group's members are given: captured as theirs, bound at the site, told in the receipt."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_diamond.cell.pack import pack
from jupyter_diamond.cell.runner import SOURCE
from jupyter_diamond.cell.spec import Statement
from jupyter_diamond.errors import CaptureRefused
from jupyter_diamond.model.group import Member

from .attempts import KEY, TOKEN, Attempt, make_attempt

LR = (Member(index=0, params={"lr": 0.1}), Member(index=17, params={"lr": 1}))
PLAIN = tuple(Member(index=n, params={"index": n}) for n in (3, 4))


def attempt_of(bundle, folder: Path, *options: str) -> Attempt:
    folder = folder / "attempts" / TOKEN
    folder.mkdir(parents=True, mode=0o700)
    (folder / "bundle.tar").write_bytes(bundle.data)
    (folder / "runner.py").write_bytes(SOURCE.read_bytes())
    (folder / "key").write_text(KEY)
    return Attempt(folder, bundle.sha256, options=list(options))


def test_what_is_supplied_is_not_asked_of_the_notebook_and_wins_over_it(notebook, tmp_path):
    notebook.run("lr = object()\ndef train():\n    return lr * 2\ndef named(rate=lr): return 0")
    taken = notebook.capture("r = train()", members=LR, outputs=["r"])
    assert taken.refusals == ()
    assert [(each.name, each.type, each.travels) for each in taken.captured] == [
        ("lr", "float | int", "value"), ("train", "function", "source"),
    ]  # fmt: skip
    assert taken.captured[0].detail == "each member's own: 0.1, 1; the notebook's own `lr` stays here"
    assert taken.warnings == ()
    ran = attempt_of(pack(taken), tmp_path, "--member", "17").run()
    assert (ran.exit_code, ran.value("r")) == (0, 2)


def test_a_definition_may_read_it_while_it_is_made(notebook, tmp_path):
    notebook.run("lr = 5\ndef rate(r=lr):\n    return r")
    ran = attempt_of(pack(notebook.capture("r = rate()", members=LR, outputs=["r"])), tmp_path, "--member", "0").run()
    assert ran.value("r") == 0.1


def test_every_kind_of_value_is_bound_and_told_in_the_receipt(notebook, tmp_path):
    params = {"a": 1, "b": 1.0, "c": True, "d": None, "e": "it's $HOME\n", "f": 10**17}
    taken = notebook.capture("r = repr((a, b, c, d, e, f))", members=[Member(index=2, params=params)], outputs=["r"])
    ran = attempt_of(pack(taken), tmp_path, "--member", "2").run()
    assert ran.value("r") == repr(tuple(params.values()))
    assert (ran.manifest.member, repr(ran.manifest.params)) == (2, repr(params))


@pytest.mark.parametrize(("options", "why"), [
    (("--member", "5"), "the inputs are for 2 members, and member 5 is none of them"),
    (("--member", "x"), "the inputs are for 2 members, and member x is none of them"),
    ((), "the inputs are for 2 members, and no member was named"),
])  # fmt: skip
def test_a_member_that_there_is_not_does_not_run(notebook, tmp_path, options, why):
    ran = attempt_of(pack(notebook.capture("print(index)", members=PLAIN)), tmp_path, *options).run()
    assert ran.exit_code == 84
    assert ran.error() == ("BadBundle", why)
    assert ran.stdout == ""
    assert ran.manifest.member is None


def test_a_bundle_of_one_task_has_no_members(tmp_path):
    ran = make_attempt(tmp_path, "print(1)").run()
    assert (ran.manifest.member, ran.manifest.params) == (None, {})
    assert b'"member"' not in (ran.folder / "manifest.json").read_bytes()


def test_a_shell_has_them_in_its_environment(notebook, tmp_path):
    params = {"lr": 0.001, "deep": True, "opt": None, "note": "two words; $HOME"}
    members = [Member(index=0, params=params)]
    taken = notebook.capture('echo "[$lr][$deep][$opt][$note]"\nenv | grep -c ^opt=', language="bash", members=members)
    assert taken.captured[0].detail == "each member's own: 0.001; an environment variable"
    ran = attempt_of(pack(taken), tmp_path, "--member", "0").run()
    assert ran.stdout == "[0.001][true][][two words; $HOME]\n1\n"


@pytest.mark.parametrize(("cell", "how", "sentence"), [
    ("print(lr)", {"inputs": ["lr"]}, "--in names `lr`, which each member is given its own of"),
    ("lr = lr * 2", {"outputs": ["lr"]}, "--out names `lr`, which each member is given"),
    ("echo $UID", {"language": "bash", "members": [Member(index=0, params={"UID": 1})]}, "`UID` cannot be a variable"),
    ("echo", {"language": "bash", "members": [Member(index=0, params={"é": 1})]}, "`é` cannot be a variable"),
])  # fmt: skip
def test_names_that_cannot_be_supplied_are_refused(notebook, cell, how, sentence):
    notebook.run("lr = 1")
    with pytest.raises(CaptureRefused, match=sentence):
        pack(notebook.capture(cell, **{"members": LR, **how}))


@pytest.mark.parametrize(("cell", "members", "note"), [
    ("lr = 0.1\nprint(lr)", LR, "The cell sets `lr` before it reads it, so that all members run with the same"),
    ("print(1)", LR, "Nothing in the cell reads `lr`, which the members are given."),
    ("print(1)", PLAIN, "Nothing in the cell reads `index`: every member does the same."),
])  # fmt: skip
def test_a_name_that_changes_nothing_is_told(notebook, cell, members, note):
    assert any(said.startswith(note) for said in notebook.capture(cell, members=members).warnings)


@pytest.mark.parametrize("cell", ["print(lr)", "lr = lr + 1", "print(globals()['lr'])", "f = lambda: lr\nf()"])
def test_a_name_that_may_be_read_is_not_told(notebook, cell):
    assert [said for said in notebook.capture(cell, members=LR).warnings if "`lr`" in said] == []


def test_the_digest_is_of_the_members_too(notebook):
    digests = {
        pack(notebook.capture("print(1)", members=members)).digest
        for members in [
            (),
            LR,
            LR[:1],
            PLAIN,
            (Member(index=0, params={"lr": 1}), Member(index=17, params={"lr": 0.1})),
        ]
    }
    assert len(digests) == 5
    later = tuple(member.model_copy(update={"round": 2}) for member in LR)
    assert pack(notebook.capture("print(1)", members=later)).digest in digests


def test_a_prelude_cannot_take_the_place_of_what_is_supplied(tmp_path):
    ran = make_attempt(
        tmp_path, "print(lr, f())", members={"0": {"lr": 7}},
        statements=(Statement(name="f", source="def f(x=lr): return x\n", filename="<cell 1>"),),
    )  # fmt: skip
    ran.options = ["--member", "0"]
    assert ran.run().stdout == "7 7\n"
