"""One transfer as a notebook holds it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timezone
from html import escape
from uuid import uuid4

from jupyter_diamond.errors import DataProblem, ServerUnavailable
from jupyter_diamond.model.transfer import Transfer, TransferState

from .card_text import printable
from .data_verbs import until_over
from .data_words import line, said_of, transfer_text
from .session import Session


class TransferHandle:
    """Ask it for its ``state``; ``wait()``, ``cancel()``, ``again()``. It shows how far it is, as asked for now."""

    def __init__(self, session: Session, found: Transfer) -> None:
        self._session = session
        self._found = found

    @property
    def id(self) -> str:
        """Its id; the beginning will do where one is asked for."""
        return self._found.id

    @property
    def found(self) -> Transfer:
        """All that is known of it, asked for now."""
        if not self._found.ended:
            self._found = self._session.client.transfer(self.id)
        return self._found

    @property
    def state(self) -> TransferState:
        """Its state now."""
        return self.found.state

    def wait(self, seconds: float | None = None) -> TransferHandle:
        """Until it has ended; the line below the cell says how far it is. Interrupting the cell does not end it.

        :raises DataProblem: it did not arrive, or not within ``seconds``.
        """
        publisher, place = self._session.publisher, f"diamond-{uuid4().hex[:12]}"
        publisher.show({"text/plain": _line(self.found)}, display_id=place)
        over = until_over(
            self._session.client,
            self._found,
            lambda news: publisher.update({"text/plain": _line(news)}, display_id=place),
            seconds=seconds,
        )
        self._found = over
        publisher.update({"text/plain": _line(over)}, display_id=place)
        if not over.ended:
            raise DataProblem(f"{self.id} has not ended within {seconds:g} s; it goes on.", kind="late", transient=True)
        if over.state != "succeeded":
            raise DataProblem(said_of(over) or f"The transfer {self.id} was {over.state}.", kind="broken")
        return self

    def cancel(self) -> TransferHandle:
        """Ask for its end; what has arrived under its temporary name is taken away."""
        self._found = self._session.client.cancel_transfer(self.id)
        return self

    def again(self) -> TransferHandle:
        """Begin a new one that asks for the same."""
        return TransferHandle(self._session, self._session.client.transfer_again(self.id))

    def __repr__(self) -> str:
        with suppress(ServerUnavailable):  # what is known already is shown
            return printable(transfer_text(self.found, datetime.now(timezone.utc)))
        return printable(transfer_text(self._found, datetime.now(timezone.utc)))

    def _repr_html_(self) -> str:
        """Its text; where it needs the user, with a link to open."""
        text = repr(self)
        link = self._found.link if self._found.state == "needs_you" else ""
        opened = ""
        if link.startswith(("https://", "http://")):
            url = escape(link, quote=True)
            opened = f'<p><a href="{url}" target="_blank" rel="noopener noreferrer">Give what it needs</a></p>'
        return f"<pre>{escape(text)}</pre>{opened}"


def _line(transfer: Transfer) -> str:
    said = said_of(transfer)
    more = f"\n{said}" if said else ""
    link = f"\n{transfer.link}" if transfer.link and not transfer.ended else ""
    return printable(f"{line(transfer)}{more}{link}")
