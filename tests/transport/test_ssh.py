"""What a script behind ssh gives back, and what is said when the way there is closed, cut or slow."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess
import time

import pytest

from jupyter_diamond.errors import TransportError
from jupyter_diamond.transport.ssh_master import socket_folder
from tests.transport.conftest import until

ROOTS_HOME = pwd.getpwnam("root").pw_dir
pytestmark = [pytest.mark.asyncio, pytest.mark.sshd]


def ssh(node, *words, command=()):
    """The user's own ssh, in a terminal."""
    return terminal(["ssh", "-F", str(node.config), "-o", "BatchMode=yes", *words, node.alias, *command])


def terminal(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)


async def test_gives_back_output_errors_and_exit_code(node, reach):
    shell = reach(node, {"COLOUR": 'it\'s "blue" $HOME `x`\\'})
    done = await shell.run("printf 'a\\0b'; echo oops >&2; exit 255", timeout_s=20)
    assert (done.exit, done.stdout, done.stderr, done.truncated, done.noise) == (255, b"a\0b", b"oops\n", False, b"")
    done = await shell.run('echo "$COLOUR|$SITE_SAYS"', timeout_s=20)
    assert done.out == 'it\'s "blue" $HOME `x`\\|here I am\n'


async def test_all_commands_share_one_login(node, reach):
    shell = reach(node)
    answers = await asyncio.gather(*(shell.run(f"echo {i}", timeout_s=60) for i in range(12)))
    assert [a.out for a in answers] == [f"{i}\n" for i in range(12)]
    assert node.logins() == 1


async def test_the_deadline_ends_our_client_and_leaves_the_outcome_unknown(node, reach, tmp_path):
    shell = reach(node)
    with pytest.raises(TransportError, match=r"delta did not finish a command within 1 s") as caught:
        await shell.run("sleep 60", timeout_s=1)
    assert caught.value.outcome == "unknown"
    assert (await shell.run("echo on", timeout_s=20)).out == "on\n"
    assert node.logins() == 1


async def test_a_held_script_ends_with_its_listener(node, reach, tmp_path):
    """A script that waits for something notices that nobody waits for its answer any more."""
    shell = reach(node)
    script = f"touch {tmp_path}/begun; while :; do read -t 0.1; [ $? -gt 128 ] || break; done; touch {tmp_path}/over"
    waiting = asyncio.ensure_future(shell.run(script, timeout_s=60, hold_stdin=True))
    await until((tmp_path / "begun").exists)
    waiting.cancel()
    await until((tmp_path / "over").exists)


async def test_paths_expand_at_the_site(node, reach):
    shell = reach(node, {"HOME": "/home/me"})
    assert [await shell.expand(path) for path in ("~", "~/diamond/x", "diamond", "/scratch//me/")] == [
        "/home/me", "/home/me/diamond/x", "/home/me/diamond", "/scratch/me",
    ]  # fmt: skip
    assert await shell.expand("~root/x") == f"{ROOTS_HOME}/x"
    with pytest.raises(TransportError, match="delta has no user"):
        await shell.expand("~nobody-here/x")
    with pytest.raises(TransportError, match="delta has no user"):
        await shell.expand("~$(touch x)/x")


async def test_a_file_cut_on_its_way_leaves_the_old_one(node, reach, tmp_path):
    shell, path = reach(node), tmp_path / "folder" / "file"
    await shell.put(str(path), b"old")
    node.line.cut_after = 300_000
    with pytest.raises(TransportError) as caught:
        await shell.put(str(path), os.urandom(2_000_000))
    assert caught.value.outcome == "unknown"
    await until(lambda: [p.name for p in path.parent.iterdir()] == ["file"])
    assert path.read_bytes() == b"old"


async def test_a_script_cut_on_its_way_is_not_run(node, reach, tmp_path):
    shell = reach(node)
    await shell.run("true", timeout_s=20)
    node.line.cut_after = 100_000
    script = f"touch {tmp_path}/ran\n" + "# filling\n" * 40_000
    with pytest.raises(TransportError) as caught:
        await shell.run(script, timeout_s=20)
    assert caught.value.outcome == "unknown"
    assert (await shell.run("echo again", timeout_s=20)).out == "again\n"
    assert not (tmp_path / "ran").exists()


async def test_a_line_cut_in_the_middle_leaves_an_unknown_outcome_and_comes_back(node, reach, tmp_path):
    shell = reach(node)
    lost = asyncio.ensure_future(shell.run(f"touch {tmp_path}/begun; sleep 60", timeout_s=60))
    await until((tmp_path / "begun").exists)
    node.line.cut()
    with pytest.raises(TransportError, match="The connection to delta was lost") as caught:
        await lost
    assert caught.value.outcome == "unknown"
    assert (await shell.run("echo back", timeout_s=20)).out == "back\n"


async def test_a_master_killed_between_two_commands_is_replaced_without_a_word(node, reach):
    shell = reach(node)
    await shell.run("true", timeout_s=20)
    node.line.cut()
    assert (await shell.run("echo back", timeout_s=20)).out == "back\n"
    assert node.logins() == 2


async def test_a_killed_server_is_said_to_be_out_of_reach_and_then_comes_back(node, reach):
    shell = reach(node)
    await shell.run("true", timeout_s=20)
    node.kill()
    for _ in range(2):
        with pytest.raises(TransportError, match=r"delta \(delta\) is not reachable by ssh") as caught:
            await shell.run("echo", timeout_s=20)
        assert (caught.value.outcome, caught.value.transient, caught.value.needs_login) == ("not_sent", True, False)
    node.start()

    async def back():
        try:
            return (await shell.run("echo back", timeout_s=20)).out
        except TransportError:
            return ""

    deadline = time.monotonic() + 20
    while await back() != "back\n":
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)


async def test_a_silent_line_is_given_up_at_the_deadline_with_nothing_sent(node, reach):
    node.line.hold()
    with pytest.raises(TransportError, match=r"was not reached by ssh within 1 s; nothing was sent") as caught:
        await reach(node).run("echo", timeout_s=1)
    assert caught.value.outcome == "not_sent"
    node.line.release()


async def test_a_silent_line_is_noticed_by_the_connection_itself(node, reach):
    shell = reach(node, options=("ServerAliveInterval=1", "ServerAliveCountMax=1"))
    await shell.run("true", timeout_s=20)
    node.line.hold()
    begun = time.monotonic()
    with pytest.raises(TransportError) as caught:
        await shell.run("sleep 100", timeout_s=60)
    assert caught.value.outcome == "unknown"
    assert time.monotonic() - begun < 30
    node.line.release()


async def test_a_slow_line_only_takes_longer(node, reach):
    node.line.delay_s = 0.1
    assert (await reach(node).run("cat", stdin=b"x" * 100_000, timeout_s=60)).stdout == b"x" * 100_000


@pytest.mark.parametrize(("host", "sentence"), [
    ("no-such-host.invalid", "its name leads nowhere"),
    ("127.0.0.1", "is not reachable by ssh: .*[Cc]onnection refused"),
])  # fmt: skip
async def test_a_host_that_is_not_there(node, reach, host, sentence):
    node.alias = host
    shell = reach(node, options=("Port=1", "UserKnownHostsFile=none"))
    with pytest.raises(TransportError, match=sentence) as caught:
        await shell.run("echo", timeout_s=30)
    assert caught.value.outcome == "not_sent"


async def test_an_unknown_host_key_is_not_accepted_and_says_what_to_run(node, reach):
    node.known_hosts.write_text("")
    with pytest.raises(TransportError) as caught:
        await reach(node).run("echo", timeout_s=20)
    assert "host key of delta (delta) is not known here" in caught.value.message
    assert f"Run `ssh -F {node.config} delta` once in a terminal" in caught.value.message
    assert (caught.value.outcome, node.known_hosts.read_text()) == ("not_sent", "")


async def test_not_even_a_lax_config_of_the_user_accepts_a_changed_key(node, reach):
    with node.config.open("a") as file:
        file.write("  StrictHostKeyChecking no\n  BatchMode no\n")
    node.change_host_key()
    with pytest.raises(TransportError, match="is not the one that is known for it") as caught:
        await reach(node).run("echo", timeout_s=20)
    assert caught.value.outcome == "not_sent"


async def test_a_refused_login_is_not_tried_again_but_a_connection_of_the_users_is_taken(node, reach):
    """S4: sites ban who knocks again and again; the user logs in once, with whatever the site asks for."""
    node.deny()
    shell = reach(node)
    messages = set()
    for _ in range(3):
        with pytest.raises(TransportError) as caught:
            await shell.run("echo", timeout_s=20)
        assert (caught.value.outcome, caught.value.needs_login) == ("not_sent", True)
        messages.add(caught.value.message)
    assert node.knocks() - 1 == 1, "the first knock is the fixture's own look at the port"
    (message,) = messages
    assert message.startswith("delta (delta) needs login: open a connection once in a terminal: `ssh ")
    words = message.split("`")[1]
    node.allow()
    done = terminal(words.split())
    assert done.returncode == 0, done.stderr
    assert (await shell.run("echo in", timeout_s=20)).out == "in\n"
    await shell.close()
    assert (await reach(node).run("echo still in", timeout_s=20)).out == "still in\n"
    assert node.logins() == 1, "the user's connection outlives ours, and serves the next server"
    users = words.split()[words.split().index("-S") + 1]
    assert ssh(node, "-S", users, "-O", "exit").returncode == 0


async def test_a_master_of_the_users_config_is_reused_and_stays(node, reach, run_folder):
    with node.config.open("a") as file:
        file.write(f"  ControlMaster auto\n  ControlPath {run_folder}/%C\n  ControlPersist 60\n")
    assert ssh(node, command=("true",)).returncode == 0
    node.deny()
    shell = reach(node)
    assert (await shell.run("echo in", timeout_s=20)).out == "in\n"
    await shell.close()
    assert ssh(node, "-O", "check").returncode == 0
    ssh(node, "-O", "exit")
    with pytest.raises(TransportError, match=rf"needs login: .*`ssh -F {node.config} delta`\.") as caught:
        await reach(node).run("echo", timeout_s=20)
    assert caught.value.needs_login


async def test_a_site_that_allows_few_sessions_is_waited_for(tmp_path, reach):
    from tests.live.sshd import Sshd

    node = Sshd(tmp_path / "ssh", "narrow", extra="MaxSessions 2")
    try:
        shell = reach(node)
        answers = await asyncio.gather(*(shell.run(f"sleep 0.3; echo {i}", timeout_s=60) for i in range(5)))
        assert [a.out for a in answers] == [f"{i}\n" for i in range(5)]
        assert node.logins() == 1
    finally:
        node.close()


async def test_commands_and_forwardings_of_the_users_config_do_not_get_in_the_way(node, reach, tmp_path):
    with node.config.open("a") as file:
        file.write(f"  RemoteCommand tmux\n  RequestTTY force\n  LocalForward {node.port} 127.0.0.1:1\n"
                   f"  PermitLocalCommand yes\n  LocalCommand touch {tmp_path}/local\n")  # fmt: skip
    assert (await reach(node).run("echo fine", timeout_s=20)).out == "fine\n"
    assert not (tmp_path / "local").exists()


async def test_a_broken_config_is_said(node, reach):
    with node.config.open("a") as file:
        file.write("  Prot 22\n")
    with pytest.raises(TransportError, match=r"ssh does not take its configuration for delta .*Mend it") as caught:
        await reach(node).run("echo", timeout_s=20)
    assert caught.value.outcome == "not_sent"


async def test_without_a_client_nothing_was_sent(node, reach, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(TransportError, match="install openssh-client") as caught:
        await reach(node).run("echo", timeout_s=20)
    assert caught.value.outcome == "not_sent"


async def test_closing_leaves_no_connection_and_no_socket(node, reach):
    shell = reach(node)
    await shell.run("true", timeout_s=20)
    assert len(list(socket_folder().iterdir())) == 1
    await shell.close()
    await until(lambda: not list(socket_folder().iterdir()))
    await until(lambda: not node.sessions())


async def test_the_servers_own_secrets_stay_here(node, reach, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "s3cret")
    monkeypatch.setenv("JPY_API_TOKEN", "s3cret")
    with node.config.open("a") as file:
        file.write("  SendEnv *\n")
    node.extra = "AcceptEnv *"
    node.kill()
    node.start()
    assert "s3cret" not in (await reach(node).run("env", timeout_s=20)).out


async def test_sockets_lie_in_a_short_private_folder(run_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 30)))
    (tmp_path / ("long" * 30)).mkdir()
    folder = socket_folder()
    assert len(str(folder)) < 60
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    (run_folder / "diamond-ssh").mkdir()
    (run_folder / "diamond-ssh").chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run_folder))
    with pytest.raises(TransportError, match="is not a private folder of yours"):
        socket_folder()
