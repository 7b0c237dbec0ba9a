"""Agents end to end on three real Slurm clusters: right, rigorous, and what they took.  Run: make bench-agent

*Right* is judged by what is so, not by what the agent says: the verdict on the task, where it ran, that nothing was done
without a word. *Rigorous* is right and looked: at least one submission, one look at its state, one at its log, one check
of what was asked. Between a submission and its end no model may be asked: these calls are counted, and must be 0.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sys
import tempfile
from pathlib import Path

from tests.live.slurm import CLUSTERS, Testbed
from tests.live.slurm.testbed import sweep

from .polling import compared
from .report import Row, printed
from .scenarios import SCENARIOS
from .stage import desk_over, play


async def main() -> int:
    """Play all scenarios, or those whose names have one of the words given."""
    chosen = [each for each in SCENARIOS if not sys.argv[1:] or any(word in each.name for word in sys.argv[1:])]
    base, testbed = Path(tempfile.mkdtemp(prefix="diamond-bench-")), Testbed()
    try:
        testbed.up()
        catalogue = testbed.sites_yaml(base / "sites.yaml", base / "work")
        text = catalogue.read_text()  # a machine that is known tells what it charges
        catalogue.write_text(text.replace('- name: "delta"\n', '- name: "delta"\n    machine: delta\n'))
        async with desk_over(base, catalogue) as desk:
            rows: list[Row] = [await play(desk, tuple(CLUSTERS), each, at) for at, each in enumerate(chosen, start=1)]
            print(printed(rows))
            print(await compared(desk, tuple(CLUSTERS)))
        return 0 if all(row.good for row in rows) else 1
    finally:
        testbed.down()
        shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    sweep()
    sys.exit(asyncio.run(main()))
