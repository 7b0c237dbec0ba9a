"""The server and its kernels: what they print comes back as a notebook would keep it, and they can be killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import psutil
import pytest

from tests.live.jupyter import JupyterServer
from tests.live.kernel import CellFailed, JupyterError, as_text
from tests.live.slurm import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    with JupyterServer(tmp_path_factory.mktemp("server")) as started:
        yield started


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_outputs_come_as_a_notebook_keeps_them(server: JupyterServer) -> None:
    code = (
        "import sys\nfrom IPython.display import display\nprint('one'); print('two', flush=True)\n"
        "print('bad', file=sys.stderr, flush=True)\nhandle = display('first', display_id=True)\nhandle.update('second')\n6 * 7"
    )
    with server.kernel() as kernel:
        outputs = kernel.execute(code)
        later = kernel.execute("handle.update('third')")
    assert [(output["output_type"], as_text(output)) for output in outputs] == [
        ("stream", "one\ntwo\n"),
        ("stream", "bad\n"),
        ("display_data", "'second'"),
        ("execute_result", "42"),
    ]
    assert later == []


def test_an_error_is_raised_with_all_that_was_printed_before(server: JupyterServer) -> None:
    with server.kernel() as kernel:
        with pytest.raises(CellFailed, match="ZeroDivisionError: division by zero") as failure:
            kernel.execute("print('so far')\n1 / 0")
        assert [output["output_type"] for output in failure.value.outputs] == ["stream", "error"]
        assert kernel.evaluate("1 + 1") == "2"


def test_a_kernel_is_a_child_of_the_server_with_its_notebook_s_name(server: JupyterServer) -> None:
    (server.notebooks / "sub").mkdir()
    with server.kernel("sub/mine.ipynb") as kernel:
        assert server.process is not None
        assert psutil.Process(kernel.pid()).ppid() == server.process.pid
        assert kernel.evaluate("__import__('os').environ['JPY_SESSION_NAME']").endswith("sub/mine.ipynb")


def test_a_notebook_runs_in_order_and_keeps_its_outputs(server: JupyterServer) -> None:
    cells = [
        nbformat.v4.new_code_cell("n = 20"),
        nbformat.v4.new_markdown_cell("x"),
        nbformat.v4.new_code_cell("n + 1"),
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), server.notebooks / "small.ipynb")
    seen: list[str] = []
    done = server.run_notebook("small.ipynb", on_output=lambda output: seen.append(as_text(output)))
    assert [as_text(output) for output in done.cells[2].outputs] == ["21"]
    assert seen == ["21"]


def test_a_killed_kernel_comes_back_empty(server: JupyterServer) -> None:
    kernel = server.start_kernel("killed.ipynb")
    kernel.execute("precious = 1")
    pid = kernel.pid()
    kernel.kill()
    wait_until(lambda: is_gone(pid), 10, "The kernel lives")
    wait_until(lambda: kernel_answers(server, kernel.id), 60, "The server did not restart the kernel")
    assert kernel.evaluate("'precious' in globals()") == "False"
    kernel.shutdown()


def kernel_answers(server: JupyterServer, kernel_id: str) -> bool:
    return server.client.get(f"api/kernels/{kernel_id}").json().get("execution_state") == "idle"


def test_a_killed_server_takes_its_kernels_along_and_starts_on_the_same_address(tmp_path: Path) -> None:
    with JupyterServer(tmp_path) as server:
        url, pid = server.lab_url, server.start_kernel().pid()
        server.kill()
        wait_until(lambda: is_gone(pid), 20, "The kernel outlived its server")
        with pytest.raises(JupyterError, match="not running"):
            server.start_kernel()
        server.start()
        assert server.lab_url == url
        assert server.client.get("api/status").status_code == 200


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = JupyterServer(
        tmp_path, arguments=("--ServerApp.keyfile=/no/such/key", "--ServerApp.certfile=/no/such/key")
    )
    with pytest.raises(JupyterError, match="stopped at start"):
        server.start()
    server.stop()
