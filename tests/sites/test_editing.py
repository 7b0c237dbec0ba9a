"""Editing the catalogue: what is not changed stays to the byte, and a bad edit changes nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_diamond.errors import Conflict, InvalidRequest, NotFound
from jupyter_diamond.sites.catalogue import load_catalogue
from jupyter_diamond.sites.editing import add_site, remove_site, set_field

CATALOGUE = """\
# my sites, in the order in which I like them
sites:
  # the big one
  - name: delta
    scheduler: slurm   # as always
    account: abcd-delta-cpu

  # the other; ask Ann before changing it
  - name: anvil
    scheduler: slurm
    # since March
    env:
      SLURM_CONF: "/etc/slurm/anvil.conf"   # not the default
      # more may come
    prefer: 1

  - scheduler: process
    name: box
# last words
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "diamond" / "sites.yaml"
    path.parent.mkdir()
    path.write_text(CATALOGUE)
    return path


def names(path: Path) -> list[str]:
    return [site.name for site in load_catalogue(path, this_machine=None)]


def changed(before: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert before.count(old) == 1
        before = before.replace(old, new)
    return before


EDITS = [
    ("delta", "account", "xyz", [("account: abcd-delta-cpu", "account: xyz")]),
    ("delta", "scheduler", "process", [("scheduler: slurm   # as always", "scheduler: process   # as always")]),
    ("DELTA", "prefer", 2, [("account: abcd-delta-cpu\n", "account: abcd-delta-cpu\n    prefer: 2\n")]),
    ("delta", "account", None, [("    account: abcd-delta-cpu\n", "")]),
    ("delta", "python", "/opt/my python", [("-cpu\n", "-cpu\n    python: /opt/my python\n")]),
    ("delta", "account", "true", [("account: abcd-delta-cpu", "account: 'true'")]),
    ("delta", "options", {"licenses": "scratch"}, [("-cpu\n", "-cpu\n    options: {licenses: scratch}\n")]),
    ("anvil", "prefer", 3, [("prefer: 1", "prefer: 3")]),
    ("anvil", "prefer", None, [("    prefer: 1\n", "")]),
    ("anvil", "machine", "anvil", [("prefer: 1\n", "prefer: 1\n    machine: anvil\n")]),
    ("anvil", "modules", {"kind": "login_shell", "load": ["a", "b"]},
     [("prefer: 1\n", "prefer: 1\n    modules: {kind: login_shell, load: [a, b]}\n")]),
    ("box", "prefer", 7, [("name: box\n", "name: box\n    prefer: 7\n")]),
    ("box", "name", "crate", [("name: box", "name: crate")]),
    ("box", "scheduler", "slurm", [("scheduler: process", "scheduler: slurm")]),
    ("box", "prefer", None, []),
]  # fmt: skip


@pytest.mark.parametrize(("site", "field", "value", "pairs"), EDITS)
def test_a_field_is_set_and_everything_else_stays_to_the_byte(path, site, field, value, pairs):
    found = set_field(path, site, field, value)
    assert path.read_text() == changed(CATALOGUE, *pairs)
    if value is not None:
        plain = getattr(found, field)
        assert (plain.model_dump() if hasattr(plain, "model_dump") else plain) in (
            value, {"path": "", **value, "load": tuple(value.get("load", ()))} if isinstance(value, dict) else value
        )  # fmt: skip


def test_a_block_becomes_one_line_and_the_comments_around_it_stay(path):
    set_field(path, "anvil", "env", {"SLURM_CONF": "/x"})
    text = path.read_text()
    assert "    # since March\n    env: {SLURM_CONF: /x}\n" in text
    assert "      # more may come\n    prefer: 1\n" in text
    assert "# the other; ask Ann" in text


def test_a_site_is_added_at_the_end_below_the_others(path):
    site = add_site(path, {"name": "vista", "scheduler": "slurm", "account": "me"})
    assert (site.name, site.account) == ("vista", "me")
    assert path.read_text() == CATALOGUE.replace(
        "    name: box\n", "    name: box\n  - name: vista\n    scheduler: slurm\n    account: me\n"
    )


@pytest.mark.parametrize(
    "text", [None, "", "# nothing yet\n", "# mine\nsites:\n", "sites: []\n", "# a\nsites: []\n# b\n"]
)
def test_the_first_site_makes_the_file(tmp_path, text):
    path = tmp_path / "new" / "sites.yaml"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    add_site(path, {"name": "vista", "scheduler": "slurm"})
    assert names(path) == ["vista"]
    for line in (text or "").splitlines():
        assert not line.startswith("#") or line in path.read_text()


def test_a_site_is_removed_with_its_own_lines_only(path):
    remove_site(path, "anvil")
    assert names(path) == ["delta", "box"]
    text = path.read_text()
    for kept in ("# the big one", "# as always", "# the other; ask Ann", "# last words", "# my sites"):
        assert kept in text
    assert "since March" not in text
    remove_site(path, "box")
    remove_site(path, "delta")
    assert names(path) == []
    assert "# last words" in path.read_text()


FLOW = "# mine\nsites: [{name: a, scheduler: slurm}, {name: b, scheduler: slurm}]  # short\n"


def test_a_file_in_flow_style_is_edited_too(tmp_path):
    path = tmp_path / "sites.yaml"
    path.write_text(FLOW)
    set_field(path, "b", "prefer", 2)
    add_site(path, {"name": "c", "scheduler": "slurm"})
    remove_site(path, "a")
    assert [(site.name, site.prefer) for site in load_catalogue(path, this_machine=None)] == [("b", 2), ("c", 0)]
    assert path.read_text().startswith("# mine\n")


REFUSED = [
    (lambda path: set_field(path, "delta", "poll_floor_s", -1), InvalidRequest, "line 7: poll_floor_s"),
    (lambda path: set_field(path, "delta", "acount", "x"), InvalidRequest, "did you mean 'account'?"),
    (lambda path: set_field(path, "delta", "name", "anvil"), InvalidRequest, "a site named anvil stands in line"),
    (lambda path: set_field(path, "delta", "machine", "deltta"), InvalidRequest, "did you mean 'delta'?"),
    (lambda path: set_field(path, "delta", "machine", "polaris"), InvalidRequest, "ALCF Polaris runs pbs"),
    (lambda path: set_field(path, "delta", "options", {"mem": "3G"}), InvalidRequest, "cannot set mem"),
    (lambda path: set_field(path, "delta", "options", {"a": "x\n#SBATCH -n 9"}), InvalidRequest, "a plain word for a"),
    (lambda path: set_field(path, "delta", "scheduler", None), InvalidRequest, "the site lacks scheduler"),
    (lambda path: set_field(path, "nowhere", "prefer", 1), NotFound, "its sites are: delta, anvil, box"),
    (lambda path: remove_site(path, "nowhere"), NotFound, "has no site named 'nowhere'"),
    (lambda path: add_site(path, {"name": "Delta", "scheduler": "slurm"}), Conflict, "a site named Delta already"),
    (lambda path: add_site(path, {"name": "x"}), InvalidRequest, "the site lacks scheduler"),
    (lambda path: add_site(path, {"scheduler": "slurm"}), InvalidRequest, "the site lacks name"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "error", "sentence"), REFUSED)
def test_a_bad_edit_is_refused_with_its_line_and_changes_nothing(path, edit, error, sentence):
    with pytest.raises(error) as refused:
        edit(path)
    assert sentence in refused.value.message
    assert str(path) in refused.value.message
    assert path.read_text() == CATALOGUE
    assert [each.name for each in path.parent.iterdir()] == ["sites.yaml"]


def test_a_file_that_is_broken_already_is_not_touched(path):
    path.write_text("sites:\n  - name: [\n")
    with pytest.raises(InvalidRequest, match="line 3"):
        add_site(path, {"name": "x", "scheduler": "slurm"})
    assert path.read_text() == "sites:\n  - name: [\n"


def test_the_file_is_the_users_alone_and_a_link_stays_a_link(path, tmp_path):
    path.chmod(0o644)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    set_field(link, "delta", "prefer", 1)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "prefer: 1" in path.read_text().split("anvil")[0]


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(text=WORDS, site=st.sampled_from(["delta", "anvil", "box"]))
def test_whatever_is_written_is_read_back_as_it_was(tmp_path_factory, text, site):
    path = tmp_path_factory.mktemp("edit") / "sites.yaml"
    path.write_text(CATALOGUE)
    assert set_field(path, site, "account", text).account == text
    for line in CATALOGUE.splitlines():
        if "#" in line:
            assert line in path.read_text()
