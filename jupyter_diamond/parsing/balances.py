"""What the commands of sites print about accounts, as (account, what is left).

Each form is documented, or was captured where it runs; the profile of a machine names its source. Lines of a table that
cannot be read are kept: an account that stands in one of them must not be taken for one without credit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from jupyter_diamond.model.machine import BalanceForm


class Rows(NamedTuple):
    """(account, left) in the order of the table, and the lines of it that could not be read."""

    accounts: tuple[tuple[str, float], ...]
    unreadable: tuple[str, ...] = ()


def read_balances(form: BalanceForm, text: str) -> Rows | None:
    """The table in an answer; None where there is none. An account with several rows has its largest."""
    found: dict[str, float] = {}
    unreadable: list[str] = []
    rows = _FORMS[form](text.splitlines())
    if rows is None:
        return None
    for line, row in rows:
        if row is None:
            unreadable.append(line.strip())
        else:
            account, left = row
            found[account] = max(left, found.get(account, left))
    return Rows(tuple(found.items()), tuple(unreadable))


_Row = tuple[str, tuple[str, float] | None]
_RULE = re.compile(r"\s*[-=]{3,}(\s+[-=]{2,})+\s*")
_NUMBER = r"-?[\d,]+(?:\.\d+)?"


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _below(lines: list[str], *heading: str) -> list[str] | None:
    """The lines of the table whose heading has these words, down to a blank line; its rule is the first of them."""
    for at, line in enumerate(lines):
        if _RULE.fullmatch(line) and all(word in " ".join(lines[max(at - 2, 0) : at]) for word in heading):
            end = next((n for n in range(at + 1, len(lines)) if not lines[n].strip()), len(lines))
            return lines[at:end]
    return None


def _accounts(lines: list[str]) -> Iterator[_Row] | None:
    """NCSA: project, description, balance and deposit in hours."""
    return _matched(_below(lines, "Project", "Balance"), rf"\s*(\S+)\s+.*?\s({_NUMBER})\s+{_NUMBER}\s*")


def _mybalance(lines: list[str]) -> Iterator[_Row] | None:
    """RCAC: account, type, limit, usage of the account, usage of the user, balance."""
    return _matched(_below(lines, "Account", "SU Balance"), rf"\s*(\S+)\s+\S+(?:\s+{_NUMBER}){{3}}\s+({_NUMBER})\s*")


def _matched(table: list[str] | None, pattern: str) -> Iterator[_Row] | None:
    if table is None:
        return None
    found = ((line, re.fullmatch(pattern, line)) for line in table[1:])
    return ((line, (each[1], _number(each[2])) if each is not None else None) for line, each in found)


def _sbank(lines: list[str]) -> Iterator[_Row] | None:
    """ALCF: a row for each suballocation; a job is paid by one of them, so the largest counts."""
    table = _below(lines, "Project", "Available Balance")
    if table is None:
        return None
    spans = [each.span() for each in re.finditer(r"-+", table[0])]
    above = lines[lines.index(table[0]) - 1]
    names = [above[start:end].strip() for start, end in spans]
    account, left = spans[names.index("Project")], spans[names.index("Available Balance")]

    def row(line: str) -> _Row:
        name, amount = line[slice(*account)].strip(), line[left[0] :].strip()
        return line, (name, _number(amount)) if name and re.fullmatch(_NUMBER, amount) else None

    return (row(line) for line in table[1:])


def _taccinfo(lines: list[str]) -> Iterator[_Row] | None:
    """TACC: two accounts a line, each with what is left and the day on which it ends."""
    start = next((at for at, line in enumerate(lines) if "Project balances for user" in line), None)
    if start is None:
        return None
    cells = []
    for line in lines[start + 1 :]:
        if not line.strip().startswith("|"):
            break
        cells += [cell for cell in line.strip().strip("|").split("|") if cell.strip() and "Avail SUs" not in cell]
    found = ((cell, re.fullmatch(rf"\s*(\S+)\s+({_NUMBER})(?:\s+\d{{4}}-\d\d-\d\d)?\s*", cell)) for cell in cells)
    return ((cell, (each[1], _number(each[2])) if each is not None else None) for cell, each in found)


_FORMS: dict[BalanceForm, Callable[[list[str]], Iterator[_Row] | None]] = {
    "accounts": _accounts, "mybalance": _mybalance, "sbank": _sbank, "taccinfo": _taccinfo,
}  # fmt: skip
