"""Proposals and budgets in a store."""

from __future__ import annotations

from datetime import timedelta

from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.proposal import (
    Allowance,
    BudgetScope,
    Need,
    Proposal,
    Speaker,
    StandingBudget,
    Terms,
)
from tests.store.store_samples import SIZE, at

ADA = Speaker(user="ada")
BOT = Speaker(user="ada", agent="Diamond", channel="chat:one")
CHARGE = Charge(unit="core-hour", at_most=2.0, per_hour=12.0)


def proposed(number=1, *, seconds=0.0, lasts_s=600.0, by=BOT, charge=CHARGE, act="submit", **fields):
    """A proposal that is not stored yet; ``seconds`` after the beginning."""
    terms = Terms(
        act=act, site="alpha", partition="short", size=SIZE, charge=charge, request_sha256="1" * 64,
        bundle_sha256="2" * 64, script_sha256="3" * 64,
    )  # fmt: skip
    return Proposal(
        id=f"p{number:010x}", hash=terms.hash, terms=terms, title="Run fit at alpha:short", by=by, asked="a" * 64,
        source="print('the source')", script="#!/bin/bash\n", created_at=at(seconds),
        expires_at=at(seconds) + timedelta(seconds=lasts_s), **fields,
    )  # fmt: skip


def made(store, number=1, **fields):
    """One that waits."""
    return store.proposals.make(proposed(number, **fields), "{}", b"data")


def approved(store, number=1, seconds=1.0, **fields):
    """One that a person has approved."""
    found = made(store, number, **fields)
    return store.proposals.approve(found.id, found.hash, ADA, at=at(seconds), until=at(seconds + 600))


def budget(store, number=1, *, seconds=0.0, lasts_s=86_400.0, scope=None, **allowance):
    """A standing budget of ADA's."""
    kept = StandingBudget(
        id=f"b{number:010x}", scope=BudgetScope(**(scope or {})), allowance=Allowance(**allowance), set_by="ada",
        created_at=at(seconds), expires_at=at(seconds) + timedelta(seconds=lasts_s),
    )  # fmt: skip
    return store.budgets.put(kept, ADA, at(seconds))


def costs(amount=2.0, unit="core-hour", jobs=1, **fields):
    return Need(amounts={unit: amount} if amount else {}, jobs=jobs, **fields)
