"""The command line: ``jupyter diamond VERB``."""

from __future__ import annotations


def main() -> None:
    """The console script ``jupyter-diamond``, which ``jupyter diamond`` runs."""
    import sys

    from .main import run

    sys.exit(run(sys.argv[1:]))
