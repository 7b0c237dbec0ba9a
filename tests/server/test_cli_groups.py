"""Groups on the command line, over the real service whose one site is this machine."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from jupyter_diamond.cli.main import run
from jupyter_diamond.model.group import GroupRequest, Member
from jupyter_diamond.model.healing import Healing
from jupyter_diamond.model.states import Outcome, State
from jupyter_diamond.server.app import DiamondApp
from tests.engine import arrays, cells

pytestmark = pytest.mark.parametrize("make_service", [DiamondApp.make_service], indirect=True)


@pytest.fixture
def cli(started, http_server, http_server_port, jp_base_url, jp_auth_header, monkeypatch, capsys):
    """The line's exit status and what it printed; ``--json`` gives the document."""
    monkeypatch.setenv("DIAMOND_SERVER_URL", f"http://127.0.0.1:{http_server_port[-1]}{jp_base_url}")
    monkeypatch.setenv("DIAMOND_SERVER_TOKEN", jp_auth_header["Authorization"].split()[1])

    async def say(*words):
        capsys.readouterr()
        status = await asyncio.to_thread(run, words)
        out = capsys.readouterr().out
        return (status, json.loads(out)) if "--json" in words else (status, out)

    return say


async def submitted(service, source, *rounds, name="sweep", **more):
    data = arrays.bundle(source, range(sum(rounds)), name=name)
    request = cells.request(source, data, name=name, healing=Healing(retries=0))
    sizes = [number for number, count in enumerate(rounds, start=1) for _ in range(count)]
    members = [Member(index=index, round=number) for index, number in enumerate(sizes)]
    return (await service.groups.submit(GroupRequest(request=request, members=members, **more), data)).group


async def until_ended(service, ref, seconds=60):
    deadline = time.monotonic() + seconds
    while (found := await service.groups.group(ref)).phase.value != "ENDED":
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.05)
    return found


async def test_a_group_is_listed_shown_and_told_by_what_its_members_failed_of(cli, service):
    made = await submitted(service, "1 / 0", 3, 2)
    await until_ended(service, made.id)
    (listed,) = (await cli("groups", "--json"))[1]["groups"]
    assert (listed["id"], listed["states"], listed["outcome"]) == (made.id, {"failed": 3}, "FAILED")
    line = (await cli("groups"))[1].splitlines()[1].split()
    assert line[:4] == ["sweep", "failed", "3/5", "1/2"]
    _, shown = await cli("group", "sweep")
    assert "3 failed, 2 never sent" in shown
    assert "3 of 5 failed: 0-2. ZeroDivisionError: division by zero." in shown
    assert (await cli("task", "sweep"))[1] == shown
    assert "sweep[1]" in (await cli("task", "sweep[1]"))[1]
    assert [task["index"] for task in (await cli("tasks", "--group", "sweep", "--json"))[1]["tasks"]] == [0, 1, 2]
    assert "sweep[0]" not in (await cli("tasks"))[1]
    assert "group.stopped" in (await cli("events", "sweep"))[1]
    assert (await cli("group", "nothing"))[0] == 4
    assert (await cli("cancel", "nothing"))[0] == 4


async def test_a_member_and_then_its_group_are_cancelled(cli, service, tmp_path):
    made = await submitted(service, cells.held(tmp_path / "never", "pass"), 2, name="long", at_once=1)
    assert (await cli("release", "long"))[1] == "long goes on.\n"
    assert "long[1]: its site is asked" in (await cli("cancel", "long[1]"))[1]
    assert "its sites are asked to end" in (await cli("cancel", "long"))[1]
    ended = await until_ended(service, made.id)
    assert (ended.states, ended.outcome) == ({State.CANCELLED: 2}, Outcome.CANCELLED)
    assert "has ended already: 2 cancelled" in (await cli("cancel", made.id))[1]
    assert (await cli("hold", "long"))[0] == 1
