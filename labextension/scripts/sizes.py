"""Weighs the labextension's bundle as a browser gets it: ``python -m labextension.scripts.sizes``.

With ``--check`` it fails where the whole is over its budget, or where ``labextension/README.md`` states another weight.
What JupyterLab brings itself (React, Lumino, its own packages) is shared at run time and is not in the bundle.
"""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

from .build import BUNDLE, SOURCES

BUDGET_KB = 600
README = SOURCES / "README.md"
_STATED = re.compile(r"\*\*(\d+) kB\*\*")
_OFF_BY = 0.1
"""Two builds in folders of different names differ in module ids: so much may the stated weight be off."""


def weights(bundle: Path = BUNDLE) -> dict[str, tuple[int, int]]:
    """Bytes and gzipped bytes of every script, the heaviest first."""
    found = {}
    for path in bundle.glob("static/*.js"):
        data = path.read_bytes()
        found[path.name] = (len(data), len(gzip.compress(data, 6, mtime=0)))
    return dict(sorted(found.items(), key=lambda each: -each[1][1]))


def complaints(total_kb: float, readme: str) -> list[str]:
    """What is wrong, one sentence each."""
    found = []
    if total_kb > BUDGET_KB:
        found.append(f"The bundle weighs {total_kb:.0f} kB gzipped; {BUDGET_KB} kB are allowed.")
    stated = _STATED.search(readme)
    if stated is None or abs(int(stated[1]) - total_kb) > _OFF_BY * total_kb:
        found.append(
            f"labextension/README.md states another weight than {total_kb:.0f} kB; write it there as **N kB**."
        )
    return found


def main(argv: list[str]) -> int:
    """Print the table; with ``--check`` also judge it."""
    found = weights()
    for name, (raw, packed) in found.items():
        print(f"{name:40} {raw / 1000:8.1f} kB {packed / 1000:8.1f} kB gzip")
    total_kb = sum(packed for _, packed in found.values()) / 1000
    print(f"{'all of it':40} {sum(raw for raw, _ in found.values()) / 1000:8.1f} kB {total_kb:8.1f} kB gzip")
    wrong = complaints(total_kb, README.read_text(encoding="utf-8")) if "--check" in argv else []
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
