"""B21: login shells of every kind, whose start-up files print, ask and export what they like."""

from __future__ import annotations

import pytest

from jupyter_diamond.errors import TransportError
from tests.live.sshd import LoginUser, Sshd

pytestmark = [pytest.mark.asyncio, pytest.mark.sshd, pytest.mark.users]

NOISE = "echo '** Scratch purge on 1 May **'; echo 'Loading default modules...'"
FILES = {
    "bash": {
        ".bashrc": f"{NOISE}\necho oops >&2\nexport BASH_ENV=$HOME/.noise\nalias cat='echo no'\nstty -a\n",
        ".noise": "echo from BASH_ENV; exit 3\n",
        ".profile": "echo profile\n",
        ".bash_logout": "echo Goodbye\n",
    },
    "dash": {".profile": "echo profile\n"},
    "tcsh": {".cshrc": f"{NOISE}\nset history=100\nsetenv BASH_ENV $HOME/.noise\n", ".noise": "echo from BASH_ENV\n"},
    "zsh": {".zshenv": f"{NOISE}\nsetopt nomatch\nexport ENV=$HOME/.noise\n"},
    "fish": {".config/fish/config.fish": f"{NOISE}\nset -x COLOUR blue\n"},
}
SCRIPT = """echo "it's $HOME ! #x %1 \\ ~ {a,b} $(printf '%s' ok)"
cat
exit 7
"""


@pytest.fixture
def login(tmp_path, run_folder):
    """Log a user of the test's own in: ``login(shell, files)``."""
    made = []

    def make(shell, files):
        made.append(LoginUser(shell=shell, files=files))
        user = made[-1]
        user.make()
        banner = tmp_path / "banner"
        banner.write_text("** Authorized use only. Permission denied to everybody else. **\n")
        made.append(Sshd(tmp_path / f"ssh{len(made)}", "delta", user=user.name, extra=f"Banner {banner}"))
        return user, made[-1]

    yield make
    for thing in reversed(made):
        thing.close()


@pytest.mark.parametrize("shell", FILES)
async def test_every_login_shell_gives_the_same_answer_whatever_it_prints(login, reach, shell):
    user, node = login(shell, FILES[shell])
    transport = reach(node, {"SITE": "a 'b' !c"})
    payload = bytes(range(256)) * 100
    done = await transport.run(SCRIPT, stdin=payload, timeout_s=30)
    first, _, rest = done.stdout.partition(b"\n")
    assert first.decode() == f"it's {user.home} ! #x %1 \\ ~ {{a,b}} ok"
    assert (rest, done.exit, done.stderr) == (payload, 7, b"")
    assert (await transport.run('printf %s "$SITE"', timeout_s=30)).out == "a 'b' !c"
    assert ("Scratch purge" in done.noise.decode()) == (shell != "dash")
    assert "BASH_ENV" not in done.noise.decode()
    await transport.put("diamond/x", payload)
    assert (await transport.get("diamond/x"), await transport.expand("~/d")) == (payload, f"{user.home}/d")


async def test_a_start_up_file_that_ends_the_shell_is_named(login, reach):
    _, node = login("bash", {".bashrc": "echo Welcome; exit 0\n"})
    with pytest.raises(TransportError, match=r"~/\.bashrc") as caught:
        await reach(node).run("echo", timeout_s=30)
    assert "It printed: 'Welcome'" in caught.value.message


async def test_a_start_up_file_that_hangs_costs_no_more_than_the_deadline(login, reach):
    _, node = login("bash", {".bashrc": "sleep 60\n"})
    with pytest.raises(TransportError, match="did not finish a command within 2 s") as caught:
        await reach(node).run("echo", timeout_s=2)
    assert caught.value.outcome == "unknown"


async def test_a_login_that_is_switched_off_is_said(login, reach):
    _, node = login("/usr/sbin/nologin", {})
    with pytest.raises(TransportError, match="This account is currently not available"):
        await reach(node).run("echo", timeout_s=30)
