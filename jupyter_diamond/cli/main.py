"""From the words of a line to an exit status. Only the module of its verb is loaded: most need no engine, no store."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from jupyter_diamond.errors import DiamondError, InvalidRequest, NotFound, ServerUnavailable
from jupyter_diamond.model.views import ErrorView
from jupyter_diamond.notebook.client import DiamondClient

from .grammar import DONE, FAILED, NO_SERVER, NOT_FOUND, USAGE, parser
from .output import as_json, complain
from .servers import choose, running

# a verb, and where what it does stands
WITHOUT_SERVER = {
    "doctor": "setup:doctor", "init-sites": "setup:init_sites", "auth": "logins:auth", "login": "logins:login",
    "logout": "logins:logout", "endpoint-setup": "endpoint_setup:endpoint_setup", "import": "importing:import_job",
    "skill": "tools:skill",
}  # fmt: skip
WITH_SERVER = {
    "status": "looks:status", "endpoints": "looks:endpoints", "resources": "looks:resources", "idle": "looks:idle",
    "history": "looks:history", "forecast": "forecast:forecast", "charges": "charges:charges", "tasks": "looks:tasks",
    "task": "looks:task", "groups": "groups:groups", "group": "groups:group",
    "explain": "looks:explain", "logs": "looks:logs", "events": "looks:events",
    "draft": "drafts:draft", "env": "site_env:env", "cancel": "acts:cancel", "replan": "acts:replan",
    "hold": "acts:hold", "release": "acts:release",
    "exec": "acts:execute", "put-file": "acts:put_file", "preflight": "acts:preflight",
    "smoke": "acts:smoke", "wait": "waiting:wait",
    "proposals": "approvals:proposals", "approve": "approvals:approve", "deny": "approvals:deny",
    "budgets": "approvals:budgets", "budget": "approvals:budget", "agents": "approvals:agents",
    "audit": "approvals:audit",
    "tools": "tools:tools",
    "tool": "tools:tool",
    "verdict": "verdicts:verdict",
    "manifest": "receipts:manifest",
    "files": "receipts:files",
    "fetch": "receipts:fetch_files",
    "export": "receipts:export",
    "data": "data:data", "transfer": "data:transfer",
}  # fmt: skip


def act(place: str) -> Callable[..., int]:
    """What stands at ``module:function`` of this package."""
    module, _, name = place.partition(":")
    found: Any = getattr(importlib.import_module(f".{module}", __package__), name)
    return found  # type: ignore[no-any-return]


def run(words: Sequence[str]) -> int:
    """Do what the line says; the exit status."""
    said = parser().parse_args(words)
    try:
        if said.verb in WITHOUT_SERVER:
            return act(WITHOUT_SERVER[said.verb])(said)
        server = choose(running())
        with DiamondClient(lambda: server.address) as client:
            return act(WITH_SERVER[said.verb])(client, said)
    except DiamondError as problem:
        return _refused(problem, said)
    except KeyboardInterrupt:
        complain("Interrupted. Jobs at their sites go on.")
        return 130
    except BrokenPipeError:  # `… | head`: what was asked for has been read
        sys.stderr.close()
        return DONE


def _refused(problem: DiamondError, said: Namespace) -> int:
    if said.json:
        as_json(ErrorView(
            code=problem.code, message=problem.message, transient=problem.transient, evidence=problem.evidence
        ))  # fmt: skip
    else:
        complain(problem.message)
    if isinstance(problem, ServerUnavailable):
        return NO_SERVER
    if isinstance(problem, NotFound):
        return NOT_FOUND
    return USAGE if isinstance(problem, InvalidRequest) else FAILED
