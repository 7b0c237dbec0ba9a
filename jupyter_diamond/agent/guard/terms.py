"""The terms of an act: everything that decides what happens and what it costs, and what is different now. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.engine.planned_job import planned_attempt, planned_script
from jupyter_diamond.model.charge import Charge
from jupyter_diamond.model.decision import Candidate, Decision
from jupyter_diamond.model.envelope import Envelope, Size, Span
from jupyter_diamond.model.group import GroupRequest
from jupyter_diamond.model.proposal import Act, Need, Proposal, Terms
from jupyter_diamond.model.task import TaskRequest
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.placement import words
from jupyter_diamond.placement.charge import foreseen
from jupyter_diamond.placement.estimate_words import about

Request = TaskRequest | GroupRequest
NOT_KNOWN = "not_known"
"""The argument that names the rules which nobody could answer for a place that was pinned all the same."""
_LATER_S, _LATER = 3600.0, 2.0
"""A start that is an hour later than was said, and takes twice as long, is another plan."""


class Planned(NamedTuple):
    """Terms with what a user is shown beside them."""

    terms: Terms
    title: str
    why: str = ""
    script: str = ""
    starts_in_s: float | None = None
    runs_s: float | None = None
    predicted: float | None = None
    tries: int = 1
    notes: tuple[str, ...] = ()


def sha256(text: str | bytes) -> str:
    """Hex."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def asked(act: Act, subject: str, arguments: Mapping[str, str], request: Request | None) -> str:
    """What was asked for, whatever became of the plan: the same words give the same digest."""
    plain: dict[str, Any] = {"act": act, "subject": subject, "arguments": dict(arguments)}
    if request is not None:
        plain["request"] = request.model_dump(mode="json")
        inner = plain["request"].get("request", plain["request"])  # a group's holds that of one task
        del inner["client_token"], inner["bundle_sha256"]  # the digest says what would run
    return sha256(json.dumps(plain, sort_keys=True))


def one(request: Request) -> TaskRequest:
    """The request of one task, or of each of a group's."""
    return request.request if isinstance(request, GroupRequest) else request


def with_one(request: Request, inner: TaskRequest) -> Request:
    """The same with another request of one task."""
    return request.model_copy(update={"request": inner}) if isinstance(request, GroupRequest) else inner


def pinned(request: Request, choice: Candidate) -> Request:
    """Bound to a place and a size, for all of its attempts; only memory may grow as far as was asked."""
    inner, size = one(request), choice.size
    assert size is not None, "only a sized candidate is chosen"
    place = {"site": choice.site, "partition": choice.partition or None, "account": choice.account, "sites": ()}
    spans = {name: Span.exactly(getattr(size, name)) for name in ("nodes", "cpus", "gpus", "walltime_s")}
    envelope = Envelope.model_validate({**dict(inner.envelope), **place, **spans, "memory_bytes": _memory(inner, size)})
    healing = inner.healing.model_copy(update={"moves": 0})
    return with_one(request, inner.model_copy(update={"envelope": envelope, "healing": healing}))


def _memory(request: TaskRequest, size: Size) -> Span | None:
    wanted = request.envelope.memory_bytes
    if wanted is None or size.memory_bytes is None:
        return None
    grows = request.healing.retries and size.memory_bytes < wanted.max
    return Span(min=size.memory_bytes, max=wanted.max if grows else size.memory_bytes)


def of_submission(
    act: Act, request: Request, bundle: bytes, *, decision: Decision, link: SiteLink, at: datetime
) -> Planned:
    """Of a request that is pinned already, by the decision that it would be submitted with."""
    inner, choice = one(request), decision.choice
    assert choice is not None, "there is a place for it"
    charge = foreseen(decision, planned_attempt(choice, "/", at))
    unknown = sorted({each.rule for each in choice.verdicts if each.answer == "unknown" and not each.soft})
    script = planned_script(inner, choice, link, at)
    members = len(request.members) if isinstance(request, GroupRequest) else None
    kept = {"client_token": "0" * 16}
    terms = Terms(
        act=act, site=choice.site, partition=choice.partition or None, account=choice.account, size=choice.size,
        request_sha256=sha256(_one_form(with_one(request, inner.model_copy(update=kept)))),
        bundle_sha256=sha256(bundle), script_sha256=sha256(script), members=members, charge=_rule(charge),
        data=(f"{len(bundle):,} bytes of inputs go to {choice.site}.",),
        arguments={} if choice.feasible else {NOT_KNOWN: ", ".join(unknown)},
    )  # fmt: skip
    estimate = choice.estimate
    tries = 1 + inner.healing.retries + inner.healing.segments - 1
    found = Planned(
        terms=terms, title=_title(act, inner, terms), why=decision.sentence, script=script, tries=tries,
        starts_in_s=estimate.forecast.wait_s if estimate is not None else None,
        runs_s=estimate.run_s if estimate is not None else None,
        predicted=charge.predicted if charge is not None else None,
    )  # fmt: skip
    return found._replace(notes=(*decision.warnings, *_notes(inner, found)))


def _one_form(request: Request) -> str:
    return json.dumps(request.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def _rule(charge: Charge | None) -> Charge | None:
    """What is bound: the rule and the most. What it is expected to cost changes with each run of the like."""
    return None if charge is None else charge.model_copy(update={"predicted": None})


def _title(act: Act, request: TaskRequest, terms: Terms) -> str:
    assert terms.size is not None, "a submission has its size"
    where = words.place(terms.site or "", terms.partition or "")
    many = f" {words.count(terms.members, 'time')}" if terms.members else ""
    what = "Try" if act == "smoke" else f"Run {request.name}{many} at"
    return f"{what} {where}: {words.size(terms.size)}, for at most {words.duration(terms.size.walltime_s)}"


def _notes(request: TaskRequest, found: Planned) -> tuple[str, ...]:
    charge, notes = found.terms.charge, list[str]()
    if charge is not None and (charge.at_most is None or not charge.unit):
        notes.append(f"What it costs at {found.terms.site} is not known.")
    if found.tries > 1:
        in_all = ""
        if charge is not None and charge.at_most is not None:
            most = charge.at_most * found.tries * (found.terms.members or 1)
            in_all = f": at most {words.charge(most, charge.unit)} in all"
        notes.append(f"If it fails, or is cut off, up to {words.count(found.tries - 1, 'attempt')} may follow{in_all}.")
    memory, size = request.envelope.memory_bytes, found.terms.size
    if memory is not None and size is not None and size.memory_bytes is not None and memory.max > size.memory_bytes:
        notes.append(f"If its memory runs out, it is run again with up to {words.memory(memory.max)}.")
    return tuple(notes)


def difference(approved: Terms, now: Terms) -> str:
    """What is not as it was approved, in one sentence; empty where nothing is."""
    if approved.hash == now.hash:
        return ""
    place, there = _place(approved), _place(now)
    if place != there:
        return f"It would now go to {there}, not to {place}."
    if approved.size != now.size:
        return f"It would now be {_size(now)} at {there}, not {_size(approved)}."
    if (approved.charge, approved.members) != (now.charge, now.members):
        return f"At {there or 'its place'} it would now cost {_cost(now)}, not {_cost(approved)}."
    if approved.arguments.get(NOT_KNOWN) != now.arguments.get(NOT_KNOWN):
        return f"Of {there} it is now not known whether it passes these rules: {now.arguments.get(NOT_KNOWN, 'none')}."
    names = ("bundle_sha256", "script_sha256", "request_sha256", "data", "arguments", "subject", "act")
    said = {
        "bundle_sha256": "inputs", "script_sha256": "batch script", "request_sha256": "request", "data": "data",
        "arguments": "arguments", "subject": "subject", "act": "act",
    }  # fmt: skip
    other = [said[name] for name in names if getattr(approved, name) != getattr(now, name)]
    return f"Its {' and its '.join(other[:2])} would now be another one."


def later(proposal: Proposal, wait_s: float | None) -> str:
    """That it would start much later than was said, in one sentence; empty where it would not, or nobody knows."""
    said = proposal.starts_in_s
    if said is None or wait_s is None or wait_s < max(said + _LATER_S, said * _LATER):
        return ""
    return (
        f"{_place(proposal.terms)} would now let it start in about {about(wait_s)}, not in {about(said)} as was said."
    )


_MOVES = ("put_file", "transfer", "register_data")


def needs(proposal: Proposal) -> Need | None:
    """What it takes of a standing budget; None: only a person may allow it."""
    terms = proposal.terms
    if terms.act in ("cancel", "hold", "cancel_transfer"):
        return Need() if terms.arguments.get("made_by") == proposal.by.agent else None
    if terms.act in _MOVES:
        moved = terms.arguments.get("bytes", "0")
        return Need(unknown=True) if (count := whole(moved)) is None else Need(transferred_bytes=count)
    charge, jobs = terms.charge, (terms.members or 1) if terms.act in ("submit", "submit_group", "smoke") else 0
    if charge is None:
        return Need(jobs=jobs)
    most = proposal.at_most
    if most is None or not charge.unit:
        return Need(jobs=jobs, unknown=True)
    return Need(jobs=jobs, amounts={charge.unit: most})


def _place(terms: Terms) -> str:
    where = words.place(terms.site or "", terms.partition or "")
    return f"{where}, paid by {terms.account}" if terms.account else where


def _size(terms: Terms) -> str:
    return (
        "of no size" if terms.size is None else f"{words.size(terms.size)} for {words.duration(terms.size.walltime_s)}"
    )


def _cost(terms: Terms) -> str:
    charge = terms.charge
    if charge is None:
        return "nothing"
    if charge.at_most is None or not charge.unit:
        return "an amount that is not known"
    return f"at most {words.charge(charge.at_most * (terms.members or 1), charge.unit)}"
