"""What is left on accounts, asked of a real program on this machine in the place of a site's."""

from __future__ import annotations

import stat
from datetime import datetime, timedelta, timezone

import pytest

from jupyter_diamond.engine.balances import KEPT_S, BalanceBook, ask
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.machine import BalanceCommand
from jupyter_diamond.model.site import Site
from jupyter_diamond.schedulers.registry import scheduler_for
from jupyter_diamond.sites.machines import machine
from jupyter_diamond.transport.local import LocalTransport
from tests.parsing.test_balances import MYBALANCE

pytestmark = pytest.mark.asyncio


def link(tmp_path, body: str, *, form: str | None = "mybalance") -> SiteLink:
    """A site whose own command is a program in a folder of ours."""
    program = tmp_path / "mybalance"
    program.write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    site = Site(name="anvil", scheduler="slurm")
    known = machine("anvil").model_copy(
        update={"balance": BalanceCommand(command=str(program), form=form, source=("accounting",))}
    )
    return SiteLink(site=site, transport=LocalTransport({}), scheduler=scheduler_for(site), machine=known)


def asked(tmp_path) -> int:
    return len((tmp_path / "asked").read_text().split()) if (tmp_path / "asked").exists() else 0


async def test_a_balance_is_read_from_the_sites_own_command(tmp_path):
    found = await ask(link(tmp_path, f"cat <<'E'\n{MYBALANCE}\nE"))
    assert found is not None
    assert found.of("CIS250223").left == 8986.1
    assert found.of("other") is None
    assert abs((datetime.now(timezone.utc) - found.read_at).total_seconds()) < 60


async def test_it_is_asked_once_and_kept(tmp_path):
    where, book = link(tmp_path, f"cat <<'E'\n{MYBALANCE}\nE"), BalanceBook()
    assert await book.refresh(where) is not None
    assert await book.refresh(where) is None
    assert asked(tmp_path) == 1
    now = datetime.now(timezone.utc)
    assert set(book.told(now)) == {"anvil"}
    assert book.told(now + timedelta(seconds=KEPT_S + 1)) == {}


async def test_an_answer_that_nobody_knows_leaves_it_unknown(tmp_path):
    book = BalanceBook()
    assert await book.refresh(link(tmp_path, "echo 'you have lots'")) is None
    assert book.told(datetime.now(timezone.utc)) == {}


async def test_a_command_whose_answer_is_not_documented_is_never_run(tmp_path):
    assert await ask(link(tmp_path, "echo ran", form=None)) is None
    assert asked(tmp_path) == 0


async def test_a_planned_task_is_held_against_what_the_site_told(bench, tmp_path):
    """From the site's own command to the verdict, through a real service."""
    service = await bench.start()
    here = service.links["here"]
    poor = link(tmp_path, f"cat <<'E'\n{MYBALANCE.replace('8986.1', '   0.0')}\nE")
    here.machine = poor.machine
    assert await service.engine.balances.refresh(here) is not None
    decision = await service.plan(Envelope(site="here", account="cis250223"))
    credit = next(each for each in decision.candidates[0].verdicts if each.rule == "credit")
    assert (credit.answer, credit.change) == ("fail", "--account cis250223-gpu")
    assert decision.choice is None
