"""A site that replays recordings: the same for every viewer, marked everywhere, and closed to jobs."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.errors import InvalidRequest, SchedulerError
from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.model.site import Site
from jupyter_diamond.model.snapshot import Record, SiteReading, Snapshot
from jupyter_diamond.schedulers.registry import scheduler_for
from jupyter_diamond.transport.base import Completed

THEN = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NOW = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
TOY = Site(name="toy", scheduler="simulated")
SIMULATED = scheduler_for(TOY)


def snapshot(number: int, *, read: bool = True) -> Snapshot:
    at = THEN + timedelta(minutes=number)
    record = Record(site="delta", partition="cpu", state="up", read_at=at, pending=number)
    reading = SiteReading(
        site="delta",
        transport="ssh",
        scheduler="slurm",
        read_at=at if read else None,
        records=(record,),
        health="degraded",
    )
    return Snapshot(id=number, taken_at=at, sites=(reading,))


def probe(folder, text: str, *, name: str = "delta") -> Completed:
    path = folder / "recorded.json"
    path.write_text(text)
    env = {"PATH": "/usr/bin:/bin", "DIAMOND_SIMULATED": str(path), "DIAMOND_SIMULATED_SITE": name}
    done = subprocess.run(
        ["/bin/sh", "-c", SIMULATED.probe_script()], env=env, capture_output=True, timeout=60, check=False
    )
    return Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr)


def recorded(*numbers: int) -> str:
    return "[" + ",".join(snapshot(number).model_dump_json() for number in numbers) + "]"


def test_it_is_simulated_whatever_the_catalogue_says():
    assert TOY.simulated
    assert Site(name="toy", scheduler="simulated", simulated=False).simulated


def test_frames_follow_the_clock_in_a_circle_and_are_as_old_as_now(tmp_path):
    answer = probe(tmp_path, recorded(0, 1, 2))
    seen = [
        SIMULATED.parse_probe("toy", answer, read_at=NOW + timedelta(seconds=30 * step)).records[0].pending
        for step in range(8)
    ]
    first = seen[0]
    assert seen == [first, first, *([(first + 1) % 3] * 2), *([(first + 2) % 3] * 2), first, first]
    reading = SIMULATED.parse_probe("toy", answer, read_at=NOW)
    assert (reading.site, reading.simulated, reading.read_at, reading.health) == ("toy", True, NOW, "online")
    assert (reading.records[0].site, reading.records[0].read_at) == ("toy", NOW)


def test_one_snapshot_is_a_recording_too(tmp_path):
    answer = probe(tmp_path, snapshot(5).model_dump_json())
    assert SIMULATED.parse_probe("toy", answer, read_at=NOW).records[0].pending == 5


BROKEN = [
    ("", "delta", "is no list of snapshots"),
    ("{", "delta", "is no list of snapshots"),
    ('[{"id": 1}]', "delta", "is no list of snapshots"),
    ("[]", "delta", "holds no reading of a site delta"),
    (recorded(1), "anvil", "holds no reading of a site anvil"),
    (recorded(1), "", "holds no reading of a site toy"),
    ("[" + snapshot(1, read=False).model_dump_json() + "]", "delta", "holds no reading of a site delta"),
]


@pytest.mark.parametrize(("text", "name", "sentence"), BROKEN)
def test_a_broken_recording_is_a_failed_probe(tmp_path, text, name, sentence):
    with pytest.raises(SchedulerError, match=sentence):
        SIMULATED.parse_probe("toy", probe(tmp_path, text, name=name), read_at=NOW)


def test_a_missing_recording_says_what_to_set():
    done = subprocess.run(
        ["/bin/sh", "-c", SIMULATED.probe_script()],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    with pytest.raises(SchedulerError, match=r"DIAMOND_SIMULATED: /path/to/snapshots\.json"):
        SIMULATED.parse_probe(
            "toy", Completed(exit=done.returncode, stdout=done.stdout, stderr=done.stderr), read_at=NOW
        )


def test_no_job_is_ever_made_for_it():
    job = JobRequest(token="dmd-7f3a91c2", name="x", folder="/x", size=Size(walltime_s=60), command=("python3",))
    for act in (SIMULATED.job_script, SIMULATED.submit_command):
        with pytest.raises(InvalidRequest, match="simulated"):
            act(job)
