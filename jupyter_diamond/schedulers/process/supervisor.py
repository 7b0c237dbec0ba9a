"""The process beside a running job: starts it, keeps it to its limits, and writes down how it ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from typing import NoReturn

from . import machine, processes
from .tickets import Job, Queue, Run, Ticket, end_record

_POLL_S = 0.5
"""How often memory is looked at. The job's end needs no poll."""
_GRACE_S = 5.0
"""Between SIGTERM and SIGKILL."""
_STRAY_GRACE_S = 0.5
"""The same for processes that a job leaves behind when it ends by itself."""
_KILL_AGAIN_S = 0.05
_WAKING = (signal.SIGCHLD, signal.SIGTERM, signal.SIGUSR1)
CANCEL = signal.SIGUSR1
"""Tells a supervisor that ``cancel.json`` is there."""


def run(
    queue: Queue,
    job: Job,
    ticket: Ticket,
    gpus: tuple[int, ...],
    life: int,
    *,
    afterwards: Callable[[Queue, Job], None],
) -> NoReturn:
    """Be the supervisor of this job. Called in a fresh fork; never returns."""
    try:
        _leave_everything(life)
        _Supervisor(job, ticket, gpus).run()
        afterwards(queue, job)
    except BaseException:  # noqa: BLE001 - the last frame of a process that nobody watches
        _last_words(job)
    finally:
        os._exit(0)


def _leave_everything(life: int) -> None:
    """Leave the folder and every open file of whoever forked us; its session we left at the fork."""
    machine.gpus.cache_clear()  # a chain of supervisors may live for weeks
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, life)
    os.closerange(life + 1, min(highest, 4096) if highest > 0 else 4096)


def _last_words(job: Job) -> None:
    import traceback

    with contextlib.suppress(OSError):
        (job.path / "trouble.txt").write_text(traceback.format_exc())


class _Supervisor:
    def __init__(self, job: Job, ticket: Ticket, gpus: tuple[int, ...]) -> None:
        self.job, self.ticket, self.gpus = job, ticket, gpus
        self.leader = 0
        self.status: int | None = None
        self.childless = False
        self.cause = ""
        self.kill_at = float("inf")
        self.signalled = False
        self.peak = 0
        self.oom_kills = machine.oom_kills()
        self.started_at = time.time()
        self.ends_at = time.monotonic() + ticket["walltime_s"]
        warning = ticket.get("warn_before_end_s", 0)  # a ticket of an older version has none
        self.warn_at = self.ends_at - warning if warning else float("inf")

    def run(self) -> None:
        """Start the job, wait for its end, write it down."""
        wake = self._listen()
        processes.adopt_orphans()
        self._start()
        next_look = time.monotonic() + _POLL_S
        while not self._over():
            now = time.monotonic()
            pause = min(next_look, self.ends_at if not self.cause else next_look, self.kill_at, self.warn_at) - now
            select.select([wake], [], [], max(pause, 0.0))
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
            self._reap()
            now = time.monotonic()
            self._warn(now)
            if self.status is None and not self.cause:
                self._check_limits(now, look=now >= next_look)
            if now >= next_look:
                next_look = now + _POLL_S
            self._stop_rest(now)
        self._write_end()

    def _listen(self) -> int:
        wake, signalled = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(signalled, False)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        for number in _WAKING:
            signal.signal(number, self._note)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        return wake

    def _note(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:
            self.signalled = True

    def _start(self) -> None:
        self.leader = os.fork()
        if self.leader == 0:
            _become_job(self.job, self.ticket, self.gpus)
        with contextlib.suppress(PermissionError):  # the child has done it already
            os.setpgid(self.leader, self.leader)
        me = os.getpid()
        record = Run(
            pid=me,
            birth=processes.birth(me) or "",
            group=self.leader,
            group_birth=processes.birth(self.leader) or "",
            host=machine.name(),
            boot=machine.boot(),
            started_at=self.started_at,
        )
        self.job.write("run.json", record)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.childless = True
                return
            if pid == 0:
                return
            self.peak = max(self.peak, usage.ru_maxrss * (1024 if os.uname().sysname == "Linux" else 1))
            if pid == self.leader:
                self.status = status

    def _over(self) -> bool:
        """Nobody is left: children of ours by adoption, or (where there is none) members of the job's group."""
        return self.childless and (self.status is not None) and not processes.group_exists(self.leader)

    def _warn(self, now: float) -> None:
        """To the script alone, as Slurm does it: its programs may use the signal for something else (B28)."""
        if now < self.warn_at:
            return
        self.warn_at = float("inf")
        if self.status is None and not self.cause:
            processes.send([self.leader], signal.Signals[f"SIG{self.ticket['warn_signal']}"])

    def _check_limits(self, now: float, *, look: bool) -> None:
        if self.job.cancelled_by() is not None:
            self._stop("CANCELLED", now)
        elif self.signalled:
            self._stop("SIGNALLED", now)
        elif now >= self.ends_at:
            self._stop("TIMEOUT", now)
        elif look and self._over_memory():
            # as the kernel does it: at once, but the script may still write that its program was killed
            self.cause, self.kill_at = "OUT_OF_MEMORY", now + _STRAY_GRACE_S
            rest = [pid for pid in processes.descendants(os.getpid()) if pid != self.leader]
            processes.send(rest or [self.leader], signal.SIGKILL)

    def _over_memory(self) -> bool:
        family = processes.descendants(os.getpid())
        used = processes.resident_bytes(family)
        self.peak = max(self.peak, used)
        limit = self.ticket["memory_bytes"]
        if limit is None or used <= limit:
            return False
        # forked workers share pages: the plain sum may count them many times over
        exact = processes.proportional_bytes(family)
        return exact is None or exact > limit

    def _stop(self, cause: str, now: float) -> None:
        self.cause, self.kill_at = cause, now + _GRACE_S
        self._terminate()

    def _terminate(self) -> None:
        family = processes.descendants(os.getpid())
        processes.send_group(self.leader, signal.SIGTERM)
        processes.send(processes.outside(family, self.leader), signal.SIGTERM)

    def _stop_rest(self, now: float) -> None:
        """After the script's end nothing of the job runs on; after the grace nothing at all does."""
        if self._over():
            return
        if self.status is not None and self.kill_at == float("inf"):
            self.kill_at = now + _STRAY_GRACE_S
            self._terminate()
        if now >= self.kill_at:
            processes.send_group(self.leader, signal.SIGKILL)
            processes.send(processes.descendants(os.getpid()), signal.SIGKILL)
            self.kill_at = now + _KILL_AGAIN_S

    def _write_end(self) -> None:
        status = self.status or 0
        exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        state, reason, by = self._judge(exit_code, number)
        record = end_record(
            state, reason=reason, started_at=self.started_at, exit_code=exit_code, signal=number,
            max_rss_bytes=self.peak or None, cancelled_by=by,
        )  # fmt: skip
        self.job.write("end.json", record)

    def _judge(self, exit_code: int | None, number: int | None) -> tuple[str, str, str]:
        """State, reason, and who cancelled it."""
        if self.cause == "CANCELLED":
            return "CANCELLED", "", self.job.cancelled_by() or ""
        if self.cause == "SIGNALLED":
            return "NODE_FAIL", "the machine asked all processes to end (SIGTERM)", ""
        if self.cause == "TIMEOUT":
            return "TIMEOUT", f"it ran into its limit of {self.ticket['walltime_s']} s", ""
        if self.cause == "OUT_OF_MEMORY":
            limit = (self.ticket["memory_bytes"] or 0) / 2**20
            return "OUT_OF_MEMORY", f"it used more than the {limit:.0f} MiB that it asked for", ""
        killed = number == signal.SIGKILL or exit_code == 128 + signal.SIGKILL
        if killed and machine.oom_kills() > self.oom_kills:
            return "OUT_OF_MEMORY", "the kernel killed for memory in this container while the job ran", ""
        return ("COMPLETED", "", "") if exit_code == 0 else ("FAILED", "", "")


def _become_job(job: Job, ticket: Ticket, gpus: tuple[int, ...]) -> NoReturn:
    """In the job's own process: the script, in the attempt's folder, in a process group of its own."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (*_WAKING, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.setpgid(0, 0)
        log = os.open(os.path.join(ticket["folder"], "job.out"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)  # noqa: PTH118 - foreign text
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(ticket["folder"])
        _prefer_for_oom()
        env = {
            **ticket["env"],
            "DIAMOND_JOB_ID": job.id,
            "OMP_NUM_THREADS": str(ticket["cpus"]),
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus)),
        }
        login = ["-l"] if ticket["login"] else []
        os.execvpe("bash", ["bash", *login, "job.sh"], env)  # noqa: S606 - argv, no shell between
    except OSError as error:
        os.write(2, f"diamond: the job cannot start: {error}\n".encode())
    finally:
        os._exit(126)


def _prefer_for_oom() -> None:
    """When the machine runs out of memory, the kernel shall take the job, not its supervisor or the server."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "r+") as file:  # noqa: PTH123 - before exec
        score = int(file.read())
        file.seek(0)
        file.write(str(min(score + 300, 1000)))
