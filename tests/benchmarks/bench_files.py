"""The receipt of many files against ``sha256sum`` of the same, in one run, each in turn.

Run: python -m tests.benchmarks.bench_files [FILES]   (default 10,000; 4 KB and 64 KB each)
Ours finds the files by a pattern, measures and digests them with the code that runs at a site, on this machine's cores;
the other is ``find … | xargs sha256sum``. Both read files that are in memory already: what is compared is not the disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from jupyter_diamond.cell.runner.diamond_runner import Attempt, Kept
from tests.benchmarks.table import load, median

ROUNDS = 5
LEAST = 0.8
"""So much of ``sha256sum``'s rate, with finding, measuring and writing down what was found."""


def ours(base: Path) -> float:
    """Seconds."""
    kept = Kept(Attempt(str(base / "attempts" / "a"), "a"), ["**"])
    kept.begin(str(base / "attempts" / "a" / "work"))
    begun = time.perf_counter()
    kept.gather()
    kept.told()
    taken = time.perf_counter() - begun
    assert all(file["sha256"] for file in kept.files)
    return taken


def theirs(base: Path) -> float:
    """Seconds."""
    begun = time.perf_counter()
    command = 'find "$0" -type f -print0 | xargs -0 sha256sum >/dev/null'
    subprocess.run(["sh", "-c", command, str(base / "attempts" / "a" / "work")], check=True)
    return time.perf_counter() - begun


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{count:,} files; {load()}\n{'MB/s':24}{'sha256sum':>12}{'ours':>12}{'ours / sha256sum':>20}")
    for size in (4096, 65_536):
        base = Path(tempfile.mkdtemp(prefix="diamond-bench-"))
        try:
            work = base / "attempts" / "a" / "work"
            for number in range(count):
                file = work / str(number // 1000) / f"{number}.bin"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(os.urandom(64) * (size // 64))
            ours(base), theirs(base)
            rounds = [(theirs(base), ours(base)) for _ in range(ROUNDS)]
            a, b = median([each for each, _ in rounds]), median([each for _, each in rounds])
            rate = count * size / 1e6
            ratio = median([one / other for one, other in rounds])
            met = "met" if ratio >= LEAST else "MISSED"
            print(f"{size // 1024:>3} KB each{'':15}{rate / a:>11.0f}{rate / b:>12.0f}{ratio:>17.2f} x   {met}")
        finally:
            shutil.rmtree(base, ignore_errors=True)


if __name__ == "__main__":
    main()
