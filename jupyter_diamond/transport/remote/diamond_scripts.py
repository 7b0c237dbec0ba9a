"""What runs at a site behind Globus Compute: shell scripts, side by side, within bounds. Standard library, Python 3.6+.

This file travels as it is, as the source of one function; JSON goes in and comes out. It runs inside the endpoint's
process, in one of its threads: so it depends on no working directory, changes nothing of the process, and starts every
script in a session of its own with an environment of its own.

An order::

    {"format": 1, "start_by": epoch, "env": {...}, "folder": "~/diamond", "answer_bytes": 8000000, "scripts": [
        {"script": bytes, "stdin": bytes, "upload": "", "timeout_s": 60.0, "max_bytes": 8388608},
        {"upload": "name", "offset": 0, "data": bytes}]}

``bytes`` are text: ``b`` and base64, or ``z`` and base64 of what zlib made of them. ``upload`` names a file in the
folder, which is written piece by piece (``data``), then is a script's input, and is removed with it.
"""

import base64
import contextlib
import os
import pwd
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

KEPT = (
    "HOME", "USER", "LOGNAME", "PATH", "LANG", "TMPDIR", "SHELL", "SLURM_CONF", "PBS_CONF_FILE", "KRB5CCNAME",
)  # fmt: skip
NOISE_BYTES = 64 << 10
KEPT_BYTES = 32 << 20
ARGUMENT_BYTES = 96 << 10
SMALL_BYTES = 4 << 10
AFTER_EXIT_S = 0.25
STALE_S = 86400.0


def diamond_scripts(order):
    """Carry out an order; the only function that is called from outside."""
    now = time.time()
    answer = {
        "format": 1, "now": now, "host": os.uname()[1], "pid": os.getpid(),
        "python": "%d.%d.%d" % sys.version_info[:3], "late": now > order["start_by"], "answers": [],
    }  # fmt: skip
    if answer["late"]:
        return answer
    env = environment(order.get("env") or {})
    folder = expanded(order["folder"], env["HOME"])
    works = []
    try:
        for item in order["scripts"]:
            works.append(Keeping(item, folder) if "data" in item else Script(item, env, folder))
            works[-1].start()
        wait_for([work for work in works if isinstance(work, Script)])
    finally:
        for work in works:
            work.clear()
    answer["answers"] = fitting([work.answer() for work in works], order["answer_bytes"])
    return answer


def environment(wanted):
    """A login's own variables and what the site asks for: nothing of the endpoint's, neither secrets nor limits."""
    user = pwd.getpwuid(os.getuid())
    env = {
        "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name, "PATH": os.defpath,
        "LANG": "C.UTF-8", "SHELL": user.pw_shell or "/bin/sh",
    }  # fmt: skip
    for name in KEPT:
        if os.environ.get(name):
            env[name] = os.environ[name]
    env["PATH"] = own_path(env["PATH"])
    env.update(wanted)
    return env


def own_path(path):
    """The PATH without the virtual environment that the endpoint is installed in: it is no part of the site."""
    homes = [sys.prefix] if sys.prefix != getattr(sys, "base_prefix", sys.prefix) else []
    homes += [os.environ[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    ours = set(os.path.join(home, "bin") for home in homes if sys.prefix == home)
    return os.pathsep.join(part for part in path.split(os.pathsep) if part and part.rstrip("/") not in ours)


def expanded(path, home):
    if path == "~" or path.startswith("~/"):
        return os.path.normpath(home + path[1:])
    return os.path.normpath(os.path.join(home, os.path.expanduser(path)))


def packed(data):
    """Bytes as text, the smaller way."""
    if len(data) > SMALL_BYTES:
        small = zlib.compress(data, 1)
        if len(small) < 0.9 * len(data):
            return "z" + base64.b64encode(small).decode()
    return "b" + base64.b64encode(data).decode()


def unpacked(text):
    data = base64.b64decode(text[1:])
    return zlib.decompress(data) if text[0] == "z" else data


def upload_path(folder, name):
    if not re.match("[a-z0-9]{8,64}$", name):
        raise ValueError("not a name of an upload: %r" % name)
    return os.path.join(folder, ".upload-" + name)


class Keeping:
    """One piece of an upload, written at its place: twice is as good as once."""

    def __init__(self, item, folder):
        self.item, self.folder, self.why = item, folder, ""

    def start(self):
        try:
            os.makedirs(self.folder, 0o700, exist_ok=True)
            self.sweep()
            descriptor = os.open(
                upload_path(self.folder, self.item["upload"]), os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600
            )
            with os.fdopen(descriptor, "wb") as file:
                file.seek(self.item["offset"])
                file.write(unpacked(self.item["data"]))
        except OSError as error:
            self.why = "%s: %s" % (self.folder, error.strerror or error)

    def sweep(self):
        """Remove what uploads of other days have left."""
        for name in os.listdir(self.folder):
            path = os.path.join(self.folder, name)
            try:
                if name.startswith(".upload-") and os.lstat(path).st_mtime < time.time() - STALE_S:
                    os.unlink(path)
            except OSError:
                pass  # another task has just removed it

    def clear(self):
        pass

    def answer(self):
        return {"end": "not_started" if self.why else "kept", "why": self.why}


class Stream:
    """The first bytes of a stream, and the last ones where there were more."""

    def __init__(self, most):
        self.head, self.tail, self.total, self.most = bytearray(), bytearray(), 0, most

    def feed(self, chunk):
        self.total += len(chunk)
        room = self.most - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:]
        if len(self.tail) > 2 * NOISE_BYTES:
            del self.tail[:-NOISE_BYTES]

    def cut_to(self, most):
        if len(self.head) > most:
            self.tail = (self.head[most:] + self.tail)[-NOISE_BYTES:]
            del self.head[most:]

    def said(self):
        tail = bytes(self.tail[-NOISE_BYTES:])
        return {
            "head": packed(bytes(self.head)), "tail": packed(tail),
            "gap": self.total > len(self.head) + len(tail),
        }  # fmt: skip


class Script:
    """One script: bash without start-up files, in a session of its own, killed with all it started when it overruns."""

    def __init__(self, item, env, folder):
        self.item, self.env = item, env
        self.upload = upload_path(folder, item["upload"]) if item.get("upload") else None
        most = min(item["max_bytes"], KEPT_BYTES)
        self.streams = {"out": Stream(most + 2 * NOISE_BYTES), "err": Stream(most)}
        self.end, self.why = "not_started", ""
        self.process, self.seconds, self.leave_at = None, 0.0, None

    def start(self):
        self.begun = time.monotonic()
        self.ends_at = self.begun + self.item["timeout_s"]
        text = unpacked(self.item["script"])
        bash = shutil.which("bash", path=self.env["PATH"]) or "/bin/bash"
        files = []
        try:
            how, fds = ["-c", text, "diamond"], ()
            if len(text) > ARGUMENT_BYTES:
                files.append(filled(text))
                fds = (files[-1].fileno(),)
                how = ["/dev/fd/%d" % fds[0]]
            files.append(self.input())
            home = self.env["HOME"] if os.path.isdir(self.env["HOME"]) else "/"
            self.process = subprocess.Popen(
                [bash, "--noprofile", "--norc"] + how, stdin=files[-1], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=self.env, cwd=home, pass_fds=fds, start_new_session=True, bufsize=0,
            )  # fmt: skip
            self.end = "running"
        except OSError as error:
            self.why = str(error)
        finally:
            for file in files:
                file.close()

    def input(self):
        if self.upload is None:
            return filled(unpacked(self.item["stdin"]))
        size = os.stat(self.upload).st_size
        if size != self.item["upload_bytes"]:
            raise OSError("only %d of %d bytes have come" % (size, self.item["upload_bytes"]))
        return open(self.upload, "rb")

    def pipes(self):
        return [(self.process.stdout, self.streams["out"]), (self.process.stderr, self.streams["err"])]

    def look(self, open_pipes):
        """Whether it is over: ended and read to the end, or ended for a while, or out of time."""
        now = time.monotonic()
        if self.process.poll() is not None:
            self.leave_at = self.leave_at or now + AFTER_EXIT_S  # a daemon of its may keep the pipes for ever
            if not open_pipes or now >= self.leave_at:
                self.end = "ended"
        elif now >= self.ends_at:
            kill_all(self.process.pid)
            self.end = "overrun"
        self.seconds = now - self.begun
        return self.end != "running"

    def clear(self):
        """Leave neither a process nor a pipe nor the upload."""
        if self.process is not None:
            if self.process.poll() is None:
                kill_all(self.process.pid)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                pass  # in an uninterruptible wait: it cannot be waited for
            self.process.stdout.close()
            self.process.stderr.close()
        if self.upload is not None:
            try:
                os.unlink(self.upload)
            except OSError:
                pass

    def answer(self):
        code = None if self.process is None else self.process.returncode
        return {
            "end": self.end, "why": self.why, "code": code, "seconds": self.seconds,
            "out": self.streams["out"], "err": self.streams["err"],
        }  # fmt: skip


def filled(data):
    """A file without a name that holds the data."""
    file = tempfile.TemporaryFile()
    file.write(data)
    file.seek(0)
    return file


def wait_for(scripts):
    """Read all scripts until each is over."""
    running = [script for script in scripts if script.end == "running"]
    with selectors.DefaultSelector() as selector:
        for script in running:
            for pipe, stream in script.pipes():
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_READ, (script, stream))
        while running:
            for key, _ in selector.select(0.05):
                read(key, selector)
            held = set(key.data[0] for key in selector.get_map().values())
            for script in [script for script in running if script.look(script in held)]:
                running.remove(script)
                for pipe, _ in script.pipes():
                    if pipe in selector.get_map():
                        selector.unregister(pipe)


def read(key, selector):
    try:
        chunk = os.read(key.fd, 1 << 16)
    except BlockingIOError:
        return
    if chunk:
        key.data[1].feed(chunk)
    else:
        selector.unregister(key.fileobj)


def kill_all(leader):
    """Kill a session and everything that descends from its leader."""
    for pid in sorted(descendants(leader)) + [leader, -leader]:
        with contextlib.suppress(OSError):  # it has just ended, or is somebody else's
            os.kill(pid, signal.SIGKILL)


def descendants(leader):
    """Who descends from the leader or is of its session, as /proc tells; nobody where there is none."""
    parents = {}
    found = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
            if int(fields[3]) == leader:
                found.add(int(name))
    grown = -1
    while grown != len(found):
        grown = len(found)
        found.update(pid for pid, parent in parents.items() if parent == leader or parent in found)
    return found - {leader}


def fitting(answers, most):
    """The answers as text, the longest streams cut until all of them fit: a result that is too large is lost."""
    streams = [(a, name, a[name]) for a in answers for name in ("out", "err") if name in a]
    said = [stream.said() for _, _, stream in streams]
    sizes = [len(one["head"]) + len(one["tail"]) for one in said]
    if sum(sizes) > most:
        level = water_level(sizes, most)
        for i, (_, _, stream) in enumerate(streams):
            if sizes[i] > level:
                stream.cut_to(max(0, level * 3 // 4 - 2 * NOISE_BYTES))
                said[i] = stream.said()
    for (answer, name, _), one in zip(streams, said):
        answer[name] = one
    return answers


def water_level(sizes, most):
    """The largest length to which all may be cut so that their sum is not more than ``most``."""
    left, count = most, len(sizes)
    for size in sorted(sizes):
        if size * count > left:
            break
        left, count = left - size, count - 1
    return left // max(count, 1)
