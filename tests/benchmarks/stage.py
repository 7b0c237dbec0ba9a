"""What the benchmarks of the main job run on: one real Slurm cluster, one real Jupyter server, real kernels."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.live.jupyter import JupyterServer
from tests.live.kernel import Kernel
from tests.live.slurm import CLUSTERS, Testbed
from tests.live.slurm.testbed import sweep

CLUSTER = "delta"
COUNTED = ("sbatch", "squeue", "sacct", "sacctmgr", "scancel", "scontrol", "sinfo", "srun")

OURS = f"""
import json, time
%load_ext jupyter_diamond
from jupyter_diamond.notebook.binding import ExpectedNames
bound_at, _bind = {{}}, ExpectedNames.bind
def _noted(self, name, value):
    _bind(self, name, value)
    bound_at[name] = time.time()
ExpectedNames.bind = _noted

def submit(name, cell, options=""):
    line = f"{{name}} --site {CLUSTER} --cpus 1 --memory 500M --time 5m {{options}}"
    get_ipython().run_cell_magic("diamond_submit", line, cell)
    return get_ipython().user_ns[name]

def once(name):
    start = time.time()
    task = submit(name, "import time\\n%s = time.time()" % ("end_" + name), "--out end_" + name)
    returned = time.time()
    end = task.result()
    here = time.time()
    return {{"start": start, "returned": returned, "end": end, "here": here, "bound": bound_at["end_" + name],
             "folder": task.task.attempt.folder}}
"""

SUBMITIT = """
import json, os, time
os.environ["SLURM_CONF"] = {conf!r}
os.environ["PATH"] = {path!r} + os.pathsep + os.environ["PATH"] if {path!r} else os.environ["PATH"]
import submitit

def executor(**more):
    made = submitit.AutoExecutor(folder={folder!r}, cluster="slurm")
    made.update_parameters(timeout_min=5, mem_gb=0.5, slurm_partition={partition!r}, slurm_account={account!r}, **more)
    return made

default, fastest = executor(), executor(slurm_use_srun=False)

def cell():
    import time
    return time.time()

async def once(which):
    start = time.time()
    job = (default if which == "default" else fastest).submit(cell)
    returned = time.time()
    end = job.result() if which == "default" else await job.awaitable().result(poll_interval=0.05)
    return dict(start=start, accepted=returned, returned=returned, end=end, here=time.time(), bound=time.time())
"""


@dataclass
class Stage:
    """The cluster, the server and where they write."""

    base: Path
    testbed: Testbed
    server: JupyterServer

    def ours(self, notebook: str = "ours.ipynb") -> Kernel:
        """A kernel with the extension loaded and ``once(name)``, ``submit(name, cell, options)``."""
        kernel = self.server.start_kernel(notebook)
        kernel.execute(OURS)
        return kernel

    def submitit(self, notebook: str = "submitit.ipynb") -> Kernel:
        """A kernel with submitit and ``await once(which)``; its scheduler commands are counted when it is told so."""
        kernel = self.server.start_kernel(notebook)
        cluster = CLUSTERS[CLUSTER]
        kernel.execute(
            SUBMITIT.format(
                conf=str(self.testbed.conf(CLUSTER)), path=str(self.base / "count-submitit") if self.counts else "",
                folder=str(self.base / "submitit" / notebook), partition=cluster.default_partition,
                account=cluster.accounts[0],
            )
        )  # fmt: skip
        return kernel

    @property
    def counts(self) -> bool:
        """Whether scheduler commands are logged."""
        return (self.base / "count-submitit").exists()

    def commands(self, whose: str) -> list[tuple[float, str]]:
        """(when, command line) of every scheduler command that ``ours`` or ``submitit`` has run so far."""
        return counted(self.base / f"count-{whose}")


def call(kernel: Kernel, expression: str, *, seconds: float = 300) -> Any:
    """The JSON value of an expression in a kernel."""
    outputs = kernel.execute(f"print('@@' + json.dumps({expression}))", seconds=seconds)
    text = "".join(output["text"] for output in outputs if output["output_type"] == "stream")
    return json.loads(text.rpartition("@@")[2])


@contextmanager
def stage(*, counts: bool = False) -> Iterator[Stage]:
    """Bring it up for as long as the block lasts. ``counts``: log every scheduler command (1 ms more for each)."""
    base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
    sweep()
    testbed = Testbed()
    try:
        testbed.up()
        site: dict[str, Any] = testbed.site(CLUSTER, base / "work")
        if counts:
            for whose in ("ours", "submitit"):
                counting(base / f"count-{whose}")
            site["env"] = {**site["env"], "PATH": f"{base / 'count-ours'}:/usr/local/bin:/usr/bin:/bin"}
        (base / "sites.yaml").write_text(json.dumps({"sites": [site]}))
        arguments = ("--DiamondSites.this_machine=False",)
        with JupyterServer(base / "jupyter", sites=base / "sites.yaml", arguments=arguments) as server:
            yield Stage(base, testbed, server)
    finally:
        testbed.down()
        shutil.rmtree(base, ignore_errors=True)


def counting(folder: Path) -> Path:
    """A folder of scripts, for the front of a PATH, that log their call and become the real command."""
    folder.mkdir(parents=True)
    for name in COUNTED:
        real = shutil.which(name)
        if real is None:
            continue
        script = folder / name
        script.write_text(f'#!/bin/sh\necho "$(date +%s.%N) {name} $*" >>{folder}/log\nexec {real} "$@"\n')
        script.chmod(0o755)
    return folder


def counted(folder: Path) -> list[tuple[float, str]]:
    """(when, command line) of every scheduler command that went through a folder of ``counting``."""
    log = folder / "log"
    rows = [line.split(" ", 1) for line in log.read_text().splitlines()] if log.exists() else []
    return [(float(at), command) for at, command in rows]


def is_probe(line: str) -> bool:
    """Part of the reading of a site (free cores, queue lengths, what its commands can do), not of watching jobs."""
    return line.startswith(
        ("scontrol", "sinfo", "sacctmgr", "squeue -a -r -h -S", "sacct -n -X", "sacct -S", "sacct -e")
    ) or ("--help" in line)
