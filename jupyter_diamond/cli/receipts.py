"""``jupyter diamond manifest``, ``files``, ``fetch`` and ``export``: what tasks left."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from jupyter_diamond.errors import NotFound
from jupyter_diamond.model.group import Group
from jupyter_diamond.model.receipt import FileList
from jupyter_diamond.model.task import Task
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.fetching import chosen, fetch
from jupyter_diamond.notebook.receipt_text import crate_text, receipt_text
from jupyter_diamond.notebook.task_files import COLUMNS, Files, export_folder, files_of_group, now_and_then

from .grammar import DONE
from .output import as_json, complain, say, table


def manifest(client: DiamondClient, said: Namespace) -> int:
    """The receipt of a task."""
    found = client.receipt(said.task, said.attempt)
    if said.json:
        as_json(found)
    else:
        say(receipt_text(found))
    return DONE


def files(client: DiamondClient, said: Namespace) -> int:
    """What a task or the members of a group left."""
    found, _, is_group = _files(client, said.task)
    if said.json:
        as_json({"files": found.listings})
        return DONE
    heads = (*(("member",) if is_group else ()), *COLUMNS)
    table(heads, [[str(row[head]).replace("\n", "\\n") for head in heads] for row in found.rows()], right=("size",))
    if found.note:
        say(f"Not among them: {found.note}")
    return DONE


def _files(client: DiamondClient, ref: str) -> tuple[Files, str, bool]:
    """The files, the name of whose they are, and whether that is a group."""
    found = _find(client, ref)
    if isinstance(found, Group):
        return files_of_group(client, found.id), found.name, True
    return Files([client.files(found.id)]), found.name, False


def _find(client: DiamondClient, ref: str) -> Task | Group:
    try:
        return client.task(ref)
    except NotFound:
        return client.group(ref)


def fetch_files(client: DiamondClient, said: Namespace) -> int:
    """Bring files; their paths are printed, a line each."""
    found, name, is_group = _files(client, said.task)
    listings: tuple[FileList, ...] = found.listings
    to = Path(said.to or name).expanduser()
    wanted = chosen(listings, said.PATTERN or ("**",), to, by_member=is_group)
    told = now_and_then(complain) if sys.stderr.isatty() else (lambda _: None)
    paths = fetch(client, wanted, told)
    if said.json:
        as_json({"files": [str(path.absolute()) for path in paths]})
    else:
        for path in paths:
            say(str(path).replace("\n", "\\n"))
    return DONE


def export(client: DiamondClient, said: Namespace) -> int:
    """Write an RO-Crate."""
    found = _find(client, said.task)
    folder = export_folder(found.name, said.FOLDER)
    crate = client.crate(found.id, folder, copy_bytes=said.copy, group=isinstance(found, Group))
    if said.json:
        as_json(crate)
    else:
        say(crate_text(crate))
    return DONE
