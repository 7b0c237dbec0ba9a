"""How data gets to a site, by what was seen of its copies; and what a guard binds of it. Pure."""

import re
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.agent.guard.terms import asked
from jupyter_diamond.data.listing import Entry, Listing
from jupyter_diamond.engine.staging.resolve import Seen, Target, by_rate, way_to
from jupyter_diamond.engine.staging.sights import Sight, purge_warning, replica_of, trouble_of
from jupyter_diamond.errors import DataProblem, TransportError
from jupyter_diamond.model.data import DataSize, Replica, StageIn
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.site import Site
from jupyter_diamond.parsing.locations import location_of
from jupyter_diamond.parsing.stagings import stage_in_of, stage_out_of
from tests.engine import cells

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc)
BOX = Target("box", "/scratch")


def listing(size=5, at=1, kind="folder"):
    return Listing(kind, {"a": Entry("a", size, at * 1_000_000_000)} if kind == "folder" else {})


def copy(text, found=None, *, given=True, before="", problem=None):
    location = location_of(text)
    trouble = problem or (trouble_of(location, found) if found is not None else None)
    return Seen(Replica(location=location, given=given), before, Sight(location, found, trouble))


def way(*seen, at=BOX, there=None):
    looked = None if there is None else Sight(location_of("box:/x"), there)
    return way_to("words", at, seen, lambda _: looked)


ORIGIN = copy("home:/words", listing())
VERSION = ORIGIN.sight.listing.removeprefix("sha256:")[:12]
MADE = copy(f"box:/scratch/words-{VERSION}", listing(at=9), given=False, before=listing(at=9).digest)
SILENT = TransportError("home did not answer.", outcome="unknown")


def test_what_its_user_has_at_the_site_is_used_there():
    assert way(ORIGIN, copy("box:/mine", listing(size=7)))[:2] == ("/mine", True)
    assert way(ORIGIN, at=Target("box", "/scratch", in_place=True))[:2] == ("/words", True)


def test_what_was_brought_is_used_while_both_are_as_they_were():
    assert way(ORIGIN, MADE)[:2] == (f"/scratch/words-{VERSION}", True)
    spoiled = copy(str(MADE.replica.location), listing(size=6, at=9), given=False, before=MADE.listing)
    assert not way(ORIGIN, spoiled).here
    newer = way(copy("home:/words", listing(at=2)), MADE)
    assert not newer.here
    assert newer.path != f"/scratch/words-{VERSION}"


def test_a_copy_that_nobody_wrote_down_is_known_by_its_sizes():
    assert way(ORIGIN, there=listing(at=3)).here
    assert not way(ORIGIN, there=listing(size=4)).here
    assert not way(ORIGIN, there=listing(kind="missing")).here


def test_a_file_keeps_what_its_name_ends_with():
    file = copy("home:/words.csv", Listing("file", {"": Entry("", 5, 1)}))
    there = way(file)
    assert re.fullmatch(r"/scratch/words-[0-9a-f]{12}\.csv", there.path)
    made = copy(f"delta:{there.path}", file.sight.found, given=False, before=file.sight.listing)
    assert [each.place for each in way(file, made).sources] == ["home", "delta"]


def test_sources_are_the_first_copy_and_those_that_hold_the_same():
    far = copy("delta:/words", listing(at=4))
    other = copy("anvil:/words", listing(size=9))
    assert [str(each) for each in way(ORIGIN, far, other).sources] == ["home:/words", "delta:/words"]
    sources = way(ORIGIN, far).sources
    assert [each.place for each in by_rate(sources, {"delta": 5e6}, "box")] == ["delta", "home"]
    assert [each.place for each in by_rate(sources, {}, "box")] == ["home", "delta"]


def test_where_no_place_answers_what_was_brought_before_will_do_and_it_is_said():
    silent = copy("home:/words", problem=SILENT)
    found = way(silent, MADE)
    assert (found.here, found.unseen) == (True, True)
    assert "home could not be asked" in found.why
    with pytest.raises(TransportError, match="did not answer"):
        way(silent)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([copy("home:/words", listing(kind="missing"))], "home:/words is not there"),
        ([copy("home:/words", listing(kind="unreadable"))], "home:/words cannot be read"),
        ([copy("home:/words", listing(kind="missing")), MADE], "home:/words is not there"),
        ([], "No place of words is known"),
    ],
)
def test_what_cannot_be_had_is_told_with_its_path(seen, said):
    with pytest.raises(DataProblem, match=re.escape(said)):
        way(*seen)


def test_a_copy_of_ours_that_the_site_may_delete_soon_is_told():
    site = Site(name="box", scheduler="slurm", data={"purge_days": 30})
    brought = replica_of(MADE.sight, given=False, now=NOW, site=site).replica
    assert brought.purge_at == NOW + timedelta(days=30)
    assert purge_warning("words", brought, NOW) == ""
    assert "words at box may be deleted from 2026-12-30 on" in purge_warning("words", brought, NOW + timedelta(days=24))
    assert "may have been deleted since" in purge_warning("words", brought, NOW + timedelta(days=31))
    given = replica_of(ORIGIN.sight, given=True, now=NOW, site=site).replica
    assert (given.purge_at, given.size) == (None, DataSize(bytes=5, files=1))


def test_the_digest_of_what_was_asked_changes_with_one_byte_of_what_is_staged():
    def digest(**fields):
        return asked("submit", "", {}, cells.request("1", b"", client_token="t" * 16, envelope=Envelope(**fields)))

    out = [digest(stage_out=(stage_out_of(text),)) for text in ("a=>home:/x", "a=>home:/y", "b=>home:/x")]
    one = [digest(stage_in=(each,)) for each in (StageIn(name="words"), stage_in_of("words=/x"))]
    assert len({digest(), *one, *out}) == 6
