"""What is left on the accounts of one site, as its own command says. Balances of two sites are never added up."""

from __future__ import annotations

from .base import UtcTime, Value


class Balance(Value):
    """One account. ``left`` is in the site's own unit; it may be negative where a site lets an account run over."""

    account: str
    left: float
    unit: str = ""


class Balances(Value):
    """All accounts that a site told of at one instant. ``of`` is what the rules read.

    ``unreadable`` are lines of the table that could not be read: an account that is not here may stand in one of them.
    """

    site: str
    command: str
    read_at: UtcTime
    accounts: tuple[Balance, ...] = ()
    unreadable: tuple[str, ...] = ()

    def of(self, account: str) -> Balance | None:
        """The account's balance; None where the site did not tell it."""
        return next((each for each in self.accounts if each.account.casefold() == account.casefold()), None)
