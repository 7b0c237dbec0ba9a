"""``endpoint-setup HOST``: an agent of the user's own on a login node, set up over the user's own ssh."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import sys
from argparse import Namespace
from pathlib import Path

from jupyter_diamond.engine.endpoint_setup import EndpointWork, Wanted, budget, plan, whole_script
from jupyter_diamond.errors import DiamondError, InvalidRequest, TransportError
from jupyter_diamond.model.endpoint import EndpointSetup, LoginNode
from jupyter_diamond.model.site import Site
from jupyter_diamond.sites.catalogue import load_catalogue
from jupyter_diamond.sites.editing import add_site, set_field
from jupyter_diamond.sites.machines import recognise
from jupyter_diamond.transport.ssh import SshTransport
from jupyter_diamond.transport.ssh_client import Client

from .configured import catalogue_path
from .grammar import DONE, FAILED
from .output import as_json, complain, pairs, say

_ID, _SECRET = "GLOBUS_COMPUTE_CLIENT_ID", "GLOBUS_COMPUTE_CLIENT_SECRET"

_ENDS = (
    "this node ends a user's processes at log-out, the agent too: ask the site where an agent may stay (`loginctl "
    "enable-linger`)."
)


def endpoint_setup(said: Namespace) -> int:
    """Set it up, or say what would be done, or print the script."""
    wanted = _wanted(said)
    if said.print:
        sys.stdout.write(whole_script(wanted))
        return DONE
    if not said.host:
        raise InvalidRequest("endpoint-setup needs the login node's host, as you write it for ssh, or --print.")
    client, env = _way(said.host)
    done = asyncio.run(_on(client, env, wanted, said))
    if said.json:
        as_json(done)
    elif done.problem:
        _explain(done)
    if done.online:
        return _into_catalogue(done, said)
    return DONE if said.dry_run and not done.problem else FAILED


def _wanted(said: Namespace) -> Wanted:
    credentials = None
    if said.client_credentials:
        credentials = (os.environ.get(_ID, ""), os.environ.get(_SECRET, ""))
        if not all(credentials):
            raise InvalidRequest(f"--client-credentials takes {_ID} and {_SECRET} from the environment: set both.")
    return Wanted(
        name=said.name, venv=said.venv, python=said.python or "", move=said.move, credentials=credentials
    )  # fmt: skip


def _way(host: str) -> tuple[Client, dict[str, str]]:
    """How the host is reached: like the ssh site of that name, else as ssh itself would."""
    try:
        sites = load_catalogue(catalogue_path(), this_machine=None)
    except DiamondError as problem:
        complain(f"{problem.message} It is not used here.")
        sites = ()
    for site in sites:
        if site.transport == "ssh" and site.host is not None and site.name.casefold() == host.casefold():
            return Client(site.host, where=site.name, options=site.ssh_options, config=site.ssh_config), site.env
    try:
        # the catalogue's own check of what may be a host
        Site(name="host", transport="ssh", scheduler="slurm", host=host)
    except ValueError:
        raise InvalidRequest(f"{host!r} is no host: write an alias of your ssh config, or user@host.") from None
    return Client(host, where=host), {}


async def _on(client: Client, env: dict[str, str], wanted: Wanted, said: Namespace) -> EndpointSetup:
    """The whole set-up over one connection."""
    tell = (lambda _: None) if said.json else _tell
    transport = SshTransport(client, env)
    work = EndpointWork(transport, wanted, where=client.where, tell=tell)
    try:
        node = await work.look()
        machine = recognise(node.host) or recognise(client.host.rpartition("@")[2])
        if not said.json:
            _show(node, machine.title if machine else None)
        if said.dry_run:
            if not said.json:
                _show_plan(plan(node, wanted))
            return EndpointSetup(
                host=client.where, name=wanted.name, node=node, plan=plan(node, wanted), endpoint=node.endpoint,
                machine=machine.name if machine else None,
            )  # fmt: skip
        done = await work.carry_out(node)
    except TransportError as problem:
        if problem.outcome == "unknown":
            problem.message += " Run this again: it goes on where it stopped."
        raise
    finally:
        await transport.close()
    update: dict[str, object] = {"machine": machine.name if machine else None}
    if done.kind == "needs_login":
        update["login"] = f"{client.login_words('-t')} {shlex.quote(f'{node.venv}/bin/globus-compute-endpoint login')}"
    if done.endpoint:
        site = _site_fields(done.model_copy(update=update), said)
        update["site_lines"] = _lines(site, account=said.account)
    return done.model_copy(update=update)


def _tell(sentence: str) -> None:
    say(sentence)
    sys.stdout.flush()


def _show(node: LoginNode, machine: str | None) -> None:
    enough, threads = budget(node)
    python = f"Python {node.python}" if node.python else ""
    running = {"here": f"runs as process {node.pid}", "nowhere": "does not run"}.get(node.runs)
    pairs([
        ("login node", f"{node.host}{f', {machine}' if machine else ''}, as {node.user}"),
        ("program", ", ".join(filter(None, (node.version or "not installed", node.venv, python)))),
        ("agent", running or f"runs on {node.runs_on} as process {node.pid}"),
        ("threads", threads if enough else f"TOO FEW: {threads}"),
        ("sessions", _ENDS if node.ends_with_session else ""),
    ])  # fmt: skip
    sys.stdout.flush()


def _show_plan(steps: tuple[str, ...]) -> None:
    say("\nNothing would be changed." if not steps else "\nIt would:")
    for step in steps:
        say(f"  {step}")


def _explain(done: EndpointSetup) -> None:
    complain(done.problem)
    if done.kind == "needs_login":
        complain(
            f"Or from here:\n  {done.login}\nOpen the address that it prints, sign in with the same Globus account as "
            f"in Diamond (an endpoint runs its owner's tasks only), paste the code, and run this again."
        )


def _site_fields(done: EndpointSetup, said: Namespace) -> dict[str, str]:
    """The site as the catalogue would have it."""
    name = said.site or done.machine or re.sub(r"[^A-Za-z0-9_.-]", "-", done.host.rpartition("@")[2].split(".")[0])
    assert done.node is not None, "what has an endpoint was looked at"
    fields = {
        "name": name if name[:1].isalpha() else f"site-{name}", "transport": "globus-compute",
        "endpoint": done.endpoint or "", "host": done.node.host, "scheduler": "slurm",
    }  # fmt: skip
    if done.machine:
        fields["machine"] = done.machine
    return {**fields, "account": said.account} if said.account else fields


def _lines(fields: dict[str, str], *, account: str | None) -> str:
    lines = [f"{'  - ' if at == 0 else '    '}{name}: {value}\n" for at, (name, value) in enumerate(fields.items())]
    return "".join(lines) + ("" if account else "    # account: TODO      # the allocation that pays\n")


def _into_catalogue(done: EndpointSetup, said: Namespace) -> int:
    """Say where it runs and how the catalogue names it; write that when the user wants it."""
    path = catalogue_path()
    if not said.json:
        say(f"\nEndpoint {done.endpoint} is online, and runs on {done.runs_on} as process {done.pid}.")
        say(_whose(done.identity))
        say(f"After maintenance, type on {done.runs_on}: {done.restart}")
        say(f"\nFor {path}:\n{done.site_lines}")
    if not said.write and not _agreed(path, said):
        return DONE
    sentence = _write(path, _site_fields(done, said))
    (complain if said.json else say)(sentence)
    return DONE


def _whose(identity: str | None) -> str:
    if (identity or "").endswith("@clients.auth.globus.org"):
        return (
            f"It belongs to the application {identity}, and runs no tasks of anybody else: give the Jupyter server the "
            f"same {_ID} and {_SECRET}."
        )
    return (
        f"It belongs to {identity or 'who signed in there'}, and runs no tasks of anybody else: sign in to Diamond "
        f"with the same Globus account."
    )


def _agreed(path: Path, said: Namespace) -> bool:
    if said.json or not sys.stdin.isatty():
        return False
    sys.stdout.write(f"Write this into {path}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _write(path: Path, fields: dict[str, str]) -> str:
    """The site into the catalogue, all else as it is; the sentence on what was done."""
    there = next(
        (site for site in load_catalogue(path, this_machine=None) if site.name.casefold() == fields["name"].casefold()),
        None,
    )
    if there is None:
        add_site(path, fields)
        return f"{path} has the site {fields['name']} now; restart JupyterLab."
    if there.transport != "globus-compute":
        return (
            f"{path} has a site {there.name} already, with transport: {there.transport}; it was not touched. Put the "
            f"lines above in its place, or choose another name with --site."
        )
    if str(there.endpoint) == fields["endpoint"]:
        return f"{path} has it already, as the site {there.name}."
    set_field(path, there.name, "endpoint", fields["endpoint"])
    return f"The site {there.name} in {path} has this endpoint now; restart JupyterLab."
