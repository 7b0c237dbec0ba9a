"""``jupyter diamond data`` and ``transfer``: data by name, and what moves."""

from __future__ import annotations

import sys
from argparse import Namespace
from datetime import datetime, timezone

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.notebook.card_text import printable
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.data_tables import DATA_HEADS, TRANSFER_HEADS, data_rows, transfer_rows
from jupyter_diamond.notebook.data_verbs import (
    Said,
    begin,
    data_said,
    staged_at,
    transfer_said,
    until_over,
    written_here,
)
from jupyter_diamond.notebook.data_words import dataset_text, line, listing_text, plan_text, said_of, transfer_text

from .grammar import DONE, FAILED
from .output import as_json, number, say, table

DATA, TRANSFER = "jupyter diamond data", "jupyter diamond transfer"


def _now() -> datetime:
    return datetime.now(timezone.utc)


def data(client: DiamondClient, said: Namespace) -> int:
    """A line a copy, or what is asked."""
    asked = data_said(said, DATA)
    if asked.verb == "list":
        found = client.datasets()
        if said.json:
            as_json({"data": found})
        elif not found:
            say(f"No data has a name yet: {DATA} add NAME LOCATION.")
        else:
            rows = data_rows(found, _now())
            lines = [[number(row[head]) if head == "files" else str(row[head]) for head in DATA_HEADS] for row in rows]
            table(DATA_HEADS, lines, right=("size", "files"))
        return DONE
    if asked.verb == "drop":
        return _drop(client, said, asked)
    name = asked.words[0]
    if asked.verb == "add":
        one = client.add_data(name, written_here(asked.words[1]), said.note)
    else:
        one = {"show": client.dataset, "check": client.check_data, "remove": client.remove_data}[asked.verb](name)
    if said.json:
        as_json(one)
    elif asked.verb == "remove":
        say(f"{name} is no name any more; its files stay where they are.")
    else:
        say(dataset_text(one, _now()))
    return DONE


def _drop(client: DiamondClient, said: Namespace, asked: Said) -> int:
    """First the listing, then, with its digest, the end of the copy."""
    name, site = asked.words
    copy = staged_at(client.dataset(name), site)
    if said.listing is None:
        found = client.data_listing(name, str(copy.location))
        if said.json:
            as_json(found)
        else:
            say(f"{listing_text(found)}\nTo delete it: {DATA} drop {name} {site} --listing {found.digest}")
        return DONE
    left = client.drop_data(name, str(copy.location), said.listing)
    if said.json:
        as_json(left)
    else:
        say(f"The copy of {name} at {site} is deleted. A stage-in makes it again where a task needs it.")
    return DONE


def transfer(client: DiamondClient, said: Namespace) -> int:
    """A line a transfer, or what is asked."""
    asked = transfer_said(said, TRANSFER)
    if asked.verb == "list":
        return _list(client, said)
    if asked.verb == "start":
        return _plan(client, said, asked) if said.dry_run else _begun(client, said, asked)
    ref = asked.words[0]
    asks = {"show": client.transfer, "cancel": client.cancel_transfer, "again": client.transfer_again}
    return _over(client, asks[asked.verb](ref), said)


def _list(client: DiamondClient, said: Namespace) -> int:
    found = client.transfers(active=True if said.active else None, limit=said.limit)
    if said.json:
        as_json({"transfers": found})
    elif not found:
        say("Nothing moves, and nothing has moved yet." if not said.active else "Nothing moves.")
    else:
        rows = transfer_rows(found, _now())
        table(TRANSFER_HEADS, [[str(row[head]) for head in TRANSFER_HEADS] for row in rows])
    return DONE


def _plan(client: DiamondClient, said: Namespace, asked: Said) -> int:
    if said.wait:
        raise InvalidRequest("--dry-run moves nothing, so there is nothing to wait for; leave one of them out.")
    plan = client.plan_transfer(*map(written_here, asked.words))
    if said.json:
        as_json(plan)
    else:
        say(plan_text(plan))
    return DONE


def _begun(client: DiamondClient, said: Namespace, asked: Said) -> int:
    source, destination = asked.words
    return _over(client, begin(client, source, destination, said), said)


def _over(client: DiamondClient, found: Transfer, said: Namespace) -> int:
    """Show it, once it has ended where that is waited for: status 1 where it did not arrive."""
    if said.wait and not found.ended:
        found = until_over(client, found, lambda news: None if said.json else _tell(news))
        if sys.stderr.isatty() and not said.json:
            sys.stderr.write("\n")
    if said.json:
        as_json(found)
    else:
        say(transfer_text(found, _now()))
    return FAILED if found.state == "failed" or (said.wait and found.state != "succeeded") else DONE


def _tell(news: Transfer) -> None:
    """How far it is: on a terminal one line that is written over."""
    text = printable(f"{line(news)} {said_of(news)}".rstrip())
    sys.stderr.write(f"\r\x1b[K{text}" if sys.stderr.isatty() else f"{text}\n")
    sys.stderr.flush()
