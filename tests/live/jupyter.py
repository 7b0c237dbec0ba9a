"""A real Jupyter server in a process of its own, with private Jupyter folders and this checkout's extension."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import nbformat

from tests.live.extensions import NO_NEWS, QUIET, link_lab_extensions, own_entry_points, server_configuration
from tests.live.kernel import JupyterError, Kernel, OnOutput
from tests.live.ports import free_port

if TYPE_CHECKING:
    from typing_extensions import Self

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "jupyter_diamond"


OURS = (
    "JUPYTER", "JPY_", "DIAMOND_", "SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "GLOBUS_", "PORTAL_CLIENT_",
)  # fmt: skip
"""What variables that we, or what we speak to, would heed begin with."""


def private_environment(
    base: Path, *, sites: Path | None = None, extra: Mapping[str, str] | None = None, chat: bool = False
) -> dict[str, str]:
    """An environment in which nothing of the user's own Jupyter, IPython or Diamond is read or written.

    The checkout comes before what is installed: its package by PYTHONPATH, its labextension and its server
    configuration from ``base``, because an editable install keeps copies of both. Jupyter AI is off but for ``chat``.
    """
    config, data = base / "config", base / "data"
    (config / "jupyter_server_config.d").mkdir(parents=True, exist_ok=True)
    shutil.copy(
        PACKAGE / "server" / "jupyter_server_config.json", config / "jupyter_server_config.d" / "jupyter_diamond.json"
    )
    (config / "labconfig").mkdir(exist_ok=True)
    (config / "labconfig" / "page_config.json").write_text(json.dumps({"disabledExtensions": NO_NEWS}))
    link_lab_extensions(data / "labextensions", PACKAGE / "labextension")
    configuration = server_configuration(data / "labextensions", chat=chat)
    (config / "jupyter_server_config.json").write_text(json.dumps(configuration))
    ours = [str(own_entry_points(base / "entry_points"))] if chat else []
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment |= {
        "JUPYTER_CONFIG_DIR": str(config),
        "JUPYTER_DATA_DIR": str(data),
        "JUPYTER_RUNTIME_DIR": str(_runtime(base)),
        "JUPYTER_PREFER_ENV_PATH": "0",
        "IPYTHONDIR": str(base / "ipython"),
        "GLOBUS_COMPUTE_USER_DIR": str(base / "globus_compute"),
        "JUPYTER_DIAMOND_STORE": str(base / "diamond" / "store.sqlite"),
        "JUPYTER_DIAMOND_SITES": str(sites or base / "sites.yaml"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(REPOSITORY), *ours, os.environ.get("PYTHONPATH")))),
        **QUIET,
        **(extra or {}),
    }
    return environment


def _runtime(base: Path) -> Path:
    """A short path, for the kernels' sockets; ``JupyterServer.stop`` removes it."""
    return Path(tempfile.gettempdir()) / f"diamond-run-{hashlib.sha256(bytes(base)).hexdigest()[:12]}"


class JupyterServer:
    """One JupyterLab server on a free loopback port. It can be stopped, killed and restarted on the same port."""

    def __init__(
        self,
        base: Path,
        *,
        notebooks: Path | None = None,
        sites: Path | None = None,
        env: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        chat: bool = False,
    ) -> None:
        """``base`` holds its private folders; ``notebooks`` is its root folder; ``chat``: with Jupyter AI."""
        self.base = base
        self.notebooks = notebooks or base / "notebooks"
        self.notebooks.mkdir(parents=True, exist_ok=True)
        self.env = private_environment(base, sites=sites, extra=env, chat=chat)
        self.arguments = arguments
        self.token = secrets.token_hex(16)
        self.port = free_port()
        self.log = base / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._client: httpx.Client | None = None
        self._kernels: list[Kernel] = []

    @property
    def url(self) -> str:
        """The server's address, with a slash at its end."""
        return f"http://127.0.0.1:{self.port}/"

    @property
    def lab_url(self) -> str:
        """What to open in a browser."""
        return f"{self.url}lab?token={self.token}"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, *, seconds: float = 90) -> None:
        """Start the server and wait until it answers."""
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1"]
        command += [f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0"]
        # ports are chosen before a kernel takes them: another test's kernel may have them by then
        command.append("--KernelManager.transport=ipc")
        command += [f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.notebooks}"]
        if os.geteuid() == 0:
            command.append("--allow-root")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self.arguments],
                env=self.env,
                cwd=self.notebooks,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._client = httpx.Client(
            base_url=self.url, headers={"Authorization": f"token {self.token}"}, timeout=60, trust_env=False
        )
        self._wait_answer(time.monotonic() + seconds)

    def _wait_answer(self, deadline: float) -> None:
        while True:
            assert self.process is not None
            if self.process.poll() is not None:
                raise JupyterError(f"The Jupyter server stopped at start:\n{self.last_words()}")
            try:
                answers = self.client.get("api/status", timeout=5).status_code == 200
                # 503: Diamond is still starting
                if answers and self.client.get("jupyter_diamond/api/status", timeout=5).status_code != 503:
                    return
            except httpx.TransportError:
                pass
            if time.monotonic() > deadline:
                raise JupyterError(f"The Jupyter server does not answer:\n{self.last_words()}")
            time.sleep(0.1)

    def stop(self, *, seconds: float = 30) -> None:
        """Stop the server as ``Ctrl-C`` would: its kernels end with it, jobs do not."""
        self._end(signal.SIGTERM, seconds)
        shutil.rmtree(_runtime(self.base), ignore_errors=True)

    def kill(self) -> None:
        """Kill the server as a crash would: its kernels notice and end."""
        self._end(signal.SIGKILL, 10)

    def restart(self) -> None:
        """Stop and start again, same port, same token."""
        self.stop()
        self.start()

    def _end(self, sig: int, seconds: float) -> None:
        for kernel in self._kernels:
            kernel.disconnect()
        self._kernels.clear()
        if self._client is not None:
            self._client.close()
            self._client = None
        if self.process is None:
            return
        self.process.send_signal(sig)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.process = None

    def last_words(self, lines: int = 30) -> str:
        """The end of the server's log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    @property
    def client(self) -> httpx.Client:
        """A client that knows address and token."""
        if self._client is None:
            raise JupyterError("The Jupyter server is not running.")
        return self._client

    def api(self, method: str, path: str, **request: Any) -> Any:
        """Call Diamond's own API, e.g. ``api("GET", "tasks")``; the JSON answer, or JupyterError with its sentence."""
        answer = self.client.request(method, f"jupyter_diamond/api/{path}", **request)
        if answer.is_error:
            is_json = answer.headers.get("content-type", "").startswith("application/json")
            sentence = answer.json().get("message") if is_json else answer.reason_phrase
            raise JupyterError(f"{method} {path}: {answer.status_code} {sentence}")
        return answer.json()

    def start_kernel(self, notebook: str = "scratch.ipynb", *, name: str = "python3") -> Kernel:
        """Start a kernel for a notebook below the server's root folder, as JupyterLab would."""
        request = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {"name": name}}
        answer = self.client.post("api/sessions", json=request)
        if answer.is_error:
            raise JupyterError(f"No kernel: {answer.status_code} {answer.text}")
        session = answer.json()
        kernel = Kernel(self.client, self.token, session["kernel"]["id"], session["id"], self.log)
        self._kernels.append(kernel)
        return kernel

    def run_notebook(
        self, path: str, *, seconds: float = 300, on_cell: OnOutput | None = None, on_output: OnOutput | None = None
    ) -> nbformat.NotebookNode:
        """Run a notebook's code cells in order and give it back with their outputs. CellFailed at the first error."""
        notebook = nbformat.read(self.notebooks / path, as_version=4)
        with self.kernel(path) as kernel:
            for cell in notebook.cells:
                if cell.cell_type != "code":
                    continue
                if on_cell is not None:
                    on_cell(cell)
                done = kernel.execute(cell.source, seconds=seconds, on_output=on_output)
                cell.outputs = [nbformat.from_dict(output) for output in done]
        return notebook

    @contextmanager
    def kernel(self, notebook: str = "scratch.ipynb") -> Iterator[Kernel]:
        """A kernel that is shut down at the end of the block."""
        kernel = self.start_kernel(notebook)
        try:
            yield kernel
        finally:
            kernel.shutdown()
