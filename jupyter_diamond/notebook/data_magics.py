"""What ``%diamond data`` and ``%diamond transfer`` do."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from jupyter_diamond.errors import InvalidRequest

from .data_tables import data_table, transfers_table
from .data_verbs import begin, data_said, staged_at, transfer_said, written_here
from .data_words import dataset_text, listing_text, plan_text
from .session import Session
from .text import Text
from .transfer_handle import TransferHandle

DATA, TRANSFER = "%diamond data", "%diamond transfer"


def data(session: Session, said: Any) -> Any:
    """The table, or what the line asks for."""
    asked, client, now = data_said(said, DATA), session.client, datetime.now(timezone.utc)
    if asked.verb == "list":
        return data_table(client.datasets(), now)
    name = asked.words[0]
    if asked.verb == "add":
        return Text(dataset_text(client.add_data(name, written_here(asked.words[1]), said.note), now))
    if asked.verb == "show":
        return Text(dataset_text(client.dataset(name), now))
    if asked.verb == "check":
        return Text(dataset_text(client.check_data(name), now))
    if asked.verb == "remove":
        client.remove_data(name)
        return Text(f"{name} is no name any more; its files stay where they are.")
    return Text(drop(session, name, asked.words[1], said.listing, DATA))


def drop(session: Session, name: str, site: str, listing: str | None, prog: str) -> str:
    """First the listing, then, with its digest, the end of the copy."""
    client = session.client
    copy = staged_at(client.dataset(name), site)
    if listing is None:
        found = client.data_listing(name, str(copy.location))
        return f"{listing_text(found)}\nTo delete it: {prog} drop {name} {site} --listing {found.digest}"
    client.drop_data(name, str(copy.location), listing)
    return f"The copy of {name} at {site} is deleted. A stage-in makes it again where a task needs it."


def transfer(session: Session, said: Any) -> Any:
    """The table, or what the line asks for."""
    asked, client = transfer_said(said, TRANSFER), session.client
    if asked.verb == "list":
        found = client.transfers(active=True if said.active else None, limit=said.limit)
        return transfers_table(found, datetime.now(timezone.utc))
    if asked.verb != "start":
        handle = TransferHandle(session, client.transfer(asked.words[0]))
        return handle.cancel() if asked.verb == "cancel" else handle.again() if asked.verb == "again" else handle
    source, destination = asked.words
    if said.dry_run:
        if said.wait:
            raise InvalidRequest("--dry-run moves nothing, so there is nothing to wait for; leave one of them out.")
        return Text(plan_text(client.plan_transfer(written_here(source), written_here(destination))))
    handle = TransferHandle(session, begin(client, source, destination, said))
    return handle.wait() if said.wait else handle
