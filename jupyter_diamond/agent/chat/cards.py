"""The plan card in a chat: the proposal as our labextension draws it, and the same in words for whoever has none."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jupyter_diamond.model.proposal import Proposal
from jupyter_diamond.notebook.vocabulary import wall_clock
from jupyter_diamond.placement import words
from jupyter_diamond.placement.estimate_words import about

from .markdown import code, text

MIME = "application/vnd.jupyter-diamond.proposal+json"
_KEPT = 4000
"""How much of a source and of a script stands in the chat's file; the card asks the server for all of it."""


def card(proposal: Proposal, now: datetime) -> dict[str, Any]:
    """What a message carries as its mime bundle."""
    short = proposal.model_copy(update={"source": _cut(proposal.source), "script": _cut(proposal.script)})
    return {MIME: short.model_dump(mode="json"), "text/markdown": in_words(proposal, now)}


def _cut(lines: str) -> str:
    return lines if len(lines) <= _KEPT else f"{lines[:_KEPT]}\n…"


def in_words(proposal: Proposal, now: datetime) -> str:
    """Title, place, size, wait, charge, why, what is assumed, and what to type."""
    lines = [f"**{text(proposal.title)}**", _facts(proposal), text(proposal.why)]
    lines += ["\n".join(f"- {text(note)}" for note in proposal.notes)]
    return "\n\n".join(filter(None, [*lines, standing_text(proposal, now)]))


def _facts(proposal: Proposal) -> str:
    """The title names the place and the size already."""
    facts = []
    if proposal.starts_in_s is not None:
        wait = proposal.starts_in_s
        facts.append("starts at once" if wait < 30 else f"starts in about {about(wait)}")
    facts.append(charge_text(proposal))
    return " · ".join(filter(None, facts))


def charge_text(proposal: Proposal) -> str:
    """``at most 2 GPU-hours on account abc``; that nobody pays. That it is not known stands among the notes."""
    charge = proposal.terms.charge
    if charge is None:
        return "" if proposal.terms.act in ("cancel", "hold") else "nothing is charged for it there"
    most = proposal.at_most  # with all its attempts and members, as the card says it
    if most is None:
        return ""
    account = f" on account {text(proposal.terms.account)}" if proposal.terms.account else ""
    return f"at most {text(words.charge(most, charge.unit))}{account}"


def standing_text(proposal: Proposal, now: datetime) -> str:
    """How it stands, and what to do."""
    when = wall_clock(proposal.decided_at, now) if proposal.decided_at is not None else ""
    if proposal.standing == "waiting":
        if proposal.expires_at <= now:
            return "Nobody said yes in time: it is over, and nothing was sent."
        return (
            f"Nothing is sent before you say yes: the button, or {code(f'approve {proposal.id}')}. "
            f"{code(f'deny {proposal.id}')} drops it; it waits until {wall_clock(proposal.expires_at, now)}."
        )
    if proposal.standing == "denied":
        return f"Not now{f', at {when}' if when else ''}. {text(proposal.reason)}".strip()
    if proposal.standing == "void":
        return f"No longer what was approved, so nothing was sent. {text(proposal.reason)}".strip()
    if proposal.standing == "expired":
        return "Nobody said yes in time: it is over, and nothing was sent."
    by = "by a standing budget of yours" if proposal.budget else f"at {when}" if when else ""
    done = f" Submitted as {code(proposal.task)}." if proposal.task else " Done." if proposal.standing == "done" else ""
    return f"Approved {by}.{done}".replace(" .", ".")
