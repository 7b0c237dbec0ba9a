"""What the extension costs a server on which nothing happens: two servers side by side, one without it.

Run: python -m tests.benchmarks.bench_idle   (SECONDS=60). The sites are this machine and, where they can be brought up,
three Slurm clusters, so that the probes of a minute are in. Processor time includes that of ended child processes.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.benchmarks.table import load, verdict
from tests.live.jupyter import JupyterServer
from tests.live.slurm import CLUSTERS, Testbed, TestbedError
from tests.live.slurm.testbed import sweep

CALM, CALM_LOOKS, SETTLE_S = 0.05, 5, 120
"""A server has started when it used less than this part of a core in so many seconds in a row; how long that may take."""
MB = 1e6


@dataclass(frozen=True)
class Cost:
    """Seconds of a core so far, and bytes now."""

    cpu: float
    rss: int
    pss: int


def cost(server: JupyterServer) -> Cost:
    """What a server's process has used."""
    assert server.process is not None
    process = psutil.Process(server.process.pid)
    memory = process.memory_full_info()
    return Cost(sum(process.cpu_times()[:4]), memory.rss, memory.pss)


@contextmanager
def slurm(base: Path) -> Iterator[Path | None]:
    """A catalogue of three clusters; None where they cannot be had."""
    try:
        sweep()
        testbed = Testbed()
    except TestbedError as why:
        print(f"without Slurm sites: {why}")
        yield None
        return
    try:
        testbed.up()
        yield testbed.sites_yaml(base / "sites.yaml", base / "work")
    finally:
        testbed.down()


def without_extension(base: Path) -> JupyterServer:
    """The same server, our extension switched off."""
    server = JupyterServer(base)
    switch = {"ServerApp": {"jpserver_extensions": {"jupyter_diamond": False}}}
    (base / "config" / "jupyter_server_config.d" / "jupyter_diamond.json").write_text(json.dumps(switch))
    return server


def settle(*servers: JupyterServer) -> None:
    """Wait until every site was read and every server is calm: starting is not what is measured."""
    calm, deadline = 0, time.monotonic() + SETTLE_S
    spent = [cost(server).cpu for server in servers]
    while calm < CALM_LOOKS:
        assert time.monotonic() < deadline, f"The servers are not calm after {SETTLE_S} s."
        time.sleep(1.0)  # the stretch over which processor time is compared: nothing ends it sooner
        now = [cost(server).cpu for server in servers]
        busy = any(late - early > CALM for early, late in zip(spent, now, strict=True))
        read = all(site["read_at"] for site in servers[-1].api("GET", "sites")["sites"])
        calm, spent = (calm + 1 if read and not busy else 0), now


def main() -> None:
    seconds = float(os.environ.get("SECONDS", "60"))
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    try:
        with ExitStack() as stack:
            sites = stack.enter_context(slurm(base))
            bare = stack.enter_context(without_extension(base / "bare"))
            ours = stack.enter_context(JupyterServer(base / "ours", sites=sites))
            assert bare.client.get("jupyter_diamond/api/status").status_code == 404
            assert ours.api("GET", "status")["advances_work"]
            settle(bare, ours)
            before = [cost(server) for server in (bare, ours)]
            time.sleep(seconds)  # the time that is measured: nothing ends it sooner
            after = [cost(server) for server in (bare, ours)]
            show(before, after, seconds, sites)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def show(before: list[Cost], after: list[Cost], seconds: float, sites: Path | None) -> None:
    """The table, and what the targets say of it."""
    names = ", ".join(("this machine", *(CLUSTERS if sites else ())))
    print(
        f"idle for {seconds:.0f} s, sites: {names}; {load()}\n{'':24}{'without':>10}{'with':>10}{'more':>10}{'ratio':>8}"
    )
    cpu = [100 * (late.cpu - early.cpu) / seconds for early, late in zip(before, after, strict=True)]
    lines = {
        "% of a core": cpu,
        "resident memory, MB": [late.rss / MB for late in after],
        "its own share (PSS), MB": [late.pss / MB for late in after],
    }
    for what, (bare, ours) in lines.items():
        print(f"{what:24}{bare:10.2f}{ours:10.2f}{ours - bare:10.2f}{ours / max(bare, 0.01):8.2f}")
    print(f"processor: {cpu[1]:.2f} % of a core (target: under 1): {verdict(cpu[1], 1)}")
    more = lines["resident memory, MB"][1] - lines["resident memory, MB"][0]
    print(f"memory: {more:.0f} MB more (target: under 80): {verdict(more, 80)}")


if __name__ == "__main__":
    main()
