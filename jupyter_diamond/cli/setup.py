"""The verbs of setting up: they work without a server, too."""

from __future__ import annotations

import asyncio
import logging
import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from jupyter_diamond.errors import DiamondError, ServerUnavailable
from jupyter_diamond.model.looks import Check, Preflight
from jupyter_diamond.notebook.client import DiamondClient
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import (
    DiamondBudget,
    DiamondEngine,
    DiamondGlobus,
    DiamondLimits,
    DiamondSites,
    DiamondStore,
)
from jupyter_diamond.sites.catalogue import load_catalogue
from jupyter_diamond.store.glance import glance

from . import installed
from .acts import print_checks
from .configured import Settings, read_settings
from .grammar import DONE, FAILED
from .logins import globus_check
from .output import as_json, complain, say
from .scaffold import scaffold
from .servers import START, Found, choose, running


def init_sites(said: Namespace) -> int:
    """Write sites.yaml where none is."""
    path = Path(DiamondSites(parent=read_settings()).path).expanduser()
    made = False
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(scaffold())
        made, sentence = True, f"{path} is written: uncomment your machines, fill in your accounts, restart JupyterLab."
    except FileExistsError:
        sentence = f"{path} is there already and was not touched."
    except OSError as problem:
        sentence = f"{path} cannot be written: {problem.strerror or problem}. Name another in JUPYTER_DIAMOND_SITES."
    if said.json:
        as_json({"path": str(path), "written": made, "message": sentence})
    elif made:
        say(sentence)
    else:
        complain(sentence)
    return DONE if made else FAILED


def doctor(said: Namespace) -> int:
    """Every set-up step, in the order in which they depend on each other."""
    settings = read_settings()
    found, trouble = _servers()
    general = (
        *installed.checks(), *_store(settings, found), _catalogue(settings), _server(found, trouble),
        *_globus(settings, found),
    )  # fmt: skip
    if not said.json:
        print_checks("", general)
    tried = _sites(settings, found, said)
    if said.json:
        as_json({"checks": general, "sites": tried})
    answers = {check.answer for check in general} | {done.answer for done in tried}
    return FAILED if "fail" in answers else DONE


def _servers() -> tuple[list[Found], str]:
    try:
        return running(), ""
    except ServerUnavailable as problem:
        return [], problem.message


def _server(found: list[Found], trouble: str) -> Check:
    try:
        chosen = choose(found)
    except ServerUnavailable as problem:
        return Check(name="server", answer="fail" if found or trouble else "warn", sentence=trouble or problem.message)
    status = chosen.status
    assert status is not None, "a chosen server serves"
    also = f", one of {len(found)} that run" if len(found) > 1 else ""
    if not status.advances_work:
        said = (
            f"{chosen.address.host} answers, but {status.lease_holder or 'nobody'} advances your tasks: "
            "this one only reads until that one has stopped."
        )
        return Check(name="server", answer="warn", sentence=said)
    return Check(name="server", answer="ok", sentence=f"{chosen.address.host} answers and advances your tasks{also}.")


def _store(settings: Settings, found: list[Found]) -> tuple[Check, ...]:
    served = next((each.status.store_path for each in found if each.status is not None), None)
    path = Path(served or DiamondStore(parent=settings).path).expanduser()
    seen = glance(path)
    if seen.problem:
        return (Check(name="store", answer="fail", sentence=seen.problem),)
    if not seen.exists:
        said = f"{path} is not there yet; the server makes it when it starts."
        return (Check(name="store", answer="ok", sentence=said),)
    if seen.lease is None:
        said = f"{path} can be written; no server holds its lease, so nothing advances your tasks. {START}"
        return (Check(name="store", answer="warn", sentence=said),)
    holder = seen.lease[0].rpartition(":")[0] or seen.lease[0]
    return (Check(name="store", answer="ok", sentence=f"{path} can be written; its lease is with {holder}."),)


def _catalogue(settings: Settings) -> Check:
    sites = DiamondSites(parent=settings)
    path = Path(sites.path).expanduser()
    try:
        listed = load_catalogue(path, this_machine=None)
    except DiamondError as problem:
        return Check(name="catalogue", answer="fail", sentence=problem.message)
    if not path.exists():
        said = f"There is no {path}: only this machine is a site. jupyter diamond init-sites writes one to fill in."
        return Check(name="catalogue", answer="warn", sentence=said)
    if not listed:
        said = f"{path} lists no site yet: uncomment your machines in it and restart JupyterLab."
        return Check(name="catalogue", answer="warn", sentence=said)
    names = ", ".join(site.name for site in listed)
    return Check(name="catalogue", answer="ok", sentence=f"{path} lists {len(listed)}: {names}.")


def _globus(settings: Settings, found: list[Found]) -> tuple[Check, ...]:
    """Only where a site needs it: nobody else shall be asked for a login."""
    try:
        listed = load_catalogue(Path(DiamondSites(parent=settings).path).expanduser(), this_machine=None)
    except DiamondError:  # the catalogue's own check says so
        return ()
    used = any(site.transport == "globus-compute" for site in listed)
    return (globus_check(settings, found),) if used else ()


def _sites(settings: Settings, found: list[Found], said: Namespace) -> list[Preflight]:
    """Each site tried: by the server where one runs, as it is the one that must reach them; else from here."""
    tried: list[Preflight] = []

    def tell(done: Preflight) -> None:
        tried.append(done)
        if not said.json:
            print_checks(done.site, done.checks)

    serving = [each for each in found if each.status is not None]
    try:
        if serving:
            with DiamondClient(lambda: choose(serving).address) as client:
                for site in client.sites().sites:
                    tell(client.preflight(site.site))
        else:
            asyncio.run(_from_here(settings, tell))
    except DiamondError as problem:
        tell(Preflight(site="sites", checks=(Check(name="reachable", answer="fail", sentence=problem.message),)))
    return tried


async def _from_here(settings: Settings, tell: Callable[[Preflight], None]) -> None:
    service = DiamondService(
        store=DiamondStore(parent=settings), sites=DiamondSites(parent=settings),
        engine=DiamondEngine(parent=settings), limits=DiamondLimits(parent=settings),
        globus=DiamondGlobus(parent=settings), budget=DiamondBudget(parent=settings),
        log=logging.getLogger("jupyter_diamond.doctor"),
    )  # fmt: skip
    try:
        for name in service.links:
            tell(await service.preflight(name))
    finally:
        await service.links.close()
        await service.globus.close()
