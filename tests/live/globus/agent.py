"""The real ``globus-compute-endpoint`` of this Python, signed in at the stand-in, in a home of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

import psutil
import yaml

from jupyter_diamond.globus import endpoint_template
from tests.live.slurm import TestbedError, wait_until

from .identities import Identity
from .standin import StandIn
from .tasks import TERMINAL, Endpoint

TEMPLATE = Path(endpoint_template.__file__).parent
PROGRAM = Path(sys.executable).with_name("globus-compute-endpoint")
UNTIL_WE_END = ("setpriv", "--pdeathsig", "KILL")  # a test run that is killed takes its agent along
_STARTER = ThreadPoolExecutor(1, "agent-starter")
"""The kernel ends them with the thread that started them: one that lives as long as the process, not a test's."""
HEARTBEAT_S = 5  # the agent takes no less
START_S = 90.0  # on a busy machine


class AgentError(Exception):
    """The agent does not do what it should; the message ends with its log."""


class RealAgent:
    """One agent: started with the block, and gone with all that it started when the block ends.

    ``template`` is the folder with the files of ours for a login node. ``env`` is what tasks find in their environment,
    as SLURM_CONF. ``owner`` is whose endpoint it is: only this identity can use it.
    """

    def __init__(
        self,
        services: StandIn,
        *,
        home: Path | None = None,
        env: Mapping[str, str] | None = None,
        name: str = "jupyter-diamond",
        template: Path = TEMPLATE,
        owner: Identity | None = None,
    ) -> None:
        self.services, self._env, self._template = services, dict(env or {}), template
        self._made = home is None
        self.home = home or Path(tempfile.mkdtemp(prefix="standin-agent-"))
        self.name = name
        self.folder = self.home / ".globus_compute" / name
        self._client = services.auth.add_client(f"agent {name}", speaks_for=owner or services.auth.person)
        self._agent: subprocess.Popen[bytes] | None = None

    @property
    def endpoint_id(self) -> str:
        """The id that it was registered with, the same after every start."""
        return str(json.loads((self.folder / "endpoint.json").read_text())["endpoint_id"])

    @property
    def endpoint(self) -> Endpoint:
        """What the stand-in knows of it, with its switches."""
        return self.services.compute.endpoints[self.endpoint_id]

    @property
    def pid(self) -> int:
        if self._agent is None:
            raise AgentError(f"{self.name} was not started.")
        return self._agent.pid

    @property
    def log(self) -> str:
        path = self.folder / "endpoint.log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def online(self) -> bool:
        """Whether the services call it online."""
        with contextlib.suppress(OSError, KeyError, ValueError):  # ValueError: a file half written
            return self.endpoint.backend.is_online(self.endpoint)
        return False

    @property
    def user_endpoints(self) -> list[int]:
        """The processes that run tasks. There is none before the first task."""
        return [one.pid for one, environment in self._living() if _runs_tasks(environment)]

    @property
    def processes(self) -> list[int]:
        """The agent, its user endpoints, and what their tasks started."""
        return [one.pid for one, _ in self._living()]

    def start(self) -> None:
        """Start it, and wait until the services call it online."""
        self._configure()
        self.drop_stale_pidfiles()
        log = (self.home / "terminal.log").open("ab")
        with log:
            self._agent = _STARTER.submit(
                subprocess.Popen,
                [*UNTIL_WE_END, PROGRAM, "start", self.name],
                env=self._environment,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # it signals its whole group when it ends
            ).result()
        agent = self._agent
        self._wait(lambda: self.online or agent.poll() is not None, START_S, "did not come online")
        if agent.poll() is not None:
            raise AgentError(f"The agent ended with {agent.returncode}: {self.last_words}")

    def stop(self) -> None:
        """SIGTERM: it says goodbye to the services, and ends its user endpoints."""
        if self._agent is not None and self._agent.poll() is None:
            self._agent.terminate()
            try:
                self._agent.wait(40)
            except subprocess.TimeoutExpired:
                raise AgentError(f"The agent does not end by SIGTERM: {self.last_words}") from None

    def kill(self) -> None:
        """SIGKILL: the services learn it from what they no longer hear."""
        if self._agent is not None:
            self._agent.kill()
            self._agent.wait(10)

    def kill_user_endpoints(self) -> list[int]:
        """SIGKILL what runs tasks, as the system does to who takes too much; the agent stays.

        What was killed leaves a pid file, with which the next one refuses to start until it is three heartbeats old: every
        task fails until then.
        """
        killed = self.user_endpoints
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        self._wait(lambda: not set(killed) & set(self.user_endpoints), 10, "keeps its killed user endpoints")
        return killed

    def drop_stale_pidfiles(self) -> None:
        """Remove what the killed left behind, so that their successors start at once."""
        for path in self.folder.parent.glob("*/daemon.pid"):
            pid = path.read_text().split()
            if not (
                pid and psutil.pid_exists(int(pid[0])) and psutil.Process(int(pid[0])).status() != psutil.STATUS_ZOMBIE
            ):
                path.unlink(missing_ok=True)

    def heal(self) -> None:
        """Between two tests: online, no task is left, no switch is turned."""
        unfinished = [task for task in self.services.compute.tasks_of(self.endpoint) if task.status not in TERMINAL]
        for task in unfinished:
            self.services.compute.complete(task.id, "The test that wanted it is over.", failed=True)
        self.endpoint.turn_back()
        if unfinished:
            self._end_all_but_the_agent()
        self.drop_stale_pidfiles()
        if self._agent is None or self._agent.poll() is not None:
            self.start()

    def close(self) -> None:
        """End everything that it started, batch jobs of Slurm excepted."""
        self.kill()
        self._end_all_but_the_agent()
        wait_until(lambda: not self._living(), 10, f"Processes of agent {self.name} outlived SIGKILL.")
        if self._made:
            shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> RealAgent:  # noqa: PYI034 - Self needs Python 3.11
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _configure(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for file in self._template.iterdir():
            if file.suffix in (".j2", ".json"):
                shutil.copy(file, self.folder)
        config = {
            "display_name": self.name,
            "heartbeat_period": HEARTBEAT_S,
            "local_compute_services": True,  # http://localhost:5000, which HTTP_PROXY leads to the stand-in
            **({"email": "operator@standin.test"} if os.getuid() == 0 else {}),  # the agent asks root for one
        }
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config))
        ours = self._template / "user_environment.yaml"
        environment = yaml.safe_load(ours.read_text()) if ours.exists() else {}
        (self.folder / "user_environment.yaml").write_text(yaml.safe_dump({**environment, **self._mine}))

    @property
    def _mine(self) -> dict[str, str]:
        """What the agent and its user endpoints, which root's agent gives an empty environment, have to know."""
        return {
            "HOME": str(self.home),
            "CWD": str(self.home),
            "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
            "GLOBUS_COMPUTE_USER_DIR": str(self.folder.parent),
            "SPT_NOENV": "1",  # process titles leave the environment alone, by which we find our processes
            **self._env,
        }

    @property
    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            **self._mine,
            "GLOBUS_COMPUTE_CLIENT_ID": self._client.id,
            "GLOBUS_COMPUTE_CLIENT_SECRET": self._client.secret,
            "GLOBUS_SDK_SERVICE_URL_AUTH": self.services.url + "/",
            "HTTP_PROXY": self.services.url,
            "http_proxy": self.services.url,
            "NO_PROXY": "",
            "no_proxy": "",
        }

    def _end_all_but_the_agent(self) -> None:
        """Until they are gone: a pid file of one that still dies would keep its successor waiting for a minute and a half."""
        others = [one for one, _ in self._living() if self._agent is None or one.pid != self._agent.pid]
        for one in others:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        wait_until(
            lambda: not {one.pid for one in others} & {one.pid for one, _ in self._living()},
            10,
            f"Processes of agent {self.name} outlived SIGKILL.",
        )

    def _living(self) -> list[tuple[psutil.Process, dict[str, str]]]:
        """The agent, its user endpoints, and what their tasks started, each with the environment it began with."""
        found = []
        for one in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                environment = one.environ()
                ours = environment.get("GLOBUS_COMPUTE_USER_DIR") == str(self.folder.parent)
                if ours and "SLURM_JOB_ID" not in environment and one.status() != psutil.STATUS_ZOMBIE:
                    found.append((one, environment))
        return found

    def _wait(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        try:
            wait_until(condition, seconds, f"The agent {what}")
        except TestbedError as error:
            raise AgentError(f"{error}\n{self.last_words}") from None

    @property
    def last_words(self) -> str:
        """The end of what it wrote to its terminal and its log."""
        terminal = self.home / "terminal.log"
        said = terminal.read_text(errors="replace") if terminal.exists() else ""
        user = sorted(self.folder.parent.glob("uep.*/endpoint.log"), key=lambda path: path.stat().st_mtime)
        logs = [self.log, *(path.read_text(errors="replace") for path in user[-1:])]
        return "\n".join((said[-2000:], *(line for log in logs for line in log.splitlines()[-20:])))


def _runs_tasks(environment: Mapping[str, str]) -> bool:
    """A user endpoint is told its name, and what a task of it starts is told the task's id as well."""
    return "GLOBUS_COMPUTE_ENDPOINT_NAME" in environment and "GC_TASK_UUID" not in environment
