"""A real IPython shell as a notebook, and a fresh Python that replays a bundle, for the tests of capture."""

from __future__ import annotations

import atexit
import io
import json
import subprocess
import sys
import tarfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupyter_diamond.cell.capture import Capture, capture
from jupyter_diamond.cell.history import IPythonHistory
from jupyter_diamond.cell.pack import Bundle, pack
from jupyter_diamond.model.views import Limits


def make_limits(value_bytes: int = 32 << 20, bundle_bytes: int = 256 << 20) -> Limits:
    return Limits(value_bytes=value_bytes, bundle_bytes=bundle_bytes, inline_result_bytes=0)


class Notebook:
    """Cells run in a real shell; ``capture`` takes one against what they left."""

    def __init__(self, shell: InteractiveShell, folder: Path) -> None:
        self.shell = shell
        self.folder = folder

    def run(self, cell: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.shell.run_cell(cell, store_history=True).raise_error()

    def capture(self, cell: str, *, name: str = "fit", limits: Limits | None = None, **more: Any) -> Capture:
        return capture(
            cell,
            self.shell.user_ns,
            name=name,
            folder=self.folder,
            history=IPythonHistory(self.shell),
            limits=limits or make_limits(),
            **more,
        )

    def run_there(self, cell: str, show: str = "result", **more: Any) -> Any:
        """Capture, pack, and run the cell in a fresh process; the value of ``show`` as JSON comes back."""
        taken = self.capture(cell, **more)
        assert taken.refusals == ()
        return replay(pack(taken), self.folder.parent, show)


@contextmanager
def notebook_in(folder: Path) -> Iterator[Notebook]:
    """A shell whose ``__main__``, ``sys.path`` and imported local modules are gone afterwards."""
    kept = sys.modules["__main__"], list(sys.path), set(sys.modules), sys.excepthook, sys.displayhook
    folder.mkdir(parents=True, exist_ok=True)
    config = Config()
    config.HistoryManager.enabled = False
    sys.path.insert(0, str(folder))
    shell = InteractiveShell(config=config, ipython_dir=str(folder.parent / "ipython"))
    try:
        yield Notebook(shell, folder)
    finally:
        shell.history_manager.end_session()
        atexit.unregister(shell.atexit_operations)  # its folder is gone by then
        sys.modules["__main__"], sys.path[:], before, sys.excepthook, sys.displayhook = kept
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(folder)):
                del sys.modules[name]


_REPLAY = """
import json, linecache, pickle, sys, types
root, show = sys.argv[1:]
main = types.ModuleType("__main__")
sys.modules["__main__"] = main
sys.path.insert(0, root + "/modules")
spec = json.load(open(root + "/spec.json"))
def load(item):
    path = root + "/values/" + item["file"]
    if item["codec"] == "json":
        return json.load(open(path))
    if item["codec"] == "npy":
        import numpy
        return numpy.load(path)
    if item["codec"] == "parquet":
        import pandas
        return pandas.read_parquet(path)
    return pickle.load(open(path, "rb"))
for item in spec["prelude"]:
    if item["kind"] == "value":
        main.__dict__[item["name"]] = load(item)
    else:
        exec(compile("\\n" * (item["lineno"] - 1) + item["source"], item["filename"], "exec"), main.__dict__)
exec(compile(spec["cell"], spec["cell_filename"], "exec"), main.__dict__)
print(json.dumps(eval(show, main.__dict__)))
"""


def replay(bundle: Bundle, folder: Path, show: str, python: str = sys.executable) -> Any:
    """Do what the runner does, in a few lines, in another process and another folder."""
    place = folder / f"site-{bundle.sha256[:8]}"
    with tarfile.open(fileobj=io.BytesIO(bundle.data)) as tar:
        tar.extractall(place, filter="data")
    done = subprocess.run(
        [python, "-I", "-c", _REPLAY, str(place), show],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=place,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
