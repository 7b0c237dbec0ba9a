"""The clusters by hand: ``python -m tests.live.slurm up|down|status|conf|sites|node|ctl``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from . import CLUSTERS, Testbed, TestbedError


def main(arguments: list[str] | None = None) -> int:
    """Run one command."""
    options = _parser().parse_args(arguments)
    root: Path = options.root
    if options.command not in {"up", "down"} and not (root / "state.json").exists():
        print(f"No clusters in {root}: bring them up with 'up'.", file=sys.stderr)
        return 1
    try:
        _run(options, Testbed(root))
    except TestbedError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    default = os.environ.get("TESTBED_ROOT") or str(Path(tempfile.gettempdir()) / "diamond-clusters")
    parser = argparse.ArgumentParser(prog="python -m tests.live.slurm", description="Three real Slurm clusters.")
    parser.add_argument("--root", type=Path, default=Path(default), help=f"where they live (default: {default})")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="bring up whatever is not up")
    commands.add_parser("down", help="stop everything and remove the folder")
    commands.add_parser("status", help="which daemons are alive")
    conf = commands.add_parser("conf", help="print what SLURM_CONF must be")
    sites = commands.add_parser("sites", help="write a site catalogue for jupyter_diamond")
    sites.add_argument("path", type=Path)
    sites.add_argument("--workdir", type=Path)
    node = commands.add_parser("node", help="stop or start one node")
    ctl = commands.add_parser("ctl", help="stop or start one controller")
    for command in (conf, node, ctl):
        command.add_argument("site", choices=tuple(CLUSTERS))
    node.add_argument("node")
    node.add_argument("action", choices=("down", "start"))
    ctl.add_argument("action", choices=("stop", "start"))
    return parser


def _run(options: argparse.Namespace, testbed: Testbed) -> None:
    command = options.command
    if command == "up":
        started = time.monotonic()
        testbed.up()
        steps = ", ".join(f"{name} {seconds} s" for name, seconds in testbed.seconds.items())
        print(f"{', '.join(CLUSTERS)} are up in {time.monotonic() - started:.1f} s ({steps})")
        for site in CLUSTERS:
            print(f"export SLURM_CONF={testbed.conf(site)}")
    elif command == "down":
        testbed.down()
    elif command == "status":
        for name in testbed.daemons.names():
            print(f"{name} {testbed.daemons.pid(name) or 'DEAD'}")
    elif command == "conf":
        print(testbed.conf(options.site))
    elif command == "sites":
        print(testbed.sites_yaml(options.path, options.workdir or testbed.root / "work"))
    elif command == "node":
        change = testbed.down_node if options.action == "down" else testbed.start_node
        change(options.site, options.node)
    elif command == "ctl":
        change_controller = testbed.stop_controller if options.action == "stop" else testbed.start_controller
        change_controller(options.site)


if __name__ == "__main__":
    sys.exit(main())
