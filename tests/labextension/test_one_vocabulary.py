"""Card, wall, tables and terminal (Python) and the sidebar (TypeScript) say the same of the same."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args
from uuid import UUID

import pytest
from typescript import compile_modules, evaluate

from jupyter_diamond.model.data import Location
from jupyter_diamond.model.envelope import Envelope, Size
from jupyter_diamond.model.forecast import Estimate, Forecast
from jupyter_diamond.model.group import Group, GroupShare, MemberSummary
from jupyter_diamond.model.limits import Cap, Door
from jupyter_diamond.model.proposal import Allowance, BudgetScope, StandingBudget
from jupyter_diamond.model.snapshot import NO_LIMIT, GpuShare, NodeShape, Record, SiteReading, Snapshot
from jupyter_diamond.model.states import Outcome, Phase, ReasonClass, State
from jupyter_diamond.model.transfer import Progress, Transfer, TransferRequest, TransferState
from jupyter_diamond.notebook import (
    card_view,
    data_words,
    group_words,
    proposal_words,
    vocabulary,
    wall_text,
    wall_view,
)
from jupyter_diamond.placement import estimate_words, words

pytestmark = pytest.mark.node
NAMES = (
    "format",
    "vocabulary",
    "sizetext",
    "sitefacts",
    "tasktext",
    "explain",
    "estimatetext",
    "grouptext",
    "budgettext",
    "transfertext",
)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=timezone.utc)
SECONDS = [0, 1, 59, 60, 61, 89, 90, 299, 300, 400, 3599, 3600, 3725, 5399, 5400, 86399, 86400, 90061, 172_799, 172_800,
           200_000, 31_536_000]  # fmt: skip
COUNTS = [None, 0, 1, 2, 7, 9_999, 10_000, 12_340, 99_950, 999_499, 1_234_567]
BYTES = [0, 512, 1023, 1024, 1536, 150 << 20, (2 << 30) + 12345, 40 << 30, (1 << 40) - 1, 3 << 40, 2000 << 40]


@pytest.fixture(scope="module")
def folder(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("words")
    compile_modules(built / "node_modules" / ".bin" / "tsc", made, *NAMES)
    return made


def typescript(folder: Path, script: str, given: Any = None) -> Any:
    return evaluate(folder, NAMES, script, given)


def test_states_have_one_word_one_tone_and_one_mark(folder: Path):
    said = typescript(folder, "return given.map(each => vocabulary.stateSign(each));", [state.value for state in State])
    looks = [vocabulary.LOOK[state] for state in State]
    assert [(each["word"], each["tone"], each["shape"]) for each in said] == [
        (look.word, look.tone, look.mark) for look in looks
    ]


def transfers(pick: random.Random) -> Iterator[Transfer]:
    """Transfers of every state, with every kind of gap in what is known of them."""
    collection = UUID("4f2a91cc-0000-4000-8000-000000000001")
    places = [Location(kind="site", site="delta", path="/scratch/x y"), Location(kind="home", path="~"),
              Location(kind="globus", collection=collection, path="/data/x"), Location(kind="home", path="/")]  # fmt: skip
    for state in get_args(TransferState):
        for _ in range(12):
            progress = Progress(
                bytes_total=pick.choice([None, 0, *BYTES]), bytes_done=pick.choice(BYTES), files_total=pick.choice([None, 1, 1200]),
                files_skipped=pick.choice([0, 3]), bytes_sent=pick.choice([None, 0, 5]), rate=pick.choice([None, 0.0, 3.7, 9.2e7]),
                eta_s=pick.choice([None, 0.2, 59.6, 1326.4, 90_061.0]),
            )  # fmt: skip
            asked = TransferRequest(
                client_token="t" * 16, source=pick.choice(places), destination=pick.choice(places),
                dataset=pick.choice([None, "imagenet"]), files=pick.choice([(), (), ("a",), ("a", "b/c")]),
            )  # fmt: skip
            yield Transfer(
                id="x", request=asked, mover="copy", state=state, progress=progress, created_at=NOW, deadline=NOW,
                state_since=NOW, trouble=pick.choice(["", "It stalls"]), cause=pick.choice(["", "No such file: /x"]),
                next=pick.choice(["", "Name another."]), cancel_requested_by=pick.choice([None, "you"]),
            )  # fmt: skip


def test_transfers_read_the_same(folder: Path):
    given = list(transfers(random.Random(11)))
    said = typescript(
        folder,
        """const t = transfertext;
           return given.map(each => [t.shareDone(each.progress), t.progressText(each.progress), t.outcomeText(each.progress),
             t.route(each.request), t.whatMoves(each.request), t.transferWord(each), t.transferSaid(each),
             vocabulary.transferSign(each.state)]);""",
        [each.model_dump(mode="json") for each in given],
    )
    for each, told in zip(given, said, strict=True):
        look = vocabulary.TRANSFER[each.state]
        assert told == [
            data_words.share_done(each.progress), data_words.progress_text(each.progress),
            data_words.outcome_text(each.progress), data_words.route(each.request), data_words.what_moves(each.request),
            data_words.state_word(each), data_words.said_of(each),
            {"word": look.word, "shape": look.mark, "tone": look.tone},
        ]  # fmt: skip


def test_a_site_s_health_and_its_transport_have_one_word(folder: Path):
    said = typescript(folder, "return given.map(each => vocabulary.healthSign(each));", list(vocabulary.HEALTH))
    assert [(each["word"], each["tone"], each["shape"]) for each in said] == [
        (look.word, look.tone, look.mark) for look in vocabulary.HEALTH.values()
    ]
    ways = typescript(folder, "return given.map(vocabulary.transportWord);", [*vocabulary.TRANSPORT, "carrier-pigeon"])
    assert ways == [*vocabulary.TRANSPORT.values(), "carrier-pigeon"]


def test_every_mark_has_its_glyph():
    looks = [*vocabulary.LOOK.values(), *vocabulary.HEALTH.values(), *vocabulary.TRANSFER.values()]
    assert {look.mark for look in looks} == set(vocabulary.GLYPH)
    assert len(set(vocabulary.GLYPH.values())) == len(vocabulary.GLYPH)


def test_reasons_of_waiting_are_the_same(folder: Path):
    said = typescript(folder, "return given.map(vocabulary.reasonWord);", [each.value for each in ReasonClass])
    assert said == [card_view._REASON[each] for each in ReasonClass]


def test_times_and_amounts_read_the_same(folder: Path):
    said = typescript(
        folder,
        """return { age: given.s.map(format.age), clock: given.s.map(s => format.clock(s)), span: given.s.map(format.duration),
                    limit: given.s.map(format.limit), bytes: given.b.map(format.bytes), count: given.n.map(format.count) };""",
        {"s": SECONDS, "b": BYTES, "n": COUNTS},
    )
    assert said["age"] == [vocabulary.age(s) for s in SECONDS]
    assert said["clock"] == [vocabulary.clock(s) for s in SECONDS]
    assert said["span"] == [vocabulary.span_of_time(s) for s in SECONDS]
    assert said["limit"] == [words.duration(s) for s in SECONDS]
    assert said["bytes"] == [vocabulary.byte_size(b) for b in BYTES]
    assert said["count"] == ["?" if n is None else f"{n:,}" for n in COUNTS]


def test_sizes_and_places_read_the_same(folder: Path):
    sizes = [
        Size(walltime_s=3600), Size(cpus=4, memory_bytes=2 << 30, walltime_s=400),
        Size(nodes=2, cpus=4, gpus=1, memory_bytes=32 << 30, walltime_s=14_400), Size(gpus=2, walltime_s=172_800),
    ]  # fmt: skip
    said = typescript(folder, "return given.map(sizetext.sizeText);", [size.model_dump(mode="json") for size in sizes])
    assert said == [card_view._size(size) for size in sizes]
    places = [("delta", "gpuA100x4"), ("here", None)]
    said = typescript(folder, "return given.map(([site, partition]) => tasktext.where({ site, partition }));", places)
    assert said == [vocabulary.place_text(*place) for place in places]
    candidate = {"site": "delta", "partition": "cpu", "account": None}
    assert typescript(folder, "return explain.place(given);", candidate) == words.place("delta", "cpu")


def estimates(dice: random.Random) -> Iterator[Estimate]:
    """Waits, bands, terms and charges of every kind, with gaps."""
    spans = [0.0, 0.4, 1.0, 29.5, 59.6, 60.0, 89.0, 90.0, 600.0, 3569.0, 3571.0, 5400.0, 21_599.0, 90_061.0, 400_000.0]

    def maybe(values: list[float]) -> float | None:
        return None if dice.random() < 0.25 else dice.choice(values)

    for _ in range(400):
        low, high = sorted(dice.choice(spans) for _ in range(2))
        told = dice.random() < 0.7
        wait = maybe(spans)
        forecast = Forecast(
            wait_s=wait, low_s=low if told else None, high_s=high if told else None, method="replay",
            beyond=dice.random() < 0.1,
        )  # fmt: skip
        charges = [0.0, 0.004, 0.0449, 0.5, 0.95, 1.0, 3.25, 9.96, 9.94, 10.0, 1239.5, 2e6]
        yield Estimate(
            forecast=forecast, run_s=maybe(spans), run_assumed=dice.random() < 0.5, prepare_s=maybe(spans),
            transfer_s=maybe(spans), total_s=wait and wait + dice.choice(spans), charge=maybe(charges),
            charge_at_most=maybe(charges), charge_unit=dice.choice(["SU", "GPU-hour", ""]),
        )  # fmt: skip


def test_forecasts_terms_and_charges_read_the_same(folder: Path):
    given = list(estimates(random.Random(7)))
    said = typescript(
        folder,
        """return given.map(each => [estimatetext.starts(each.forecast), estimatetext.band(each.forecast),
                                  estimatetext.terms(each), estimatetext.charge(each)]);""",
        [each.model_dump(mode="json") for each in given],
    )
    for each, (starts, band, terms, charge) in zip(given, said, strict=True):
        assert starts == estimate_words.starts(each.forecast)
        assert band == estimate_words.band(each.forecast)
        assert terms == estimate_words.terms(each)
        assert charge == estimate_words.charge(each)


def readings(dice: random.Random, count: int) -> Snapshot:
    """Sites with every kind of gap in what is known of them."""

    def maybe(value: Any) -> Any:
        return None if dice.random() < 0.3 else value

    def number() -> Any:
        return maybe(dice.choice([0, 1, 2, 40, 519, 128_000]))

    def cap() -> Cap:
        on = dice.choice(["gpus", "cpus", "walltime_s", "running", "memory_bytes"])
        return Cap(
            on=on, per=dice.choice(["job", "you", "account"]), amount=dice.choice([1, 2, 8, 1_200, 7_200]), source="QOS normal",
            gpu_model=dice.choice([None, None, "A100", "v100"]) if on == "gpus" else None, least=dice.random() < 0.2,
            sentence=f"QOS normal: at most so much of {on}",
        )  # fmt: skip

    def record(site: str, n: int) -> Record:
        shape = NodeShape(
            cpus=64, gpus=maybe(dice.choice([0, 4])), gpu_model=maybe("a100"), gpu_memory_bytes=maybe(40 << 30), nodes=2
        )
        return Record(
            site=site, partition=f"part{n}", state=dice.choice(["up", "down", "drain", "inactive", "unknown"]), read_at=NOW,
            default=dice.random() < 0.5, shapes=(shape,) if dice.random() < 0.8 else (), nodes_total=number(),
            nodes_usable=number(), cpus_total=number(), cpus_free=number(), gpus_total=number(), gpus_free=number(),
            memory_free_bytes=maybe(dice.choice(BYTES)), pending=number(), running=number(), mine_pending=number(),
            mine_running=number(), walltime_cap_s=dice.choice([None, NO_LIMIT, *SECONDS[1:]]),
            whole_node=maybe(dice.random() < 0.5), hidden=dice.random() < 0.1, caps=tuple(cap() for _ in range(dice.choice([0, 0, 1, 3]))),
            gpu_shares=(GpuShare(kind=dice.choice(["shard", "mps"]), total=80, free=number()),) if dice.random() < 0.3 else (),
            door=maybe(Door(allow_accounts=("abc", "def"), deny_qos=("debug",))),
        )  # fmt: skip

    def site(n: int) -> SiteReading:
        name = f"site{n:02}"
        return SiteReading(
            site=name, transport=dice.choice(["local", "ssh", "globus-compute"]), scheduler=dice.choice(["slurm", "process"]),
            health=dice.choice(list(vocabulary.HEALTH)), read_at=maybe(NOW - timedelta(seconds=dice.choice([3, 260, 601]))),
            probe_s=maybe(dice.random() * 20), scheduler_version=maybe("24.11"), cluster=maybe("c"), user=maybe("ana"),
            accounting=maybe(dice.random() < 0.5), machine=maybe("Delta"), simulated=dice.random() < 0.2,
            records=tuple(record(name, k) for k in range(4)), cpus_total=number(), cpus_free=number(), gpus_total=number(),
            gpus_free=number(), pending=number(), running=number(), notes=("a note",) if dice.random() < 0.3 else (),
            unreadable=("?",) * dice.choice([0, 0, 1, 3]),
        )  # fmt: skip

    return Snapshot(id=1, taken_at=NOW, sites=tuple(site(n) for n in range(count)))


def mine(row: dict[str, Any]) -> str:
    """Where there is room for the exact number, it stands there; the sidebar and the live wall have a narrow column."""
    return re.sub(r"128,000", "128k", wall_text.mine_text(row))


@pytest.mark.parametrize("seed", range(3))
def test_the_sidebar_says_of_sites_and_partitions_what_the_wall_says(folder: Path, seed: int):
    snapshot = readings(random.Random(seed), 40)
    wall = wall_view.wall(snapshot, NOW)
    said = typescript(
        folder,
        """const { snapshot, now } = given; const { sums, simulated } = sitefacts.sums(snapshot, now);
           const sites = sitefacts.inOrder(snapshot.sites);
           return { order: sites.map(site => site.site), simulated, sums, texts: sums.map(sitefacts.sumText),
                    views: sites.map(sitefacts.siteView), rows: sites.map(sitefacts.rowsOf),
                    mine: sites.map(site => sitefacts.rowsOf(site).map(sitefacts.mineText)) };""",
        {"snapshot": snapshot.model_dump(mode="json"), "now": NOW.timestamp() * 1000},
    )
    assert said["order"] == wall["order"]
    assert (said["sums"], said["simulated"]) == (wall["strip"]["sums"], wall["strip"]["simulated"])
    assert said["texts"] == [wall_text.sum_text(total) for total in wall["strip"]["sums"]]
    for at, name in enumerate(wall["order"]):
        site, rows = wall["sites"][name], list(wall["rows"][name].values())
        assert said["views"][at] == {key: site[key] for key in ("means", "word", "tone", "title")}
        assert said["rows"][at] == rows
        assert said["mine"][at] == [mine(row) for row in rows]


def test_simulated_sites_alone_are_added_up_and_marked(folder: Path):
    demo = SiteReading(
        site="demo", transport="local", scheduler="slurm", health="online", read_at=NOW, gpus_free=4, simulated=True
    )
    snapshot = Snapshot(id=1, taken_at=NOW, sites=(demo,))
    given = {"snapshot": snapshot.model_dump(mode="json"), "now": NOW.timestamp() * 1000}
    said = typescript(folder, "return sitefacts.sums(given.snapshot, given.now);", given)
    strip = wall_view.wall(snapshot, NOW)["strip"]
    assert said == {"sums": strip["sums"], "simulated": True}


def a_group(pick: random.Random) -> Group:
    """Any group there may be."""
    phase = pick.choice(list(Phase))
    states = {state: pick.randint(1, 40) for state in pick.sample(list(State), pick.randint(0, 5))}
    shares = [
        GroupShare(site="delta", partition=pick.choice(["cpu", None]), waiting=pick.randint(0, 9), running=pick.randint(0, 1),
                   ended=pick.randint(0, 2000), wait_s=pick.choice([None, 0.0, 61.5, 600.0, 90000.0]))
        for _ in range(pick.randint(0, 3))
    ]  # fmt: skip
    return Group(
        id="g0", name="sweep", phase=phase, outcome=pick.choice(list(Outcome)) if phase is Phase.ENDED else None,
        members=sum(states.values()) + pick.choice([0, 0, 1200]), states=states, shares=tuple(shares), created_at=NOW,
        rounds=pick.randint(1, 3), envelope=Envelope(), cancel_requested_by=pick.choice([None, "you"]),
        held_by=pick.choice([None, None, "you"]),
    )  # fmt: skip


def a_member(pick: random.Random, index: int) -> MemberSummary:
    """Any member there may be: causes often differ in numbers only."""
    state = pick.choice(list(State))
    cause = pick.choice(["", "asked 32 GB", "asked 3.5 GB", "ValueError: no"])
    return MemberSummary(id=f"g0-{index}", name=f"sweep[{index}]", index=index, state=state, phase=state.phase,
                         cause=cause, created_at=NOW)  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_told_in_the_same_words(folder: Path, seed: int):
    pick = random.Random(seed)
    groups = [a_group(pick) for _ in range(60)]
    members = [[a_member(pick, index) for index in pick.sample(range(300), 40)] for _ in range(10)]
    script = """
        const {groupState, groupWord, progress, countsText, roundsText, shareText, failures, failureText} = grouptext;
        return [given.groups.map(group => [groupState(group), groupWord(group), progress(group), countsText(group),
            roundsText(group), ...group.shares.map(shareText)]),
            given.members.map(each => failures(each).map(one => failureText(one, 300)))];
    """
    given = {"groups": [group.model_dump(mode="json") for group in groups],
             "members": [[each.model_dump(mode="json") for each in some] for some in members]}  # fmt: skip
    told, failed = typescript(folder, script, given)
    assert told == [
        [group_words.state_of(group).value, group_words.group_word(group), group_words.progress(group),
         group_words.counts_text(group), group_words.rounds_text(group), *map(group_words.share_text, group.shares)]
        for group in groups
    ]  # fmt: skip
    assert failed == [
        [group_words.failure_text(replace(each, cause=""), 300) for each in group_words.failures(some)]
        for some in members
    ]


BUDGETS = [
    (BudgetScope(), Allowance(), {}),
    (BudgetScope(agent="Diamond", per="day"), Allowance(amounts=("10 GPU-hours", "5 SU"), jobs=1), {"jobs": 1.0}),
    (BudgetScope(site="delta"), Allowance(jobs=3, transferred_bytes=1024), {"GPU-hour": 0.04, "SU": 1240.4, "jobs": 0.0}),
    (BudgetScope(channel="chat:one"), Allowance(model_tokens=20_000), {"tokens": 12_345.0, "core-hour": 1.0}),
]  # fmt: skip


def test_standing_budgets_are_said_alike(folder: Path):
    made = [
        StandingBudget(
            id="b0000000001", scope=scope, allowance=allowance, used=used, set_by="ana", created_at=NOW,
            expires_at=NOW + timedelta(days=1),
        )
        for scope, allowance, used in BUDGETS
    ]  # fmt: skip
    said = typescript(
        folder,
        "return given.map(b => [budgettext.allowedSaid(b), budgettext.usedSaid(b), budgettext.scopeSaid(b)]);",
        [each.model_dump(mode="json") for each in made],
    )
    assert said == [
        [proposal_words.allowed_text(each), proposal_words.used_text(each), proposal_words.scope_text(each)]
        for each in made
    ]
