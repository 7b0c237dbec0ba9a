"""Real OpenSSH servers on loopback, one a "login node", with a user's ssh config that knows them, and a line to cut.

Every server has a port, a host key and an authorized key of its own. Clients reach it through a ``Line``: a small TCP
proxy that tests delay, hold or cut as networks do. ``LoginUser`` is a user made for a test, whose login shell and
start-up files are the test's.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.live.ports import free_port

PROGRAM_FOLDERS = "/usr/sbin:/usr/local/sbin:/sbin"


class SshdError(Exception):
    """The server cannot be brought up; the message says why."""


def wait_for_port(port: int, seconds: float = 10.0) -> None:
    """Wait until somebody listens."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline:
            raise SshdError(f"Nobody listens on port {port} after {seconds:g} s.")
        time.sleep(0.02)


def keygen(path: Path) -> Path:
    """A new key without a passphrase."""
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "diamond-test", "-f", str(path)]
    subprocess.run(argv, check=True, timeout=30, stdin=subprocess.DEVNULL)
    return path


class Line:
    """A TCP proxy on loopback that leads to a server: it can be slow, hold everything back, or be cut."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.delay_s = 0.0
        self.refuses = False
        self.cut_after: int | None = None  # bytes more from the client, then the line is cut
        self.connections = 0
        self._held = threading.Event()
        self._held.set()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._closing = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break every connection, as a router that forgets them does."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """Let nothing pass, in silence, until ``release``."""
        self._held.clear()

    def release(self) -> None:
        """Let it pass again."""
        self._held.set()

    def close(self) -> None:
        """Stop listening and cut everything."""
        self._closing = True
        self._held.set()
        with contextlib.suppress(OSError):  # wakes the thread that accepts
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._closing:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                if self.refuses:
                    raise ConnectionRefusedError
                far = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._pairs.add((near, far))
            threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        with selectors.DefaultSelector() as selector, near, far:
            selector.register(near, selectors.EVENT_READ, far)
            selector.register(far, selectors.EVENT_READ, near)
            with contextlib.suppress(OSError):
                while self._once(selector, near):
                    pass
        with self._lock:
            self._pairs.discard((near, far))

    def _once(self, selector: selectors.BaseSelector, near: socket.socket) -> bool:
        for key, _ in selector.select():
            source, sink = key.fileobj, key.data
            assert isinstance(source, socket.socket)
            data = source.recv(1 << 14)
            self._held.wait()
            if self.delay_s:
                time.sleep(self.delay_s)
            if source is near and self.cut_after is not None:
                self.cut_after -= len(data)
                if self.cut_after < 0:
                    self.cut_after = None
                    self.cut()
                    return False
            if not data:
                return False
            sink.sendall(data)
        return True


@dataclass
class LoginUser:
    """A user of this machine, made for a test. Needs root."""

    shell: str = "/bin/bash"
    files: Mapping[str, str] = field(default_factory=dict)
    name: str = field(default_factory=lambda: f"dmd{secrets.token_hex(4)}")

    def make(self) -> None:
        """Make the user with a home folder and its files."""
        self.home = Path(tempfile.mkdtemp(prefix="diamond-home-"))
        shell = shutil.which(self.shell)
        if shell is None:
            raise SshdError(f"{self.shell} is not installed: run tests/live/debian.sh as root.")
        argv = ["useradd", "--no-create-home", "--home-dir", str(self.home), "--shell", shell, self.name]
        subprocess.run(argv, check=True, timeout=30, capture_output=True)
        # a new account is locked, and sshd without PAM lets no locked account in
        subprocess.run(["usermod", "-p", "*", self.name], check=True, timeout=30, capture_output=True)
        for name, text in self.files.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        subprocess.run(["chown", "-R", f"{self.name}:", str(self.home)], check=True, timeout=30)
        self.home.chmod(0o755)

    def close(self) -> None:
        """End the user's processes, and remove it."""
        for process in psutil.process_iter(["username"]):
            if process.info["username"] == self.name:
                with contextlib.suppress(psutil.Error):
                    process.kill()
        subprocess.run(["userdel", self.name], check=False, timeout=30, capture_output=True)
        shutil.rmtree(self.home, ignore_errors=True)


class Sshd:
    """One login node: ``alias`` in ``config`` leads to it, through ``line``.

    ``env`` is set for every session (``SLURM_CONF``), ``extra`` are more lines of its configuration.
    """

    def __init__(
        self,
        folder: Path,
        alias: str,
        *,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        extra: str = "",
    ) -> None:
        self.folder, self.alias, self.user = folder / alias, alias, user or getpass.getuser()
        self.folder.mkdir(parents=True)
        self.config = folder / "ssh_config"
        self.known_hosts = folder / "known_hosts"
        self.key = keygen(self.folder / "id")
        self._host_key = keygen(self.folder / "host_key")
        # read as the user who logs in, who may not look into our folders
        self.authorized = Path(tempfile.gettempdir()) / f"diamond-keys-{secrets.token_hex(6)}"
        self._env, self.extra = {**({} if user else {"HOME": self._home()}), **(env or {})}, extra
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.allow()
        self.start()
        self.line = Line(self.port)
        self.trust()
        self._configure()

    def _home(self) -> str:
        """A home with login files of its own, where we log in as ourselves.

        A login that is killed in the middle must leave no half-done work of our own login files behind, such as a lock
        that every later login would wait for. The programs are those that we have.
        """
        home = self.folder / "home"
        home.mkdir()
        for name in (".bashrc", ".bash_profile", ".profile"):
            (home / name).write_text(f"export PATH={shlex.quote(os.environ['PATH'])}\n")
        return str(home)

    def start(self) -> None:
        """Start it; a second start takes the same port."""
        program = shutil.which("sshd", path=PROGRAM_FOLDERS)
        if program is None:
            raise SshdError("sshd is not installed: run tests/live/debian.sh as root.")
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        self.port = self.port or free_port()
        self._write()
        log = self.folder / "log"
        argv = [program, "-D", "-f", str(self.folder / "sshd_config"), "-E", str(log)]
        self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            wait_for_port(self.port)
        except SshdError as problem:
            raise SshdError(f"{problem} {log.read_text()[-500:] if log.exists() else ''}") from None

    def _write(self) -> None:
        keys = "" if not self._env else "SetEnv " + " ".join(f'"{name}={value}"' for name, value in self._env.items())
        text = f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {self._host_key}
PidFile none
AuthorizedKeysFile {self.authorized}
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
LogLevel VERBOSE
PrintMotd no
MaxStartups 50
{keys}
{self.extra}
"""
        (self.folder / "sshd_config").write_text(text)

    def allow(self) -> None:
        """Let the user's key in."""
        self.authorized.write_bytes(self.key.with_suffix(".pub").read_bytes())
        self.authorized.chmod(0o644)

    def deny(self) -> None:
        """Let nobody in."""
        self.authorized.write_text("")

    def trust(self) -> None:
        """Make the host key known to the user."""
        kind, key = self._host_key.with_suffix(".pub").read_text().split()[:2]
        with self.known_hosts.open("a") as file:
            file.write(f"[127.0.0.1]:{self.line.port} {kind} {key}\n")

    def change_host_key(self) -> None:
        """Come back with another host key."""
        self.kill()
        for path in (self._host_key, self._host_key.with_suffix(".pub")):
            path.unlink()
        keygen(self._host_key)
        self.start()

    def _configure(self) -> None:
        with self.config.open("a") as file:
            file.write(f"""Host {self.alias}
  HostName 127.0.0.1
  Port {self.line.port}
  User {self.user}
  IdentityFile {self.key}
  IdentitiesOnly yes
  UserKnownHostsFile {self.known_hosts}
""")

    def sessions(self) -> list[psutil.Process]:
        """The server's own process for every connection."""
        if self._process is None or self._process.poll() is not None:
            return []
        return psutil.Process(self._process.pid).children(recursive=True)

    def kill(self) -> None:
        """Kill it with all its connections, as a reboot of the login node does."""
        if self._process is None:
            return
        for process in self.sessions():
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._process = None

    def logins(self) -> int:
        """How often a login was let in."""
        return self._said("Accepted publickey")

    def knocks(self) -> int:
        """How many connections came, let in or not."""
        return self._said("Connection from")

    def _said(self, words: str) -> int:
        return (self.folder / "log").read_text(errors="replace").count(words)

    def close(self) -> None:
        """End it, and the line to it."""
        self.line.close()
        self.kill()
        self.authorized.unlink(missing_ok=True)


@contextlib.contextmanager
def login_nodes(folder: Path, envs: Mapping[str, Mapping[str, str]]) -> Iterator[dict[str, Sshd]]:
    """One server for every name, all in one ssh config."""
    with contextlib.ExitStack() as stack:
        nodes = {}
        for name, env in envs.items():
            nodes[name] = Sshd(folder, name, env=env)
            stack.callback(nodes[name].close)
        yield nodes
