"""What a job needs and where it may go: the same options in a cell, in a line and on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.environment import Environment
from jupyter_diamond.parsing.envelopes import OBJECTIVES, SOFTENABLE, read_envelope
from jupyter_diamond.parsing.environments import from_file, is_file
from jupyter_diamond.sites.gpus import check_gpus

_MOST_REQUIREMENTS = 64 << 10

ARCHITECTURES = ("x86_64", "aarch64")


def add_needs(parser: argparse.ArgumentParser) -> None:
    """Every option that an envelope is read from."""
    add = parser.add_argument
    add("--cpus", metavar="N[-M]", help="CPUs per node: 4, or a range 2-4 of least viable to most useful; default 1")
    add(
        "--memory",
        metavar="SIZE[-SIZE]",
        help="memory per node with its unit: 2G; 2G-8G begins at 2G; default: the site's",
    )
    add("--gpus", metavar="N[-M]", help="GPUs per node; default 0")
    add("--gpu-model", metavar="KIND[|KIND]", help="kinds of GPU that will do, in quotes: 'a100|h100'")
    add("--gpu-memory", metavar="SIZE", help="the least memory of one GPU: 40G")
    add("--arch", choices=ARCHITECTURES, help="the processors that it is built for")
    add("--time", metavar="TIME[-TIME]", help="time limit with its unit: 10m, 1h-4h; default 30m")
    add("--nodes", metavar="N[-M]", help="nodes; default 1")
    add("--site", metavar="SITE[:PARTITION]", help="there and nowhere else")
    add("--sites", metavar="SITES", help="only these, in order of preference: delta,anvil")
    add("--account", help="the allocation that pays")
    add("--qos", help="the quality of service to ask for")
    add("--fabric", help="the network between the nodes: slingshot")
    add("--container", metavar="RUNTIME", help="a container runtime that must be there: apptainer")
    add("--preemptible", action="store_true", help="a place whose jobs give way to others will do")
    add("--unknown-charge", action="store_true", help="a place whose charge is not known will do, though you set a cap")
    add("--deadline", metavar="WHEN", help="done by then, or not at all: 18:00, +6h, 2027-01-31T18:00")
    add("--max-charge", metavar="AMOUNT", help="the most that it may cost, in the site's own unit: 100")
    add("--soft", metavar="NAMES", help=f"wishes, not conditions, of {','.join(SOFTENABLE)}: gpu-memory,deadline")
    add("--objective", metavar="NAME", help=f"what is made small: {', '.join(OBJECTIVES)}; default {OBJECTIVES[0]}")
    add("--seed", metavar="N", help="makes --objective random repeatable")
    add(
        "--runtime", metavar="ESTIMATE",
        help="how long it runs, never a limit: 2h; 2h@1 on one GPU (one core, where it has no GPU); measured "
        "1:4h,4:80m",
    )  # fmt: skip
    add("--env", metavar="NAME|FILE", help="what it runs in: an environment of the site by name, or requirements.txt")
    add("--serial", metavar="SHARE", help="of --runtime TIME@UNITS, the part that more units do not speed up: 0.05")
    _add_data(parser)


def _add_data(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--stage-in", metavar="NAME[=LOCATION]", action="append",
        help="data that is there before the job starts: a name of %%diamond data, or NAME=SITE:/path; repeatable",
    )  # fmt: skip
    add(
        "--stage-out", metavar="PATTERN[=>LOCATION]", action="append",
        help="files that the job leaves, in quotes: 'ckpt/*.pt' stay and are named, 'ckpt/*.pt=>home:/results' come "
        "there; repeatable",
    )  # fmt: skip


def envelope_of(said: argparse.Namespace, gpus: Callable[[], Iterable[str]] = tuple) -> Envelope:
    """The envelope that the options of ``add_needs`` describe. Raises InvalidRequest with one sentence.

    ``gpus`` tells the kinds that the sites have now; it is asked only for a kind that is not documented. A file of
    requirements is read here, from the folder in which the line is carried out.
    """
    words = dict(vars(said))
    if words.get("env") is not None and is_file(words["env"]):
        words["env"] = _from_file(words["env"])
    envelope = read_envelope(words, now=datetime.now(timezone.utc))
    check_gpus(envelope, gpus)
    return envelope


def _from_file(path: str) -> Environment:
    file = Path(path).expanduser()
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_REQUIREMENTS + 1).decode("utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not text"
        raise InvalidRequest(f"--env {path} cannot be read here: {why}. Name a file of requirements.") from None
    if len(text) > _MOST_REQUIREMENTS:
        raise InvalidRequest(f"--env {path} is larger than {_MOST_REQUIREMENTS >> 10} KiB: it is no list of packages.")
    return from_file(path, text, f"{sys.version_info[0]}.{sys.version_info[1]}")
