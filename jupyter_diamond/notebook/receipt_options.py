"""The grammar of ``manifest``, ``files``, ``fetch`` and ``export``, in magics and on the command line alike."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.parsing.memory import parse_friendly

from .options import OptionParser, positive


def add_fetch(parser: argparse.ArgumentParser) -> None:
    """What ``fetch`` takes besides the task."""
    parser.add_argument(
        "PATTERN", nargs="*", help="which files: 'ckpt/*.pt', '**/*.csv', job.out; all that it kept without one"
    )
    parser.add_argument("--to", metavar="FOLDER", help="where to (a folder of the task's name)")


def add_export(parser: argparse.ArgumentParser) -> None:
    """What ``export`` takes besides the task."""
    parser.add_argument(
        "FOLDER", nargs="?", help="where to (NAME-crate); a new folder, or an earlier export of the same"
    )
    parser.add_argument(
        "--copy", type=_bytes, metavar="SIZE", help="files up to this size are copied into it (10M); others are named"
    )


def _bytes(text: str) -> int:
    try:
        return parse_friendly(text)
    except DiamondError as problem:
        raise argparse.ArgumentTypeError(problem.message) from problem


def receipt_parsers(parser: Callable[..., OptionParser]) -> dict[str, OptionParser]:
    """Of what a task left. ``parser`` makes one that takes a task."""
    found = {
        "manifest": parser(
            "manifest", "A task's receipt: where it ran, how it ended, what it took and left.", task=True
        ),
        "files": parser("files", "The files that a task left, with size, media type and digest.", task=True),
        "fetch": parser("fetch", "Bring the files of a task that patterns name; what is here is not sent.", task=True),
        "export": parser("export", "A task or a sweep as an RO-Crate, which others can read.", task=True),
    }
    found["manifest"].add_argument("--attempt", type=positive, metavar="N", help="of this attempt; the newest")
    add_fetch(found["fetch"])
    add_export(found["export"])
    return found
