"""What is said of data and transfers: amounts, places, states, warnings; and what may be written."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime, timedelta, timezone
from uuid import UUID

import pytest

from jupyter_diamond.errors import DiamondError, InvalidRequest, NotFound
from jupyter_diamond.model.data import Dataset, DataSize, ListedFile, Listing, Location, Replica, StageIn, StageOut
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.transfer import Progress, Transfer, TransferRequest
from jupyter_diamond.notebook import data_tables, data_verbs, data_words
from jupyter_diamond.notebook.staging_plan import staging_plan

NOW = datetime(2026, 11, 30, 14, 30, tzinfo=timezone.utc)
GB = 1 << 30
COLLECTION = UUID("4f2a91cc-0000-4000-8000-000000000001")
FAR = Location(kind="globus", collection=COLLECTION, path="/datasets/imagenet")
DELTA = Location(kind="site", site="delta", path="/scratch/imagenet")


def a_transfer(state="active", *, request=None, **facts) -> Transfer:
    asked = {"client_token": "t" * 16, "source": FAR, "destination": DELTA, "dataset": "imagenet", **(request or {})}
    base = {
        "id": "4f2a91cc77", "request": TransferRequest(**asked), "mover": "globus", "why": "Both have collections.",
        "state": state, "created_at": NOW - timedelta(minutes=9), "deadline": NOW + timedelta(hours=3),
        "state_since": NOW - timedelta(minutes=8),
        "progress": Progress(bytes_total=145 * GB, bytes_done=31 * GB, rate=88 * (1 << 20), eta_s=1326.0),
    }  # fmt: skip
    return Transfer(**{**base, **facts})


def test_a_line_says_how_much_of_how_much_how_fast_and_how_long():
    assert data_words.line(a_transfer()) == (
        "→ imagenet  ▮▮▮▮▯▯▯▯▯▯▯▯▯▯▯▯▯▯▯▯  31 GB of 145 GB · 88 MB/s · about 22 min left"
    )


def test_what_is_not_known_is_left_out_and_draws_no_bar():
    far = Progress(bytes_done=3 << 20)
    assert data_words.share_done(far) is None
    assert data_words.progress_text(far) == "3 MB"
    assert data_words.bar(None) == "▯" * 20
    assert data_words.share_done(Progress(bytes_total=0)) == 1.0


@pytest.mark.parametrize(
    ("state", "facts", "said"),
    [
        ("stalled", {"trouble": "Nothing has moved for 6 min"}, "? imagenet  ▮▮▮▮▯▯▯▯▯▯▯▯▯▯▯▯▯▯▯▯  stalled · 31 GB of"),
        ("active", {"cancel_requested_by": "you"}, "being cancelled · 31 GB of 145 GB"),
        ("cancelled", {"cancel_requested_by": "you", "ended_at": NOW}, "– imagenet  cancelled by you · 31 GB"),  # noqa: RUF001
        ("failed", {"ended_at": NOW}, "✗ imagenet  failed · 31 GB of 145 GB"),
    ],
)
def test_a_line_of_one_that_does_not_move(state, facts, said):
    assert said in data_words.line(a_transfer(state, **facts))


def test_what_arrived_and_what_had_not_to_be_moved():
    moved = Progress(bytes_total=GB, bytes_done=GB, files_total=1200, files_skipped=3, bytes_sent=GB)
    assert data_words.outcome_text(moved) == "1 GB in 1,200 files, 3 of them were there"
    nothing = moved.model_copy(update={"bytes_sent": 0})
    assert data_words.outcome_text(nothing) == "nothing had to be moved: 1 GB in 1,200 files was there"


def test_the_whole_of_one_names_both_ends_in_full_its_way_and_its_trouble():
    stuck = a_transfer("needs_you", trouble="Globus wants your consent for Delta's collection.", link="https://auth/x")
    told = data_words.transfer_text(stuck, NOW)
    assert f"from      globus://{COLLECTION}/datasets/imagenet" in told
    assert "by        Globus Transfer: Both have collections." in told
    assert "trouble   Globus wants your consent for Delta's collection." in told
    assert "open      https://auth/x" in told


def test_a_cause_without_a_full_stop_and_what_to_do_are_two_sentences():
    failed = a_transfer("failed", cause="no such file: /x", next="Name another one.", ended_at=NOW)
    assert data_words.said_of(failed) == "no such file: /x. Name another one."


def test_a_copy_says_how_old_its_look_is_and_when_the_site_deletes_it():
    copy = Replica(location=DELTA, given=True, state="here", checked_at=NOW - timedelta(minutes=3))
    assert data_words.replica_text(copy, NOW) == "delta:/scratch/imagenet: there, looked at 3 min ago"
    soon = copy.model_copy(update={"purge_at": NOW + timedelta(days=3), "given": False})
    told = data_words.replica_text(soon, NOW)
    assert told.startswith("delta:/scratch/imagenet: there (staged), looked at 3 min ago. delta deletes it from ")
    assert told.endswith("on, unless it is touched.")
    assert data_words.purge_text(copy.model_copy(update={"purge_at": NOW + timedelta(days=30)}), NOW) == ""
    late = data_words.purge_text(copy.model_copy(update={"purge_at": NOW - timedelta(days=1)}), NOW)
    assert "may delete it at any time" in late


def test_tables_have_a_row_a_copy_and_unknown_is_no_zero():
    size = DataSize(bytes=145 * GB, files=1200)
    both = Dataset(
        name="imagenet", size=size, replicas=(Replica(location=FAR, given=True), Replica(location=DELTA)),
        created_at=NOW,
    )  # fmt: skip
    none = Dataset(name="lost", created_at=NOW)
    table = data_tables.data_table([both, none], NOW)
    assert list(table.index) == ["imagenet", "imagenet", "lost"]
    assert list(table["where"]) == ["globus://4f2a91cc…/datasets/imagenet", "delta:/scratch/imagenet", ""]
    assert list(table["size"]) == ["145 GB", "145 GB", "?"]
    assert table["files"].isna().tolist() == [False, False, True]
    moves = data_tables.transfers_table([a_transfer()], NOW)
    assert moves.iloc[0]["done"] == "31 GB of 145 GB · 88 MB/s · about 22 min left"


def test_a_listing_says_what_it_leaves_out():
    files = tuple(ListedFile(path=f"{n}.npy", bytes=1 << 20) for n in range(30))
    told = data_words.listing_text(
        Listing(location=DELTA, size=DataSize(bytes=GB, files=500), digest="sha256:ab", files=files)
    )
    assert told.splitlines()[0] == "delta:/scratch/imagenet  1 GB in 500 files"
    assert told.splitlines()[1] == "      1 MB  0.npy"
    assert told.splitlines()[-1] == "and 480 files more"


# ---- what may be written


def said(add, *words):
    parser = ArgumentParser()
    add(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ad"], "data has no command 'ad'; did you mean add?"),
        (["list"], "data has no command 'list'; there are add, show, check, remove, drop."),
        (["add", "x"], "data add takes a name and a location, e.g. data add imagenet delta:/scratch/imagenet."),
        (["drop", "x", "delta", "now"], "data drop takes a name and a site, e.g. data drop imagenet delta."),
    ],
)
def test_a_wrong_line_about_data_is_told_what_to_write(words, sentence):
    with pytest.raises(DiamondError) as refused:
        data_verbs.data_said(said(data_verbs.add_data_words, *words), "data")
    assert refused.value.message == sentence


def test_two_locations_begin_a_transfer_and_one_word_does_not():
    read = data_verbs.transfer_said
    assert read(said(data_verbs.add_transfer_words), "transfer").verb == "list"
    asked = read(said(data_verbs.add_transfer_words, "delta:/x", "home:/y"), "transfer")
    assert (asked.verb, asked.words) == ("start", ("delta:/x", "home:/y"))
    assert read(said(data_verbs.add_transfer_words, "again", "4f2a"), "transfer").verb == "again"
    with pytest.raises(InvalidRequest, match=r"takes two locations, .* or show X, cancel X, again X\."):
        read(said(data_verbs.add_transfer_words, "delta:/x"), "transfer")


def test_a_relative_path_is_this_program_s(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert data_verbs.written_here("./x") == str(tmp_path / "x")
    assert data_verbs.written_here("delta:/x") == "delta:/x"
    assert data_verbs.written_here("~/x") == "~/x"


def test_only_a_copy_that_a_stage_in_made_is_one_to_delete():
    own = Dataset(name="x", replicas=(Replica(location=DELTA, given=True),), created_at=NOW)
    with pytest.raises(InvalidRequest, match="is your own"):
        data_verbs.staged_at(own, "delta")
    with pytest.raises(NotFound, match=r"No copy of x lies at anvil; there is: delta\."):
        data_verbs.staged_at(own, "anvil")
    made = own.model_copy(update={"replicas": (*own.replicas, Replica(location=DELTA))})
    assert not data_verbs.staged_at(made, "delta").given


# ---- what a dry run says


def a_plan(site="delta", seconds=2400.0) -> Decision:
    estimate = Estimate(forecast=Forecast(wait_s=0.0, method="replay"), transfer_s=seconds)
    choice = Candidate(site=site, partition="cpu", feasible=True, estimate=estimate)
    return Decision(
        made_at=NOW,
        envelope=Envelope(),
        objective="earliest_completion",
        candidates=(choice,),
        chosen=0,
        snapshot_id=1,
        mode="rules",
        sentence="",
    )


def test_a_dry_run_says_what_would_move_from_where_and_how_long_that_takes():
    size = DataSize(bytes=145 * GB, files=1200)
    far = Dataset(name="imagenet", size=size, replicas=(Replica(location=FAR, given=True),), created_at=NOW)
    wanted = Envelope(
        stage_in=(StageIn(name="imagenet"), StageIn(name="labels", source=Location(kind="home", path="/l"))),
        stage_out=(StageOut(pattern="ckpt/*.pt", destination=Location(kind="home", path="/r")), StageOut(pattern="*.log")),
    )  # fmt: skip
    assert staging_plan(wanted, a_plan(), lambda _: far) == [
        "imagenet: 145 GB in 1,200 files from globus://4f2a91cc…/datasets/imagenet to delta.",
        "labels: from home:/l to delta.",
        "That takes about 40 min, before the job is sent.",
        "ckpt/*.pt: what the job leaves of it will go to home:/r.",
        "*.log: what the job leaves of it will stay there, and be named.",
    ]
    there = far.model_copy(update={"replicas": (*far.replicas, Replica(location=DELTA, state="here"))})
    only = Envelope(stage_in=(StageIn(name="imagenet"),))
    assert staging_plan(only, a_plan(), lambda _: there) == [
        "imagenet: 145 GB in 1,200 files, at delta already; nothing is moved."
    ]
    assert staging_plan(only, a_plan(seconds=0.0), lambda _: far) == [
        "imagenet: 145 GB in 1,200 files, at delta already; nothing is moved."
    ]
    assert staging_plan(only, a_plan(seconds=None), lambda _: far)[-1].startswith("How long that takes is not known")

    def nobody(_: str) -> Dataset:
        raise NotFound("No data is called imagenet.")

    assert staging_plan(only, a_plan(), nobody) == ["imagenet: No data is called imagenet."]
