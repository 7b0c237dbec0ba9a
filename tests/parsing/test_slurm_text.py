"""Any text at all: a parser of Slurm's answers reads it, or refuses it as unreadable; nothing else may happen."""

import contextlib
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jupyter_diamond.errors import ParseError, SchedulerError
from jupyter_diamond.parsing import (
    gpu_names,
    gres,
    jobids,
    slurm_jobs,
    slurm_limits,
    slurm_probe,
    slurm_queue,
    slurm_reservations,
    slurm_sections,
    slurm_site,
    states,
)
from jupyter_diamond.parsing.slurm_sections import FIELD, Section

CAPTURES = Path(__file__).parents[1] / "captures" / "slurm"
NOW = datetime(2026, 11, 30, 5, tzinfo=timezone.utc)

WORDS = st.sampled_from(
    ["gpu", "gpu:a100:4", "gpu:1g.10gb:7", "shard:16", "mps:200", "(IDX:0-1)", "(S:0", ")", ",", "=", "gres/gpu=4", "cpu=",
     "(null)", "N/A", "IDLE", "MIXED+", "*", "-1", "9" * 30, "²", "1K", "n[1-", "NodeName=", "PartitionName=x", "State=UP",
     "ReservationName=r", "StartTime=1796000000", "StartTime=" + "9" * 40, "Nodes=n[01-02]", "Nodes=n[1-99999999999]",
     "TRES=cpu=²", "MaxTime=x", "MaxNodes=²", "JobId=1", "JobState=R", " ", "\n", "|", FIELD, "\x00", "é", "\udcff"]
)  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=80), st.lists(WORDS, max_size=12).map("".join), st.lists(WORDS, max_size=8).map(" ".join)
)
ROW = st.lists(TEXT, max_size=20).map(FIELD.join)

PARSERS = {
    "gpus": gres.gpus_by_type, "shares": gres.shares, "shared gpus": lambda text: gres.gpus_in_shares(text, 4),
    "tres": gres.tres, "tres gpus": gres.tres_gpus, "node": slurm_probe.node, "partition": slurm_probe.partition,
    "counts": lambda text: slurm_probe.counts(text.split("\n")), "config": lambda text: slurm_probe.config([text]),
    "reservation": slurm_reservations.reservation, "own use": lambda text: slurm_limits.own_use(text.split("\n")),
    "caps": lambda text: slurm_limits.tres_caps(text, "you", "QOS x"), "table": lambda text: slurm_limits.table(text.split("\n")),
    "queue": slurm_jobs.queue_row, "accounting": lambda text: slurm_jobs.accounting_rows(text.split("\n")),
    "job": slurm_jobs.shown_job, "time": slurm_jobs.when, "exit": slurm_jobs.exit_status, "job state": states.job_state,
    "job id": jobids.parse, "job id fields": jobids.parse_fields, "node state": states.node_state,
    "jobs": lambda text: slurm_queue.site_queue("x", text.split("\n"), (), me="0", read_at=NOW, hides_others=False),
    "slice": gpu_names.slice_bytes, "named": gpu_names.named_bytes,
}  # fmt: skip


@pytest.mark.parametrize("name", PARSERS)
@given(text=st.one_of(TEXT, ROW))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_or_refused(name, text):
    with contextlib.suppress(ParseError):
        PARSERS[name](text)


@given(st.lists(TEXT, min_size=3, max_size=3), st.lists(TEXT, min_size=26, max_size=26))
@settings(max_examples=100, deadline=None)
def test_any_table_of_limits_is_read_or_told_as_unreadable(lines, cells):
    head = (CAPTURES / "22.05" / "busy" / "sacctmgr_qos.out").read_text().split("\n")[0]
    row = "|".join(cell.replace("|", "").replace("\n", "") for cell in cells)
    qos = Section(name="qos", rc=0, text="\n".join([head, row, *lines]))
    assoc = Section(name="assoc", rc=0, text="\n".join(lines))
    found, unreadable = slurm_limits.limits({"qos": qos, "assoc": assoc}, read_at=NOW, wanted=["x"])
    assert found is not None
    assert isinstance(unreadable, list)


@given(st.data())
@settings(max_examples=120, deadline=None)
@pytest.mark.parametrize("version", ["22.05", "24.11", "26.05"])
def test_a_garbled_answer_is_refused_or_what_is_left_of_it_is_possible(version, data):
    whole = (CAPTURES / version / "probe.out").read_bytes()
    place = data.draw(st.integers(0, len(whole)))
    noise = data.draw(st.binary(max_size=6))
    lost = data.draw(st.integers(0, 6))
    try:
        sections = slurm_sections.split(whole[:place] + noise + whole[place + lost :])
        reading = slurm_site.reading("x", sections, read_at=NOW)
    except SchedulerError:
        return
    for record in reading.records:
        for free, total in ((record.cpus_free, record.cpus_total), (record.gpus_free, record.gpus_total)):
            assert free is None or total is None or 0 <= free <= total


@given(st.binary(max_size=200), st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_noise_around_an_answer_never_becomes_a_reading(before, after):
    whole = (CAPTURES / "22.05" / "probe.out").read_bytes()
    clean = slurm_site.reading("x", slurm_sections.split(whole), read_at=NOW)
    try:
        noisy = slurm_site.reading("x", slurm_sections.split(before + whole + after), read_at=NOW)
    except SchedulerError:
        return
    assert noisy.records == clean.records


def test_latin_1_bytes_in_a_reason_cost_nothing():
    whole = (CAPTURES / "22.05" / "probe.out").read_bytes()
    sections = slurm_sections.split(whole)
    nodes = next(each for each in sections if each.name == "nodes")
    old = nodes.text.encode()
    new = old + b"d\xe9fectueux"  # the reason comes last
    header = b"@@nodes 0 %d\n" % len(old)
    changed = whole.replace(header + old, b"@@nodes 0 %d\n" % len(new) + new)
    assert changed != whole
    reading = slurm_site.reading("x", slurm_sections.split(changed), read_at=NOW)
    assert (reading.health, reading.unreadable) == ("online", ())


def test_a_clock_that_is_wrong_there_moves_no_reservation():
    def left(offset):
        text = (CAPTURES / "24.11" / "probe.out").read_text()
        sections = slurm_sections.split(text.encode())
        env = next(each for each in sections if each.name == "env")
        clock = int(env.text.split(FIELD)[4])
        wrong = env.model_copy(update={"text": env.text.replace(str(clock), str(clock + offset))})
        resv = next(each for each in sections if each.name == "reservations")
        start = resv.text.split("StartTime=")[1].split()[0]
        moved = resv.model_copy(update={"text": resv.text.replace(start, str(int(start) + offset))})
        rest = [each for each in sections if each.name not in ("env", "reservations")]
        reading = slurm_site.reading("x", [wrong, moved, *rest], read_at=NOW)
        return [node.free_for_s for record in reading.records for node in record.free_nodes]

    assert left(0) == left(86400) == left(-7200)
    assert any(seconds for seconds in left(0))


def test_thousands_of_unreadable_lines_are_counted_and_not_all_kept():
    sections = slurm_sections.split((CAPTURES / "22.05" / "probe.out").read_bytes())
    rubbish = Section(name="nodes", rc=0, text="rubbish\n" * 5000)
    reading = slurm_site.reading("x", [each if each.name != "nodes" else rubbish for each in sections], read_at=NOW)
    assert "5000 line(s) of the probe could not be read." in reading.notes
    assert len(reading.unreadable) == 50
    assert reading.health == "degraded"


GIVEN = {
    "billing=2,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=2": (2, 8, 2, 16 << 30),
    "cpu=1,mem=4000M,node=1": (1, 1, None, 4000 << 20),
    "cpu=1,mem=,node=x": (None, 1, None, None),
    "": None, "billing=4": None, "cpu": None, "mem=lots,cpu=1": None,
}  # fmt: skip


@pytest.mark.parametrize("text", GIVEN)
def test_what_a_job_was_given_is_read_where_accounting_says_it(text):
    found = slurm_jobs.allocated(text)
    said = None if found is None else (found.nodes, found.cpus, found.gpus, found.memory_bytes)
    assert said == GIVEN[text]


@given(TEXT)
@example("cpu=²")
@example("cpu=" + "9" * 5000)
def test_any_text_about_what_a_job_was_given_costs_no_row(text):
    slurm_jobs.allocated(text)
