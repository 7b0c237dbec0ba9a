"""``jupyter diamond import``: a batch script as a cell, without any server."""

from __future__ import annotations

from argparse import Namespace

from jupyter_diamond.notebook.importing import imported_text, read_job

from .grammar import DONE
from .output import as_json, say


def import_job(said: Namespace) -> int:
    """What becomes of a script's options, and the cell; nothing is sent."""
    found = read_job(said.file, said.site)
    if said.json:
        as_json(found.model_dump(mode="json") | {"cell": found.cell})
    else:
        say(imported_text(found, said.file))
    return DONE
