"""One site's login node: what is there, checks, a look around, the smallest real job."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_diamond.errors import DiamondError
from jupyter_diamond.model.proposal import Speaker
from jupyter_diamond.model.snapshot import SiteReading

from .acts import needs_approval, through_guard
from .answers import age, at, foreign, known, without_empty, word
from .parameters import SiteName
from .pool import now
from .registry import tool
from .tasks import Intent, view

if TYPE_CHECKING:
    from jupyter_diamond.agent.desk import AgentDesk


@tool("read", "site", long=True)
async def probe_environment(desk: AgentDesk, _speaker: Speaker, *, site: SiteName) -> dict[str, Any]:
    """Facts of a site's login node, read now: host, work folder, Python, modules, container runtimes, accounts.

    Use it before writing code that relies on what a site has. Takes some seconds.

    Args:
        site: which site
    """
    found, there = await desk.service.site_env(site), await desk.service.environments.list(site)
    return {
        "site": site,
        "read_at": at(found.read_at),
        "facts": foreign(
            "\n".join(f"{fact.name}: {known(fact.value)}" for fact in found.facts), f"the login node of {site}", 6000
        ),
        "accounts": known(found.accounts and [word(each) for each in found.accounts]),
        "environments": {
            "named": [{"env": each.name, "runs": word(each.runs)} for each in there.named],
            "built": [
                {"python": each.python_version, "packages": len(each.packages), "state": each.state}
                for each in there.built
            ],
            "others_may_be_built": there.builds,
        },
    }


@tool("act", "site", long=True)
async def run_readonly(
    desk: AgentDesk,
    speaker: Speaker,
    *,
    site: SiteName,
    command: Annotated[str, Field(min_length=1, max_length=1000)],
    reason: Intent = "",
) -> dict[str, Any]:
    """Look around at a site with one program that only reads: ls, cat, squeue, sinfo …, no shell between.

    It needs the user's approval: what it prints may be private. At most 20 s and 32 KiB. There is no other way to run
    a command at a site, and none to change anything there.

    Args:
        site: which site
        command: one program with its words, e.g. squeue --me
        reason: what for, shown to the user
    """
    proposal, done = await through_guard(
        desk, speaker, "execute", subject=site, arguments={"command": command}, intent=reason
    )
    if not done:
        return needs_approval(proposal)
    return {"done": True, "proposal": proposal.id, "output": foreign(proposal.result, f"{command} at {site}", 32_768)}


@tool("read", "site")
async def preflight(desk: AgentDesk, _speaker: Speaker, *, site: SiteName) -> dict[str, Any]:
    """Try a site for real, with a clock: its probe, its work folder, its interpreter. Nothing is submitted.

    Use it when a site does not do what it should. May take a minute.

    Args:
        site: which site
    """
    found = await desk.service.preflight(site)
    said = "\n".join(f"{each.name}: {each.answer}: {each.sentence}" for each in found.checks)
    return {"site": site, "answer": found.answer, "checks": foreign(said, f"checks of {site}", 6000)}


@tool("spends", "site")
async def smoke_test(desk: AgentDesk, speaker: Speaker, *, site: SiteName, reason: Intent = "") -> dict[str, Any]:
    """Send the smallest real job to a site: 1 CPU, at most 5 minutes. It may be charged, and needs approval.

    Args:
        site: which site
        reason: what for, shown to the user
    """
    proposal, done = await through_guard(desk, speaker, "smoke", subject=site, intent=reason)
    if not done or proposal.task is None:
        return needs_approval(proposal)
    return {"submitted": True, "proposal": proposal.id, **view(await desk.service.task(proposal.task))}


@tool("read", "site", long=True)
async def endpoint_status(desk: AgentDesk, _speaker: Speaker) -> dict[str, Any]:
    """The user's Globus Compute endpoints: which are online, on which machine, used by which site.

    Use it when a site of transport globus-compute does not answer. Takes up to a minute.
    """
    found = await desk.service.endpoints()
    return without_empty({
        "endpoints": [
            without_empty({
                "name": word(each.name), "id": each.id, "online": known(each.online), "machine": each.machine,
                "host": word(each.host) if each.host else None, "site": each.site, "multi_user": each.multi_user,
            })
            for each in found.endpoints
        ],
        "machines_without": list(found.without),
        "problem": foreign(found.problem, "what Globus answered", 300),
    })  # fmt: skip


@tool("read", "site")
async def doctor(desk: AgentDesk, _speaker: Speaker) -> dict[str, Any]:
    """What is set up and what is missing: this server, its sites, the Globus login. One line a check, with what to do.

    Use it when nothing works, or the user asks why a site is not there.
    """
    status, snapshot = await asyncio.gather(desk.service.status(), desk.service.sites())
    advances = "this server" if status.advances_work else f"another server of yours ({word(status.lease_holder)})"
    checks: list[dict[str, Any]] = [
        {"check": "server", "answer": "ok", "says": f"Diamond {status.version}; {advances} advances work"},
        {"check": "active tasks", "answer": "ok", "says": status.active_tasks},
    ]
    checks += [_site(each) for each in snapshot.sites]
    checks.append(await _login(desk))
    return {"checks": checks, "worst": _worst(checks)}


def _site(each: SiteReading) -> dict[str, Any]:
    good = each.health == "online"
    return without_empty({
        "check": f"site {each.site}",
        "answer": "ok" if good else "warn" if each.health in ("degraded", "unknown") else "fail",
        "says": f"{each.health}; read {age(each.read_at, now())} ago" if each.read_at else f"{each.health}; never read",
        "problem": foreign(each.problem, f"{each.site}: what the last try gave", 300),
        "do": "The user logs in: jupyter diamond login" if each.health == "needs_login" else None,
    })  # fmt: skip


async def _login(desk: AgentDesk) -> dict[str, Any]:
    try:
        login = await desk.service.globus.login()
    except DiamondError as problem:
        return {"check": "globus", "answer": "warn", "says": foreign(problem.message, "the Globus login", 300)}
    good = login.health == "signed_in"
    return without_empty({
        "check": "globus",
        "answer": "ok" if good else "warn",
        "says": f"signed in as {word(login.identity or 'somebody')}" if good else login.health,
        "problem": foreign(login.problem, "the Globus login", 300),
    })  # fmt: skip


def _worst(checks: list[dict[str, Any]]) -> str:
    answers = {each["answer"] for each in checks}
    return "fail" if "fail" in answers else "warn" if "warn" in answers else "ok"
