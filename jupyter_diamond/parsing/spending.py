"""Caps as the settings say them: ``20 GPU-hours``, by site and account where they are for one.

A unit must be one that a site charges in: a cap that nothing ever counts against would be a false comfort.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.charge import CapScope, SpendingCap

Units = Mapping[str, Collection[str]]
"""By site the units that it charges in; empty where that is not known."""

EXAMPLE = "20 GPU-hours"
_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})(?:\.[0-9]{1,9})?"
"""With commas too, as our own sentences write it: ``1,234.57 core-hours``."""
_AMOUNT = re.compile(rf"\s*({_NUMBER})\s+([A-Za-z][A-Za-z0-9 -]{{0,40}}?)\s*")


def read_caps(scope: CapScope, said: Iterable[str], units: Units, *, setting: str) -> tuple[SpendingCap, ...]:
    """Caps that hold at every site. Raises InvalidRequest with the setting and what is wrong."""
    known = {unit for own in units.values() for unit in own}
    found = []
    for text in said:
        amount, unit = amount_of(text, setting)
        own = _same(unit, known)
        if own is None and known:
            raise InvalidRequest(
                f"{setting}: no site of yours charges in {unit}s, so a cap of {text.strip()!r} would never hold; they "
                f"charge in {_listed(known)}."
            )
        found.append(SpendingCap(scope=scope, amount=amount, unit=own or unit))
    _once([(cap.unit, None, None) for cap in found], setting)
    return tuple(found)


def read_account_caps(
    said: Mapping[str, str | Sequence[str]], units: Units, *, setting: str
) -> tuple[SpendingCap, ...]:
    """Caps by ``SITE`` or ``SITE/ACCOUNT``. Raises InvalidRequest with the setting and what is wrong."""
    found = []
    for place, texts in said.items():
        site, slash, account = place.partition("/")
        if site not in units:
            listed = ", ".join(units) or "none"
            raise InvalidRequest(f"{setting}: there is no site {site!r}; the sites are: {listed}.")
        if slash and not account:
            raise InvalidRequest(f"{setting}: {place!r} names no account; write {site} or {site}/ACCOUNT.")
        for text in (texts,) if isinstance(texts, str) else texts:
            amount, unit = amount_of(text, f"{setting}[{place!r}]")
            own = _same(unit, units[site])
            if own is None and units[site]:
                raise InvalidRequest(
                    f"{setting}[{place!r}]: {site} does not charge in {unit}s but in {_listed(units[site])}, so a cap "
                    f"of {text.strip()!r} would never hold."
                )
            found.append(
                SpendingCap(scope="account", amount=amount, unit=own or unit, site=site, account=account or None)
            )
    _once([(cap.unit, cap.site, cap.account) for cap in found], setting)
    return tuple(found)


def amount_of(text: str, setting: str) -> tuple[float, str]:
    """``2 GPU-hours`` as (2.0, ``GPU-hour``). Raises InvalidRequest with the setting."""
    parts = _AMOUNT.fullmatch(text)
    if parts is None:
        raise InvalidRequest(f"{setting}: {text!r} is no amount with its unit; write for example {EXAMPLE!r}.")
    unit = "-".join(parts[2].split())
    return float(parts[1].replace(",", "")), unit[:-1] if unit[-1:] == "s" and len(unit) > 2 else unit


def _same(unit: str, known: Collection[str]) -> str | None:
    """The unit as the site spells it."""
    return next((each for each in sorted(known) if each.casefold() == unit.casefold()), None)


def _listed(units: Collection[str]) -> str:
    return " or ".join(f"{unit}s" for unit in sorted(units))


def _once(keys: Sequence[tuple[str, str | None, str | None]], setting: str) -> None:
    for unit, site, account in keys:
        if keys.count((unit, site, account)) > 1:
            where = f"[{'/'.join(filter(None, (site, account)))!r}]" if site else ""
            raise InvalidRequest(f"{setting}{where} says twice how many {unit}s; keep one of them.")
