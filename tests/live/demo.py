"""``make demo`` runs the example notebook on a real server, ``make lab`` opens JupyterLab; ``--slurm`` on real clusters."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.live.jupyter import REPOSITORY, JupyterServer
from tests.live.kernel import CellFailed, JupyterError, Output, as_text
from tests.live.slurm import CLUSTERS, Testbed, TestbedError
from tests.live.slurm.testbed import sweep

NOTEBOOK = "01_first_job.ipynb"
_LAST_WORD_S = 60.0
INDENT = "    "


def main(arguments: list[str] | None = None) -> int:
    """Run the demo, or JupyterLab; the exit status tells whether it worked."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.demo", description=__doc__)
    parser.add_argument("--slurm", action="store_true", help="on three real Slurm clusters instead of this machine")
    parser.add_argument("--lab", action="store_true", help="open JupyterLab instead of running the notebook")
    options = parser.parse_args(arguments)
    base = Path(tempfile.mkdtemp(prefix="diamond-demo-"))
    try:
        with _clusters(base, wanted=options.slurm) as sites:
            if options.lab:
                return _lab(sites)
            return _demo(base, sites)
    except (JupyterError, TestbedError) as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(base, ignore_errors=True)


@contextmanager
def _clusters(base: Path, *, wanted: bool) -> Iterator[Path | None]:
    """Bring up the clusters for as long as the block lasts; give their catalogue."""
    if not wanted:
        yield None
        return
    sweep()
    print("Bringing up three Slurm clusters ...", flush=True)
    testbed = Testbed()
    try:
        testbed.up()
        version = ".".join(map(str, testbed.slurm_version))
        print(f"{', '.join(CLUSTERS)} are up (Slurm {version}, {sum(testbed.seconds.values()):.1f} s)\n", flush=True)
        yield testbed.sites_yaml(base / "sites.yaml", base / "work")
    finally:
        testbed.down()


def _arguments(sites: Path | None) -> tuple[str, ...]:
    """With clusters at hand, this machine is no site: the demo shall show them."""
    return ("--DiamondSites.this_machine=False",) if sites else ()


def _demo(base: Path, sites: Path | None) -> int:
    notebooks = base / "notebooks"
    shutil.copytree(REPOSITORY / "example_notebooks", notebooks)
    with JupyterServer(base, notebooks=notebooks, sites=sites, arguments=_arguments(sites)) as server:
        print(f"Jupyter server on {server.url}, running {NOTEBOOK}\n", flush=True)
        with Log(server):
            try:
                server.run_notebook(NOTEBOOK, on_cell=_show_cell, on_output=_show_output)
            except CellFailed as error:
                raise JupyterError(f"The notebook stopped: {error}\n{server.last_words()}") from error
        tasks = _ended(server)
        if not tasks:
            raise JupyterError(f"The notebook ran, but the server knows no task:\n{server.last_words()}")
        for task in tasks:
            _show_decision(server, task)
    print("To see it in JupyterLab:  make lab          (or: make lab SLURM=1)")
    return 0 if all(task["outcome"] == "OK" for task in tasks) else 1


def _ended(server: JupyterServer) -> list[dict[str, Any]]:
    """The tasks, once accounting has said the last word on each: a result is there some seconds before."""
    deadline = time.monotonic() + _LAST_WORD_S
    while True:
        tasks: list[dict[str, Any]] = server.api("GET", "tasks")["tasks"]
        if all(task["phase"] == "ENDED" for task in tasks) or time.monotonic() > deadline:
            return tasks
        time.sleep(0.2)


def _show_cell(cell: Output) -> None:
    print("\n".join(f"In  | {line}" for line in cell["source"].splitlines()), flush=True)


def _show_output(output: Output) -> None:
    text = as_text(output).rstrip()
    if text:
        print("\n".join(f"Out | {line}" for line in text.splitlines()), flush=True)


def _show_decision(server: JupyterServer, task: dict[str, Any]) -> None:
    decision = server.api("GET", f"tasks/{task['id']}/decision")
    print(f"\nDecision for {task['name']}: {task['outcome'] or task['state']} on {task['site']}")
    print(f"{INDENT}{decision['sentence']}")
    for number, candidate in enumerate(decision["candidates"]):
        place = "/".join(filter(None, (candidate["site"], candidate.get("partition"), candidate.get("account"))))
        against = [verdict["sentence"] for verdict in candidate["verdicts"] if verdict["answer"] != "pass"]
        chosen = "chosen" if number == decision["chosen"] else "feasible" if not against else "; ".join(against)
        print(f"{INDENT}{place}: {chosen}")


class Log:
    """Prints the logs of all tasks while they run."""

    def __init__(self, server: JupyterServer) -> None:
        self.server = server
        self._read: dict[str, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="demo-log", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(10)

    def _follow(self) -> None:
        last = False
        while not last:
            last = self._ended.wait(0.3)
            try:
                self._print_news()
            except (JupyterError, httpx.TransportError) as error:
                print(f"Log | cannot be read: {error}", flush=True)
                return

    def _print_news(self) -> None:
        for task in self.server.api("GET", "tasks")["tasks"]:
            offset = self._read.get(task["id"], 0)
            chunk = self.server.api("GET", f"tasks/{task['id']}/logs", params={"offset": offset})
            for line in chunk["text"].splitlines():
                print(f"Log | {task['name']}: {line}", flush=True)
            self._read[task["id"]] = chunk["next_offset"]


def _lab(sites: Path | None) -> int:
    """JupyterLab in the foreground with the user's own Jupyter folders, on the example notebooks."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={REPOSITORY / 'example_notebooks'}"]
    if os.geteuid() == 0:
        command.append("--allow-root")
    env = dict(os.environ)
    if sites is not None:
        env["JUPYTER_DIAMOND_SITES"] = str(sites)
    started = time.monotonic()
    code = os.spawnvpe(os.P_WAIT, sys.executable, [*command, *_arguments(sites)], env)
    if code and time.monotonic() - started < 5:
        print("JupyterLab stopped at once; its message stands above.", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
