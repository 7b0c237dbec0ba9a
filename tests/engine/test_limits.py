"""What a user may have is asked of a site once, kept between probes, and holds in its records."""

import stat
from pathlib import Path

import pytest

from tests.engine.conftest import until

CAPTURES = Path(__file__).parents[1] / "captures" / "slurm" / "22.05" / "busy"
COMMANDS = {
    "scontrol": """case "$*" in
  *config*) cat scontrol_config.out ;; *reservation*) cat scontrol_resv.out ;;
  *partition*) cat scontrol_part.out ;; *node*) cat scontrol_node.out ;;
esac""",
    "sacctmgr": """case "$*" in *format=cluster) exit ;; esac
echo "$*" >> ASKED
case "$*" in
  *qos*) cat sacctmgr_qos.out ;;
  *withassoc*) echo cis220051 ;;
  *assoc*) sed 1q sacctmgr_assoc_all.out; grep '^[^|]*|[^|]*|root|' sacctmgr_assoc_all.out ;;
esac""",
    "squeue": ":", "sinfo": ":", "sacct": ":",
}  # fmt: skip


@pytest.mark.asyncio
async def test_limits_are_asked_once_and_kept(bench, tmp_path):
    folder, asked = tmp_path / "bin", tmp_path / "asked"
    folder.mkdir()
    for name, body in COMMANDS.items():
        (folder / name).write_text(f"#!/bin/sh\ncd {CAPTURES}\n{body.replace('ASKED', str(asked))}\n")
        (folder / name).chmod(stat.S_IRWXU)
    bench.sites_path.write_text(
        f"sites:\n  - name: v\n    scheduler: slurm\n    env: {{PATH: '{folder}:/usr/bin:/bin'}}\n"
    )
    service = await bench.start()

    async def read(after=None):
        (found,) = [each for each in (await service.refresh("v")).sites if each.site == "v"]
        return found if found.read_at and found.read_at != after else None

    first = await until(read)
    assert first.limits.default_account == "cis220051"
    ai = next(record for record in first.records if record.partition == "ai")
    assert [cap.sentence for cap in ai.caps] == ["QOS ai: at most 8 GPUs for you in all, 0 in use"]
    assert ai.shapes[0].gpu_memory_at_least_bytes == 80 << 30
    times = len(asked.read_text().splitlines())
    again = await until(lambda: read(first.read_at))
    assert (again.limits, len(asked.read_text().splitlines())) == (first.limits, times)
    assert next(record for record in again.records if record.partition == "ai").caps == ai.caps
