"""What is left on the accounts of one site, as its own command says. Balances of two sites are never added up."""

from __future__ import annotations

from .base import UtcTime, Value
from .charge import Held


class Balance(Value):
    """One account. ``left`` is in the site's own unit; it may be negative where a site lets an account run over.

    ``held`` is what the user's own tasks have taken of it since, or have reserved: ``left`` does not show it.
    """

    account: str
    left: float
    unit: str = ""
    held: tuple[Held, ...] = ()

    def taken(self, unit: str) -> float:
        """What of it is held in this unit; units are never converted."""
        return sum(each.amount for each in self.held if each.unit == unit)


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
