"""The system's OpenSSH client, as we call it: its options, its environment, and what its complaints mean."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from jupyter_diamond.errors import TransportError

from .base import Completed

CONNECT_S = 15
"""How long one connection attempt may take, where the user's own config says nothing."""
_ALIVE_S = 10
"""A connection that is silent for three times this long is given up, where the user's own config says nothing."""
_BANNED_S = 600.0
"""After a refused login: how long none is tried again. Sites ban addresses that keep knocking (S4)."""
_BROKEN_S = 60.0
_UNREACHED_S = 2.0
"""After a failed connection: the loops of one site that fail together count as one attempt."""

# First given wins in OpenSSH: these stand before the user's own config. Nothing may ask, nothing else may run.
_FORCED = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ControlMaster=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
)
_OTHERS = ("JUPYTER", "JPY_", "SLURM_", "SSH_ASKPASS")  # not the client's business: a config may send variables on

REMOTE = 'exec env -u BASH_ENV -u ENV bash --noprofile --norc -c \'IFS= read -r -d "" s && eval "$s"\''
"""What the login shell at the site is told. sh, bash, zsh, csh, tcsh and fish read it alike: no backslash, no ``!``, no
newline, and short, because csh has a limit. The script itself comes on stdin, ended by NUL, the payload after it:
``read`` takes not one byte more, and a script that was cut on its way is not run."""


@dataclass(frozen=True)
class Refusal:
    """Why no connection came about, and for how long another attempt would be rude or useless."""

    message: str
    pause_s: float
    needs_login: bool = False

    def error(self, evidence: tuple[str, ...]) -> TransportError:
        """The error: whatever was to be done was surely not sent."""
        return TransportError(self.message, outcome="not_sent", evidence=evidence, needs_login=self.needs_login)


@dataclass(frozen=True)
class Client:
    """How ssh is called for one site. ``where`` is the site's name, for sentences."""

    host: str
    where: str
    options: tuple[str, ...] = ()
    config: str | None = None

    def program(self) -> str:
        """The path of ssh. Raises TransportError."""
        found = shutil.which("ssh")
        if found is None:
            raise TransportError(
                f"{self.where} is reached by ssh, which is not installed here; install openssh-client.",
                outcome="not_sent",
            )
        return found

    def argv(self, *words: str, command: Sequence[str] = (), chosen: Sequence[str] = ()) -> list[str]:
        """One call. ``words`` are arguments of ssh itself, ``chosen`` are options that stand before ours."""
        options = [word for option in (*chosen, *_FORCED, *self.options) for word in ("-o", option)]
        return [self.program(), *self._config(), "-T", *options, *words, "--", self.host, *command]

    def settings_argv(self) -> list[str]:
        """The call that tells what the user's config says about this host."""
        options = [word for option in self.options for word in ("-o", option)]
        return [self.program(), *self._config(), *options, "-G", "--", self.host]

    def _config(self) -> list[str]:
        return ["-F", os.path.expanduser(self.config)] if self.config else []  # noqa: PTH111 - text for ssh

    def login_words(self, *extra: str) -> str:
        """The command that a user types to log in."""
        config = ["-F", self.config] if self.config else []
        options = [word for option in self.options for word in ("-o", option)]
        return shlex.join(["ssh", *config, *options, *extra, self.host])


def patience(settings: dict[str, str]) -> tuple[str, ...]:
    """Time-outs for a connection, unless the user's config (as ``ssh -G`` tells it) sets them."""
    wanted = []
    if settings.get("connecttimeout", "none") in ("none", "0"):
        wanted.append(f"ConnectTimeout={CONNECT_S}")
    if settings.get("serveraliveinterval", "0") == "0":
        wanted += [f"ServerAliveInterval={_ALIVE_S}", "ServerAliveCountMax=3"]
    return tuple(wanted)


def client_environment(**more: str) -> dict[str, str]:
    """The user's own environment (agent, Kerberos, what a ProxyCommand needs), without what is not ssh's business."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OTHERS)}
    return {**kept, "SSH_ASKPASS_REQUIRE": "never", **more}


def never_opened(code: int | None, stderr: str) -> bool:
    """Whether a command over a master surely never reached the site: the client says that it had no session.

    It then tries a connection of its own, through a ProxyCommand of ours that fails: that is the UNKNOWN port.
    """
    if code != 255 or "UNKNOWN port" not in stderr:
        return False
    said = re.findall(r"^mux_client_\w+: (.*)$", stderr, re.MULTILINE)
    # "read from master failed": the session may have begun just before the master died
    return all(crowded(words) or "hello exchange" in words for words in said)


def crowded(stderr: str) -> bool:
    """Whether the site refuses one more session on this connection (MaxSessions)."""
    return "session request failed" in stderr and "refused" in stderr


def why_not(client: Client, stderr: str, *, login: str) -> Refusal:
    """What ssh's complaint about a connection means to the user. ``login`` is the sentence on how to log in."""
    where = f"{client.where} ({client.host})"
    lines = [line.strip() for line in stderr.replace("\r", "").splitlines() if line.strip()]
    last = lines[-1][:300].rstrip(".") if lines else "ssh gave no reason"
    if "has changed and you have requested strict checking" in stderr or "IDENTIFICATION HAS CHANGED" in stderr:
        return Refusal(
            f"The host key of {where} is not the one that is known for it. Ask the site whether it has a new one; "
            f"if so, remove the old one with `ssh-keygen -R`, then run `{client.login_words()}` once in a terminal.",
            _BROKEN_S,
        )
    if "Host key verification failed" in stderr or "host key is known for" in stderr:
        return Refusal(
            f"The host key of {where} is not known here. Run `{client.login_words()}` once in a terminal, and accept "
            f"the key if its fingerprint is the one that the site publishes.",
            _BROKEN_S,
        )
    if "Permission denied" in stderr or "Too many authentication failures" in stderr or "No more authen" in stderr:
        return Refusal(f"{where} needs login: {login}", _BANNED_S, needs_login=True)
    if "Could not resolve hostname" in stderr:
        return Refusal(
            f"{where} is not reachable: its name leads nowhere ({last}). Check the network, and host in the site "
            f"catalogue against ~/.ssh/config.",
            _UNREACHED_S,
        )
    if "onfiguration option" in stderr or "Bad owner or permissions" in stderr or "keyword" in stderr:
        return Refusal(f"ssh does not take its configuration for {where}: {last}. Mend it.", _BROKEN_S)
    return Refusal(f"{where} is not reachable by ssh: {last}. It is tried again.", _UNREACHED_S)


def part_noise(done: Completed, mark: str, *, max_bytes: int) -> Completed:
    """Without what start-up files of the login shell printed on stderr before our script began; then bounded."""
    before, found, after = done.stderr.partition(f"<<dmd:{mark}>>\n".encode())
    said, noise = (after, done.noise + before) if found else (done.stderr, done.noise)
    cut = done.truncated or len(said) > max_bytes
    return done.model_copy(update={"stderr": said[:max_bytes], "noise": noise, "truncated": cut})
