"""Commands over Globus Compute when the service, the way to it or the endpoint misbehave: real clients, a stand-in.

Before: the service never saw the request. After: it did what was asked, and its answer was lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest

from jupyter_diamond.errors import TransportError
from tests.transport.conftest import until
from tests.transport.globus import signed_in, site_at

pytestmark = [pytest.mark.asyncio]

SUBMIT = "POST /v3/endpoints/[^/]+/submit"
ASK = "POST /v2/batch_status"


async def refused(shell, script="touch ran", **how):
    """The error of a command that gets no answer."""
    with pytest.raises(TransportError) as caught:
        await shell.run(script, timeout_s=how.pop("timeout_s", 5), **how)
    return caught.value


@pytest.fixture
def ran(tmp_path):
    """A script that leaves a line at the site each time it runs, and how often it did."""

    class Ran:
        script = f"echo x >> {tmp_path}/ran; echo done"

        @property
        def times(self):
            return len((tmp_path / "ran").read_text().split()) if (tmp_path / "ran").exists() else 0

    return Ran()


# what the service says no to: surely not sent


@pytest.mark.parametrize(
    ("status", "code", "outcome", "sentence"),
    [
        (401, "UNAUTHENTICATED", "not_sent", "does not accept the login any more"),
        (403, "ENDPOINT_ACCESS_FORBIDDEN", "refused", "Globus Compute refuses it while reaching delta"),
        (404, "ENDPOINT_NOT_FOUND", "refused", "There is no such endpoint, or it is not yours, while reaching delta"),
        (413, "TASK_PAYLOAD_TOO_LARGE", "refused", "larger than the 10 MB that Globus Compute takes"),
        (422, "INVALID", "refused", "refuses it while reaching delta"),
        (423, "ENDPOINT_LOCKED", "not_sent", "does not take commands: type `globus-compute-endpoint start login` on login1"),
        (429, "TOO_MANY", "not_sent", "wants fewer requests"),
    ],
)  # fmt: skip
async def test_what_the_service_refuses_was_not_sent(
    globus_services, endpoint, far, ran, status, code, outcome, sentence
):
    shell = far(endpoint)
    globus_services.fault(SUBMIT, status=status, body={"code": code, "message": "no"}, times=-1)
    problem = await refused(shell, ran.script)
    assert (problem.outcome, problem.needs_login) == (outcome, status == 401)
    assert sentence in problem.message
    assert "delta" in problem.message
    assert problem.transient == (outcome == "not_sent")
    globus_services.heal()
    assert len(globus_services.requests(SUBMIT)) == 1, "nothing is sent a second time by itself"
    assert ran.times == 0


async def test_an_endpoint_that_refuses_is_not_asked_again_and_again(globus_services, endpoint, far):
    globus_services.compute.endpoints.clear()
    shell = far(endpoint)
    messages = {(await refused(shell)).message for _ in range(5)}
    assert len(messages) == 1
    assert "There is no such endpoint, or it is not yours" in messages.pop()
    assert len(globus_services.requests("/v2/endpoints")) == 1


async def test_the_endpoint_of_somebody_else_is_said_to_be(globus_services, far):
    from tests.live.globus import BOB

    theirs = globus_services.compute.add_endpoint("theirs", owner=BOB)
    problem = await refused(far(theirs))
    assert (problem.outcome, problem.transient) == ("refused", False)
    assert "Globus Compute refuses it while reaching delta" in problem.message


async def test_a_login_that_ended_is_a_state_and_mends_itself(globus_services, endpoint, far, ran):
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    globus_services.auth.expire()
    problem = await refused(shell, ran.script)
    assert (problem.outcome, problem.needs_login, problem.transient) == ("not_sent", True, True)
    assert "log in" in problem.message
    assert ran.times == 0
    shell._endpoint._globus._environ["JUPYTER_DIAMOND_TOKENS"] = json.dumps(globus_services.auth.issue())
    assert (await shell.run(ran.script, timeout_s=10)).out == "done\n"


async def test_who_asked_too_often_asks_nothing_until_the_time_that_was_named(globus_services, far, ran):
    shells = [far(globus_services.compute.add_endpoint(f"login{i}")) for i in range(2)]
    for shell in shells:
        await shell.run("true", timeout_s=10)
    globus_services.fault(SUBMIT, status=429, headers={"Retry-After": "2"})
    begun, before = time.monotonic(), len(globus_services.requests(""))
    for shell in shells:
        problem = await refused(shell, ran.script)
        assert (problem.outcome, problem.transient) == ("not_sent", True)
        assert "wants fewer requests" in problem.message
    assert len(globus_services.requests("")) == before + 1
    await until(lambda: time.monotonic() - begun > 2.1)
    assert (await shells[1].run(ran.script, timeout_s=10)).out == "done\n"


# what may have been taken: unknown, and never sent twice


@pytest.mark.parametrize(
    "fault",
    [{"status": 502}, {"drop": True}, {"status": 200, "body": "<html>Please accept our terms</html>"}, {"delay": 7.0}],
    ids=["502", "dropped", "captive portal", "slow"],
)  # fmt: skip
@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_answer_that_is_lost_leaves_the_outcome_unknown(globus_services, endpoint, far, ran, fault, when):
    shell = far(endpoint)
    globus_services.fault(SUBMIT, when=when, **fault)
    problem = await refused(shell, ran.script)
    assert (problem.outcome, problem.transient, problem.needs_login) == ("unknown", True, False)
    assert "delta" in problem.message
    taken = 1 if when == "after" or "delay" in fault else 0
    await until(lambda: ran.times == taken)
    assert len(globus_services.compute.tasks_of(endpoint)) == taken
    assert (await shell.run("echo back", timeout_s=10)).out == "back\n"
    assert ran.times == taken


async def test_a_service_that_is_away_is_said_to_be_and_nothing_was_sent(globus_services, endpoint, far, ran):
    shell = far(endpoint)
    globus_services.down()
    problem = await refused(shell, ran.script)
    assert (problem.outcome, problem.transient) == ("not_sent", True)
    assert "cannot be reached" in problem.message
    globus_services.up()


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 502, "times": 3},
        {"drop": True, "times": 3},
        {"status": 429, "headers": {"Retry-After": "1"}, "times": 2},
        {"status": 200, "body": "<html>Please accept our terms</html>", "times": 2},
        {"status": 200, "body": {"response": "batch"}, "times": 2},
        {"status": 200, "body": {"response": "batch", "results": {}}, "times": 2},
    ],
    ids=["502", "dropped", "throttled", "captive portal", "nonsense", "not this one"],
)  # fmt: skip
async def test_a_question_without_an_answer_says_nothing_about_the_command(globus_services, endpoint, far, ran, fault):
    shell = far(endpoint)
    rule = globus_services.fault(ASK, **fault)
    done = await shell.run(ran.script, timeout_s=20)
    assert (done.out, ran.times) == ("done\n", 1)
    assert rule.hits >= 2


async def test_a_login_that_ends_under_a_command_leaves_it_unknown(globus_services, endpoint, far, ran):
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    asking = asyncio.ensure_future(refused(shell, f"{ran.script}; sleep 2"))
    await until(lambda: ran.times == 1)
    globus_services.auth.expire()
    problem = await asking
    assert (problem.outcome, problem.needs_login) == ("unknown", True)


# what becomes of a task at its endpoint


async def test_an_endpoint_that_is_offline_is_told_at_once_and_what_to_type(globus_services, endpoint, far, ran):
    globus_services.compute.set_online(endpoint, online=False)
    shell = far(endpoint, host="ada@dt-login03.delta.ncsa.illinois.edu")
    begun = time.monotonic()
    problem = await refused(shell, ran.script)
    assert time.monotonic() - begun < 5
    assert (problem.outcome, problem.transient) == ("not_sent", True)
    assert problem.message == (
        "The Globus Compute endpoint of delta is offline: type `globus-compute-endpoint start login` on "
        "dt-login03.delta.ncsa.illinois.edu, or `sh ~/.globus_compute/login/start.sh` where endpoint-setup made it. "
        "Until then nothing was sent."
    )
    assert globus_services.compute.tasks_of(endpoint) == []


async def test_an_endpoint_that_goes_offline_under_a_command_is_noticed_before_its_deadline(
    globus_services, endpoint, far, ran, monkeypatch
):
    monkeypatch.setattr("jupyter_diamond.transport.globus_compute_queue._LOOK_S", 0.5)
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    globus_services.compute.set_online(endpoint, online=False)
    begun = time.monotonic()
    problem = await refused(shell, ran.script, timeout_s=30)
    assert time.monotonic() - begun < 10
    assert problem.outcome == "unknown", "the service keeps it for the endpoint"
    assert "is offline" in problem.message


async def test_a_command_that_waited_beyond_its_time_is_not_run(globus_services, endpoint, far, ran):
    shell = far(endpoint, answer_s=2.0)
    await shell.run("true", timeout_s=1)
    globus_services.compute.set_online(endpoint, online=False)
    problem = await refused(shell, ran.script, timeout_s=0.5)
    assert problem.outcome == "unknown"
    globus_services.compute.set_online(endpoint)
    assert (await far(endpoint).run("echo on", timeout_s=10)).out == "on\n"
    _, old, _ = globus_services.compute.tasks_of(endpoint)
    await until(lambda: old.status == "success")
    assert '"late": true' in old.data
    assert ran.times == 0


@pytest.mark.parametrize("skew_s", [3600.0, -3600.0])
async def test_a_site_whose_clock_is_wrong_is_as_good_as_any(endpoint, far, ran, skew_s, monkeypatch):
    """A clock that is ahead makes the first command seem late; then it is known by how much."""
    monkeypatch.setattr(
        "jupyter_diamond.transport.globus_compute_queue.time.time", lambda now=time.time: now() - skew_s
    )
    shell = far(endpoint)
    for _ in range(2):
        assert (await shell.run(ran.script, timeout_s=10)).out == "done\n"
    assert ran.times == 2


async def test_a_lost_task_ends_at_its_own_deadline(globus_services, endpoint, far):
    shell = far(endpoint, answer_s=2.0)
    endpoint.lose = 1
    begun = time.monotonic()
    problem = await refused(shell, timeout_s=1)
    assert 2.5 < time.monotonic() - begun < 6
    assert (problem.outcome, problem.transient) == ("unknown", True)
    assert "gave no answer over Globus Compute within 3 s" in problem.message
    assert "`globus-compute-endpoint restart login` on login1" in problem.message
    assert (await far(endpoint).run("echo on", timeout_s=10)).out == "on\n"


async def test_a_user_endpoint_that_dies_leaves_the_command_unknown_and_others_go_on(
    globus_services, endpoint, far, ran
):
    shell = far(endpoint, answer_s=3.0)
    asking = asyncio.ensure_future(refused(shell, f"{ran.script}; sleep 1000", timeout_s=1.0))
    await until(lambda: ran.times == 1)
    globus_services.compute.lose_running(endpoint)
    assert (await shell.run("echo on", timeout_s=10)).out == "on\n"
    assert (await asking).outcome == "unknown"


async def test_a_worker_that_dies_is_said_to_have(globus_services, endpoint, far, ran):
    shell = far(endpoint)
    asking = asyncio.ensure_future(refused(shell, f"{ran.script}; sleep 20", timeout_s=30))
    await until(lambda: ran.times == 1)
    globus_services.compute.kill_running(endpoint)
    problem = await asking
    assert (problem.outcome, problem.transient) == ("unknown", True)
    assert "The endpoint's worker died" in problem.message


async def test_an_answer_that_expired_is_said_to_have(globus_services, endpoint, far, ran):
    endpoint.expire = 1
    problem = await refused(far(endpoint), ran.script)
    assert (problem.outcome, ran.times) == ("unknown", 1)
    assert "no longer has the answer" in problem.message


async def test_a_forgotten_function_is_registered_again(globus_services, endpoint, far, ran):
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    globus_services.compute.functions.clear()
    assert (await shell.run(ran.script, timeout_s=10)).out == "done\n"
    assert (ran.times, len(globus_services.requests("POST /v3/functions"))) == (1, 2)


async def test_an_endpoint_that_allows_other_functions_only_says_so(globus_services, endpoint, far, ran):
    endpoint.allowed_functions = []
    problem = await refused(far(endpoint), ran.script)
    assert (problem.outcome, problem.transient) == ("refused", False)
    assert "not permitted on endpoint" in problem.message


# what comes back is foreign


@pytest.mark.parametrize(
    "data",
    [
        "01\ngASVCgAAAAAAAAB9lC4=",
        "00\ngASVJQAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjApleGl0IDcgIyAglIWUUpQu",
        "11\n[]",
        '11\n{"format": 2, "now": 1, "late": false, "answers": []}',
        '11\n{"format": 1, "now": 1, "late": false, "answers": []}',
        '11\n{"format": 1, "now": 1, "late": false, "answers": [{"end": "ended", "code": 0}]}',
        '11\n{"format": 1, "now": 1, "late": false, "answers": [{"end": "ended", "out": {"head": "z!"}}]}',
        "11\n{",
        "",
    ],
)  # fmt: skip
async def test_what_is_no_answer_of_ours_is_refused_and_no_pickle_is_loaded(
    globus_services, endpoint, far, ran, data, monkeypatch
):
    import dill

    loaded = []
    monkeypatch.setattr(dill, "loads", lambda *_: loaded.append(1))
    complete = globus_services.compute.complete
    monkeypatch.setattr(globus_services.compute, "complete", lambda task_id, _, **how: complete(task_id, data, **how))
    problem = await refused(far(endpoint), ran.script)
    assert (problem.outcome, loaded) == ("unknown", [])
    assert "delta" in problem.message


async def test_huge_output_is_cut_at_the_site_and_says_so(globus_services, endpoint, far):
    shell = far(endpoint)
    done = await shell.run("head -c 30000000 /dev/urandom; echo; echo end >&2", timeout_s=60, max_bytes=64 << 20)
    assert (done.exit, done.truncated, done.stderr) == (0, True, b"end\n")
    assert 4_000_000 < len(done.stdout) < 10_000_000
    assert max(len(task.data) for task in globus_services.compute.tasks_of(endpoint)) < 10_000_000


async def test_many_large_outputs_share_one_answer(globus_services, endpoint, far):
    shell = far(endpoint)
    scripts = ["head -c 4000000 /dev/urandom"] * 6 + ["echo small"]
    *large, small = await asyncio.gather(*(shell.run(script, timeout_s=60) for script in scripts))
    assert (small.out, small.truncated) == ("small\n", False)
    assert all(done.truncated and len(done.stdout) > 500_000 for done in large)
    assert len(globus_services.compute.tasks_of(endpoint)) == 1


async def test_a_banner_around_every_shell_is_noise(endpoint, far, tmp_path):
    """B21: what stands around the marks is no part of the answer."""
    bash = tmp_path / "bin" / "bash"
    bash.parent.mkdir()
    bash.write_text(
        '#!/bin/bash\necho "** Scratch purge on 1 May **"\nprintf "\\351\\n"\n/bin/bash "$@"\necho Goodbye\n'
    )
    bash.chmod(0o755)
    done = await far(endpoint, {"PATH": f"{bash.parent}:{os.environ['PATH']}"}).run("echo mine", timeout_s=10)
    assert done.out == "mine\n"
    assert done.noise.startswith(b"** Scratch purge on 1 May **\n\xe9\n")
    assert b"Goodbye" in done.noise


async def test_without_bash_nothing_was_run(endpoint, far, tmp_path):
    (tmp_path / "bash").write_text("not a program")
    (tmp_path / "bash").chmod(0o755)
    problem = await refused(far(endpoint, {"PATH": str(tmp_path)}), "true")
    assert problem.outcome == "not_sent"
    assert "delta could not start a command" in problem.message


# how scripts run there


async def test_what_waits_together_travels_together_and_runs_side_by_side(globus_services, endpoint, far):
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    begun = time.monotonic()
    answers = await asyncio.gather(*(shell.run(f"sleep 1; echo {i}", timeout_s=20) for i in range(10)))
    assert [done.out for done in answers] == [f"{i}\n" for i in range(10)]
    assert time.monotonic() - begun < 6
    assert len(globus_services.compute.tasks_of(endpoint)) == 2


async def test_one_question_asks_after_the_commands_of_all_sites(globus_services, far):
    endpoints = [globus_services.compute.add_endpoint(f"login{i}") for i in range(4)]
    shells = [far(endpoint) for endpoint in endpoints]
    await asyncio.gather(*(shell.run("true", timeout_s=10) for shell in shells))
    before = len(globus_services.requests(ASK))
    await asyncio.gather(*(shell.run("sleep 2", timeout_s=10) for shell in shells))
    assert len(globus_services.requests(ASK)) - before <= 8


async def test_the_endpoints_own_environment_is_no_part_of_the_sites(globus_services, far, tmp_path):
    """Its thread caps would travel into every job, its secrets into every log, its Python would run the cells."""
    login = globus_services.compute.add_endpoint(
        "login", env={"OMP_NUM_THREADS": "1", "GLOBUS_COMPUTE_CLIENT_SECRET": "s3cret", "HTTP_PROXY": "http://x",
                      "SLURM_JOB_ID": "3", "SLURM_CONF": "/etc/slurm.conf", "PYTHONPATH": "/x"},
    )  # fmt: skip
    done = await far(login, {"COLOUR": "blue"}).run("env -0; pwd >&2", timeout_s=10)
    names = {row.split("=", 1)[0] for row in done.out.split("\0") if row}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD", "TMPDIR", "KRB5CCNAME"} == {
        "HOME", "USER", "LOGNAME", "PATH", "LANG", "SHELL", "SLURM_CONF", "COLOUR",
    }  # fmt: skip
    assert done.err == os.environ["HOME"] + "\n"


async def test_a_script_that_overruns_is_killed_with_all_it_started(endpoint, far, tmp_path):
    pids = tmp_path / "pids"
    script = f"sleep 300 & echo $! > {pids}; setsid sleep 300 & sleep 0.2; pgrep -P $$ >> {pids}; echo $$ >> {pids}; sleep 300"
    problem = await refused(far(endpoint), script, timeout_s=1.5)
    assert problem.outcome == "unknown"
    found = set(map(int, pids.read_text().split()))
    assert len(found) >= 3
    await until(lambda: not any(alive(pid) for pid in found))


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# what is large


async def test_a_large_input_goes_up_in_pieces_and_leaves_nothing(globus_services, endpoint, far, tmp_path):
    data = os.urandom(12_000_000)
    shell = far(endpoint)
    path = tmp_path / "there" / "file"
    await shell.put(str(path), data)
    assert path.read_bytes() == data
    assert [p.name for p in path.parent.iterdir()] == ["file"]
    assert list((tmp_path / "work").iterdir()) == []
    assert oct((tmp_path / "work").stat().st_mode & 0o777) == "0o700"
    assert await shell.get(str(path)) == data
    assert await shell.get(str(path), offset=1_000_000, limit=9_000_000) == data[1_000_000:10_000_000]
    orders = [task.buffer for task in globus_services.compute.tasks_of(endpoint)]
    assert max(map(len, orders)) < 10_000_000


@pytest.mark.parametrize("fault", [{"status": 502}, {"drop": True}], ids=["502", "dropped"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_piece_that_may_be_lost_is_sent_again(globus_services, endpoint, far, tmp_path, fault, when):
    data = os.urandom(6_000_000)
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    globus_services.fault(SUBMIT, when=when, **fault)
    done = await shell.run("sha256sum", stdin=data, timeout_s=20)
    import hashlib

    assert done.out.split()[0] == hashlib.sha256(data).hexdigest()
    assert list((tmp_path / "work").iterdir()) == []


async def test_pieces_that_do_not_arrive_mean_that_nothing_was_sent(globus_services, endpoint, far, ran):
    shell = far(endpoint)
    await shell.run("true", timeout_s=10)
    globus_services.fault(SUBMIT, status=502, times=-1)
    problem = await refused(shell, ran.script, stdin=os.urandom(6_000_000))
    assert (problem.outcome, ran.times) == ("not_sent", 0)


async def test_what_is_larger_than_all_bounds_is_said_before_anything_travels(
    globus_services, endpoint, far, tmp_path, monkeypatch
):
    monkeypatch.setattr("jupyter_diamond.transport.globus_compute.CARRIED_BYTES", 8_000_000)
    shell = far(endpoint)
    problem = await refused(shell, stdin=bytes(8_000_001))
    assert (problem.outcome, problem.transient) == ("refused", False)
    assert problem.message == (
        "What goes with a command to delta has 8,000,001 bytes; over Globus Compute at most 8,000,000 travel. "
        "Move it with Globus Transfer."
    )
    assert globus_services.compute.tasks_of(endpoint) == []
    (tmp_path / "large").write_bytes(os.urandom(9_000_000))
    with pytest.raises(TransportError, match=r"large at delta has 9,000,000 bytes; .* Move it with Globus Transfer"):
        await shell.get(f"{tmp_path}/large")


async def test_no_extra_no_crash(globus_services, endpoint, tmp_path, monkeypatch):
    """A site of this kind where what speaks to Globus is not installed has one problem, in one sentence."""
    from jupyter_diamond.globus import access
    from jupyter_diamond.transport.globus_compute import GlobusComputeTransport

    monkeypatch.setattr(access, "installed", lambda: False)
    globus = signed_in(globus_services, tmp_path)
    shell = GlobusComputeTransport(globus, site_at(endpoint.id, tmp_path), 5.0)
    problem = await refused(shell)
    assert (problem.outcome, problem.transient) == ("refused", False)
    assert "delta: What speaks to Globus is not installed" in problem.message
    assert "jupyter-diamond[globus]" in problem.message
    await shell.close()
    await globus.close()
