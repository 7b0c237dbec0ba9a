"""What agents proposed, and what became of it: every step is one transaction with its event and its line of the audit.

Whether an act may be done is decided in the very transaction that says it begins: the switch, the word or the budget,
the time, and foreign text in the conversation are read there, so none of them can change in between.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from jupyter_diamond.errors import ApprovalVoid, DiamondError, NeedsApproval, NotFound, PolicyBlocked
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.event import EventType
from jupyter_diamond.model.proposal import OFF, Need, Proposal, Speaker, Standing

from . import audit, budgets, eventlog
from .audit import Detail
from .database import Database
from .proposal_words import OTHER, foreign_since, refusal, when
from .rows import stored
from .schema import channels, proposals
from .switches import agents

MOST_WAITING = 50
"""Of one channel: nobody reads more."""
_OPEN: tuple[Standing, ...] = ("waiting", "approved")


class Proposals:
    """The proposals of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # ---- looking

    def get(self, proposal_id: str) -> Proposal:
        """A proposal by its id. Raises NotFound."""
        with self._database.read() as connection:
            return _get(connection, proposal_id)

    def list(
        self, standing: Collection[Standing] = (), channel: str | None = None, limit: int = 100
    ) -> tuple[Proposal, ...]:
        """Proposals, newest first."""
        query = select(proposals.c.body).order_by(proposals.c.row.desc()).limit(limit)
        if standing:
            query = query.where(proposals.c.standing.in_(standing))
        if channel is not None:
            query = query.where(proposals.c.channel == channel)
        with self._database.read() as connection:
            return tuple(stored(Proposal, body) for body in connection.execute(query).scalars())

    def sent(self, proposal_id: str) -> tuple[str, bytes]:
        """What is to be sent: the request as JSON, empty where there is none, and its inputs."""
        with self._database.read() as connection:
            query = select(proposals.c.request, proposals.c.bundle).where(proposals.c.id == proposal_id)
            request, bundle = connection.execute(query).one()
            return str(request), bytes(bundle)

    def same(self, asked: str, by: Speaker, *, since: datetime) -> tuple[Proposal, ...]:
        """What the same agent asked for by the same words in the same channel since then, newest first."""
        query = select(proposals.c.body).where(
            proposals.c.channel == by.channel,
            proposals.c.created_at >= since.timestamp(),
            func.json_extract(proposals.c.body, "$.asked") == asked,
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(proposals.c.row.desc())).scalars()
            found = [stored(Proposal, body) for body in rows]
        return tuple(each for each in found if each.by.agent == by.agent)

    # ---- what becomes of them

    def make(self, made: Proposal, request: str, bundle: bytes) -> Proposal:
        """Keep a new one. Raises PolicyBlocked where the channel has very many that wait, or agents are off."""
        with self._database.write() as connection:
            if not agents(connection).on:
                raise PolicyBlocked(OFF)
            theirs = (proposals.c.standing == "waiting") & (proposals.c.channel == made.by.channel)
            if connection.execute(select(func.count()).where(theirs)).scalar_one() >= MOST_WAITING:
                raise PolicyBlocked(
                    f"{MOST_WAITING} proposals of this conversation wait for a word already; nothing more is proposed "
                    "until some of them have one."
                )
            row = {
                "id": made.id, "standing": made.standing, "channel": made.by.channel,
                "created_at": made.created_at.timestamp(), "expires_at": made.expires_at.timestamp(),
                "body": made.model_dump_json(), "request": request, "bundle": bundle,
            }  # fmt: skip
            connection.execute(insert(proposals).values(**row))
            told = {
                "act": made.terms.act, "site": made.terms.site, "agent": made.by.agent, "channel": made.by.channel,
                "hash": made.hash, "expires_at": made.expires_at.timestamp(),
            }  # fmt: skip
            _tell(connection, made, "approval.requested", told, at=made.created_at)
            _note(connection, made, "proposal.made", made.by, made.created_at)
            return made

    def approve(self, proposal_id: str, hash_: str, by: Speaker, *, at: datetime, until: datetime) -> Proposal:
        """Let it be done. Approving again is the same. Raises ApprovalVoid, PolicyBlocked."""
        with self._database.write() as connection:
            found = _get(connection, proposal_id)
            same = found.hash == hash_
            if same and found.standing in ("approved", "done"):
                return found
            problem = _off(connection) or _void(found, refusal(found, at) if same else OTHER)
            if problem is None:
                said = {"standing": "approved", "decided_by": by.user, "decided_at": at}
                found = _change(connection, found, {**said, "expires_at": until, "reason": ""})
                _tell(connection, found, "approval.granted", {"by": by.user, "hash": found.hash}, at=at)
                _note(connection, found, "proposal.approved", by, at)
                return found
            why = problem.code if same else "another hash"
            _blocked(connection, found, by, why, at, what="approval.refused")
        raise problem

    def deny(self, proposal_id: str, reason: str, by: Speaker, at: datetime) -> Proposal:
        """Let it not be done. Raises ApprovalVoid where it was done already, or is being done."""
        with self._database.write() as connection:
            found = _get(connection, proposal_id)
            if found.standing == "done" or (found.standing == "approved" and found.began_at is not None):
                said = refusal(found, at) or f"{found.title}: that is being done; cancel what comes of it."
                raise ApprovalVoid(said, evidence=(proposal_id,))
            if found.standing in _OPEN:
                changes = {"standing": "denied", "reason": reason, "decided_by": by.user, "decided_at": at}
                found = _change(connection, found, changes)
                budgets.release(connection, found.id)
                _tell(connection, found, "approval.denied", {"by": by.user}, at=at)
                _note(connection, found, "proposal.denied", by, at)
            return found

    def begin(self, proposal_id: str, need: Need | None, by: Speaker, at: datetime) -> Proposal:
        """Say that it is about to be done, where it may be. ``need``: what it takes of a standing budget; None: none
        can allow it. Raises NeedsApproval, ApprovalVoid, PolicyBlocked: nothing may be done then.
        """
        with self._database.write() as connection:
            found = _get(connection, proposal_id)
            if found.standing == "done":
                return found
            problem = _off(connection) or _void(found, refusal(found, at))
            if problem is None:
                found, problem = self._allowed(connection, found, need, by, at)
            if problem is None:
                if found.began_at is None:
                    found = _change(connection, found, {"began_at": at})
                    _note(connection, found, "act.begun", by, at)
                return found
            if not isinstance(problem, NeedsApproval):
                _blocked(connection, found, by, f"{problem.code}, it is {found.standing}", at)
        raise problem

    @staticmethod
    def _allowed(
        connection: Connection, found: Proposal, need: Need | None, by: Speaker, at: datetime
    ) -> tuple[Proposal, DiamondError | None]:
        """By what it is allowed: a word that still counts, or a standing budget; else the error that says what lacks.

        A word that an agent relies on has to be newer than the text from outside that the agent has read.
        """
        foreign = _foreign(connection, found.by.channel, by.channel)
        if found.standing == "approved":
            given = found.decided_at if found.budget is None else None
            if foreign is None or given is None or foreign < given or by.agent is None or found.began_at is not None:
                return found, None
            why = f"since you approved it, {foreign_since(foreign)}"
            again: dict[str, Any] = {"standing": "waiting", "reason": why, "decided_by": None, "decided_at": None}
            return _change(connection, found, again), _needs(found, why)
        if foreign is not None:
            return found, _needs(found, f"{foreign_since(foreign)}, so standing budgets do not count")
        if need is None or by.agent is None:
            return found, _needs(found, "")
        budget, why_not = budgets.cover(connection, found.id, need, found.by, site=found.terms.site, at=at)
        if budget is None:
            return found, _needs(found, why_not)
        found = _change(connection, found, {"standing": "approved", "budget": budget.id, "decided_at": at})
        _tell(connection, found, "approval.granted", {"budget": budget.id, "hash": found.hash}, at=at)
        _note(connection, found, "proposal.covered", by, at, {"budget": budget.id, **need.amounts})
        return found, None

    def finish(
        self,
        proposal_id: str,
        by: Speaker,
        at: datetime,
        *,
        task: str | None = None,
        result: str = "",
        used: bool = True,
    ) -> Proposal:
        """It was done. ``used`` False: nothing new came of it, so it takes nothing of a budget."""
        with self._database.write() as connection:
            found = _get(connection, proposal_id)
            if found.standing == "done":
                return found
            changes = {"standing": "done", "task": task, "result": result, "reason": ""}
            found = _change(connection, found, changes)
            if not used:
                budgets.release(connection, found.id)
            told = {"act": found.terms.act, "task": task, "budget": found.budget}
            _tell(connection, found, "approval.used", told, at=at)
            _note(connection, found, "act.done", by, at, {"task": task, "result_bytes": len(result.encode())})
            return found

    def void(self, proposal_id: str, reason: str, by: Speaker, at: datetime, *, code: str = "") -> Proposal:
        """What was approved is not what would happen: it is never done, and takes nothing of a budget.

        ``code``: that of an error, whose words may be a site's: they are shown to the user, and stand in no audit.
        """
        with self._database.write() as connection:
            found = _get(connection, proposal_id)
            if found.standing not in _OPEN:
                return found
            found = _change(connection, found, {"standing": "void", "reason": reason})
            budgets.release(connection, found.id)
            _blocked(connection, found, by, code or reason, at, what="proposal.void")
            return found

    def blocked(self, proposal_id: str | None, by: Speaker, why: str, at: datetime) -> None:
        """Note that something was refused to somebody."""
        with self._database.write() as connection:
            found = None if proposal_id is None else _find(connection, proposal_id)
            _blocked(connection, found, by, why, at)

    def seen(self, proposal_id: str) -> Proposal:
        """The agent has seen what came of it."""
        with self._database.write(asked_again=True) as connection:
            found = _get(connection, proposal_id)
            return found if found.told else _change(connection, found, {"told": True})

    def expire(self, at: datetime) -> None:
        """Let those go for which it is too late."""
        late = proposals.c.standing.in_(_OPEN) & (proposals.c.expires_at <= at.timestamp())
        query = select(proposals.c.body).where(late)
        with self._database.read() as connection:
            if connection.execute(query).first() is None:
                return
        with self._database.write() as connection:
            for body in connection.execute(query).scalars().all():
                found = stored(Proposal, body)
                if found.began_at is None:
                    found = _change(connection, found, {"standing": "expired"})
                    budgets.release(connection, found.id)
                    _note(connection, found, "proposal.expired", found.by, at)

    # ---- foreign text

    def foreign(self, channel: str, at: datetime | None) -> None:
        """Note when text from outside last came into a channel's context; None: there is none in it any more."""
        row = {"foreign_text_at": None if at is None else at.timestamp()}
        changed = {"channel": channel, "changed_at": 0.0 if at is None else at.timestamp(), "body": "{}"}
        put = upsert(channels).values(**row, **changed)
        with self._database.write(asked_again=at is None) as connection:
            connection.execute(put.on_conflict_do_update(index_elements=["channel"], set_=row))

    def foreign_since(self, channel: str) -> datetime | None:
        """When text from outside last came into the channel's context."""
        with self._database.read() as connection:
            return _foreign(connection, channel)


def _off(connection: Connection) -> DiamondError | None:
    return None if agents(connection).on else PolicyBlocked(OFF)


def _void(found: Proposal, why: str) -> DiamondError | None:
    return ApprovalVoid(why, evidence=(found.id,)) if why else None


def _needs(found: Proposal, why: str) -> NeedsApproval:
    because = f" It waits because {why}." if why else ""
    return NeedsApproval(
        f"{found.title}: this needs your approval first ({found.id}, until {when(found.expires_at)}).{because}",
        evidence=(found.id,),
    )


def _foreign(connection: Connection, *names: str) -> datetime | None:
    query = select(func.max(channels.c.foreign_text_at)).where(channels.c.channel.in_(names))
    found = connection.execute(query).scalar()
    return None if found is None else from_epoch(found)


def _find(connection: Connection, proposal_id: str) -> Proposal | None:
    body = connection.execute(select(proposals.c.body).where(proposals.c.id == proposal_id)).scalar()
    return None if body is None else stored(Proposal, body)


def _get(connection: Connection, proposal_id: str) -> Proposal:
    found = _find(connection, proposal_id)
    if found is None:
        raise NotFound(f"There is no proposal {proposal_id[:40]!r}.")
    return found


def _change(connection: Connection, found: Proposal, changes: dict[str, Any]) -> Proposal:
    found = found.model_copy(update=changes)
    row = {"standing": found.standing, "expires_at": found.expires_at.timestamp(), "body": found.model_dump_json()}
    connection.execute(update(proposals).where(proposals.c.id == found.id).values(**row))
    return found


def _tell(connection: Connection, found: Proposal, kind: EventType, told: dict[str, Any], *, at: datetime) -> None:
    eventlog.append(connection, kind, f"proposal:{found.id}", told, at=at)


def _note(  # noqa: PLR0917 - who, what and when are what a line is made of
    connection: Connection, found: Proposal, what: str, by: Speaker, at: datetime, more: Detail | None = None
) -> None:
    """A line of the audit: what it is about by digests, the place, the size and the charge; no word of a source."""
    terms, charge = found.terms, found.terms.charge
    detail: dict[str, str | int | float | bool | None] = {
        "act": terms.act, "about": terms.subject, "site": terms.site, "partition": terms.partition,
        "account": terms.account, "members": terms.members, "request_sha256": terms.request_sha256,
        "bundle_sha256": terms.bundle_sha256, "script_sha256": terms.script_sha256,
        "proposed_by": found.by.agent or found.by.user, "proposed_in": found.by.channel,
        "at_most": found.at_most, "unit": charge.unit if charge is not None else None, "budget": found.budget,
        "arguments_sha256": _digest(terms.arguments), **(more or {}),
    }  # fmt: skip
    told = {name: value for name, value in detail.items() if value not in (None, "")}
    audit.append(connection, what, by, subject=f"proposal:{found.id}", hash_=found.hash, detail=told, at=at)


def _digest(arguments: Mapping[str, str]) -> str:
    """Of a command, or a file's name: an agent may have put into them what it read somewhere."""
    if not arguments:
        return ""
    return hashlib.sha256(json.dumps(dict(arguments), sort_keys=True).encode()).hexdigest()


def _blocked(  # noqa: PLR0917 - as above
    connection: Connection,
    found: Proposal | None,
    by: Speaker,
    why: str,
    at: datetime,
    what: str = "act.refused",
) -> None:
    """``why`` is in words of ours, without any that came from elsewhere."""
    told = {"why": why[:500], "user": by.user, "agent": by.agent, "channel": by.channel}
    subject = "agents" if found is None else f"proposal:{found.id}"
    eventlog.append(connection, "policy.blocked", subject, told, at=at)
    if found is not None:
        _note(connection, found, what, by, at, {"why": why[:500]})
    else:
        audit.append(connection, what, by, subject=subject, detail={"why": why[:500]}, at=at)
