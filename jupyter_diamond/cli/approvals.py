"""The user's word about what agents propose, what is allowed beforehand, the switch and the audit.

Whatever lets agents do more is asked of a person at a terminal: an agent that calls a program has none.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from datetime import datetime, timezone

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.proposal import OFF, Allowance, BudgetScope, Proposal, StandingBudget
from jupyter_diamond.notebook.card_text import printable
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.notebook.proposal_words import (
    allowed_text,
    charge_text,
    scope_text,
    standing_text,
    used_text,
    wait_text,
)
from jupyter_diamond.notebook.vocabulary import wall_clock
from jupyter_diamond.parsing.durations import parse_friendly

from .grammar import DONE, FAILED
from .output import as_json, complain, pairs, say, table


def _now() -> datetime:
    return datetime.now(timezone.utc)


def proposals(client: DiamondClient, said: Namespace) -> int:
    """Those that wait, or one with everything that an approval is bound to."""
    if said.proposal is not None:
        found = client.proposal(said.proposal)
        if said.json:
            as_json(found)
        else:
            _show(found)
        return DONE
    listed = client.proposals(standing=None if said.all else "waiting,approved")
    if said.json:
        as_json({"proposals": listed})
        return DONE
    if not client.agents().on:
        say(OFF)
    if not listed:
        say("No proposal waits for your word.")
        return DONE
    heads = ("proposal", "what", "by", "starts", "charge", "standing")
    table(heads, [
        (each.id, each.title, each.by.agent or each.by.user, wait_text(each), charge_text(each),
         standing_text(each, _now()))
        for each in listed
    ])  # fmt: skip
    return DONE


def _show(found: Proposal) -> None:
    say(found.title)
    pairs([
        ("proposal", found.id), ("standing", standing_text(found, _now())),
        ("by", f"{found.by.agent or found.by.user}, in {found.by.channel}"), ("for", found.intent),
        ("why there", found.why), ("starts", wait_text(found)), ("charge", charge_text(found)),
        ("hash", found.hash), ("result", found.result),
    ])  # fmt: skip
    for sentence in (*found.terms.data, *found.notes):
        say(f"- {sentence}")
    for sentence in found.changed:
        say(f"! Since then: {sentence}")
    if found.script:
        say(f"\n{found.script}")


def approve(client: DiamondClient, said: Namespace) -> int:
    """Show it, ask, approve what was shown, and have it done."""
    found = client.proposal(said.proposal)
    if found.standing == "waiting":
        if not said.json:
            _show(found)
        if not _agreed("approve", f"Approve {found.id}, as it is shown?"):
            say("Nothing was approved.")
            return FAILED
    done = client.approve(found.id, found.hash)
    if said.json:
        as_json(done)
    elif done.task:
        say(f"{done.title}. Done: jupyter diamond task {done.task} tells how it goes.")
    else:
        say(f"{done.title}. Done. {done.result}".rstrip())
    return DONE


def _agreed(what: str, question: str) -> bool:
    if not sys.stdin.isatty():
        raise InvalidRequest(f"{what} asks a person first, and here is none: type it in a terminal of your own.")
    sys.stderr.write(printable(f"{question} [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def deny(client: DiamondClient, said: Namespace) -> int:
    """Not now."""
    found = client.deny(said.proposal, said.reason or "")
    if said.json:
        as_json(found)
    else:
        say(f"{found.title}: not now. It is not done.")
    return DONE


def budgets(client: DiamondClient, said: Namespace) -> int:
    """What is allowed beforehand, and what was taken of it."""
    found = client.budgets()
    if said.json:
        as_json({"budgets": found})
    elif not found:
        say("Agents ask before everything: no standing budget is set.")
    else:
        rows = [
            (each.id, allowed_text(each), used_text(each), scope_text(each), wall_clock(each.expires_at, _now()))
            for each in found
        ]
        table(("budget", "allows", "taken", "where", "until"), rows)
    return DONE


def budget(client: DiamondClient, said: Namespace) -> int:
    """Set one, or revoke it."""
    if said.what == "revoke":
        if said.budget is None:
            raise InvalidRequest("Which one? jupyter diamond budgets lists them: budget revoke B.")
        return _told(client.revoke_budget(said.budget), said, "It allows nothing more; what it let pass goes on.")
    if said.budget is not None:
        raise InvalidRequest("A new budget gets its name by itself: budget set --amount '2 GPU-hours' --jobs 3.")
    scope = BudgetScope(channel=said.channel, agent=said.agent, site=said.site, per="day" if said.per_day else "all")
    allowance = Allowance(
        amounts=tuple(said.amount or ()), jobs=said.jobs, transferred_bytes=said.bytes, model_tokens=said.tokens
    )
    if not _agreed("budget set", "Let agents act within this without asking each time?"):
        say("Nothing was set.")
        return FAILED
    made = client.set_budget(scope, allowance, lasts_s=float(parse_friendly(said.how_long)))
    text = f"{allowed_text(made)}, {scope_text(made)}, until {wall_clock(made.expires_at, _now())}."
    return _told(made, said, f"Agents may use {text} jupyter diamond budget revoke {made.id} ends it.")


def _told(budget: StandingBudget, said: Namespace, sentence: str) -> int:
    if said.json:
        as_json(budget)
    else:
        say(f"{budget.id}: {sentence}")
    return DONE


def agents(client: DiamondClient, said: Namespace) -> int:
    """Whether agents may act; on, off."""
    if said.switch == "on" and not _agreed("agents on", "Let agents propose, and do what you approve or have allowed?"):
        say("Agents stay as they are.")
        return FAILED
    found = client.agents() if said.switch is None else client.switch_agents(on=said.switch == "on")
    if said.json:
        as_json(found)
    else:
        by = f" Since {wall_clock(found.at, _now())}, by {found.by}." if found.at is not None else ""
        say((f"Agents may propose, and do what you approve or have allowed.{by}") if found.on else f"{OFF}{by}")
    return DONE


def audit(client: DiamondClient, said: Namespace) -> int:
    """All lines as JSON, one a line; or whether the chain holds."""
    if not said.verify:
        for line in client.audit():
            sys.stdout.write(f"{line.model_dump_json()}\n")
        return DONE
    found = client.verify_audit()
    if said.json:
        as_json(found)
    elif found.problems:
        for problem in found.problems:
            complain(problem)
    else:
        say(f"{found.lines:,} lines, each follows from the one before. The newest: {found.newest}")
    return FAILED if found.problems else DONE
