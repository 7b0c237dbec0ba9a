"""The wheel holds all that runs: built without node, looked into, and imported from where it was put."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NEEDED = (
    "jupyter_diamond/cell/runner/diamond_runner.py",
    "jupyter_diamond/notebook/static/card.js",
    "jupyter_diamond/notebook/static/drawing.js",
    "jupyter_diamond/notebook/static/card.css",
    "jupyter_diamond/notebook/static/wall.js",
    "jupyter_diamond/notebook/static/wall.css",
    "jupyter_diamond/notebook/static/wall_static.css",
    "jupyter_diamond/server/openapi.yaml",
    "jupyter_diamond/globus/endpoint_template/config.yaml",
    "jupyter_diamond/globus/endpoint_template/user_config_template.yaml.j2",
    "jupyter_diamond/globus/endpoint_template/user_config_schema.json",
    "jupyter_diamond/globus/endpoint_template/user_environment.yaml",
    "jupyter_diamond/globus/endpoint_template/setup.sh",
    "jupyter_diamond/globus/endpoint_template/start.sh",
    "jupyter_diamond/store/migrations/env.py",
    ".data/data/etc/jupyter/jupyter_server_config.d/jupyter_diamond.json",
    ".data/data/share/jupyter/labextensions/jupyter-diamond/package.json",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True, capture_output=True, timeout=170, env={"PATH": "/usr/bin:/bin", **_registry()},
    )  # fmt: skip
    (path,) = folder.glob("*.whl")
    return path


def _registry():
    """How this machine's pip finds packages, and nothing else: no node on PATH."""
    import os

    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name in ("HOME", "SSL_CERT_FILE")
    }


def test_everything_that_runs_is_in_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert [needed for needed in NEEDED if not any(name.endswith(needed) for name in names)] == []
    assert any("/static/remoteEntry." in name for name in names)
    assert not [name for name in names if "node_modules" in name or name.startswith("tests")]


def test_the_core_runs_from_the_wheel(wheel, tmp_path):
    """A store is made by the packaged migrations, and the runner that would be sent to a site is there."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    script = (
        "import jupyter_diamond, pathlib; from jupyter_diamond.store import Store;"
        "from jupyter_diamond.engine.stage import runner_source;"
        f"store = Store(pathlib.Path({str(tmp_path / 'store' / 'store.sqlite')!r})); assert store.tasks() == (); store.close();"
        "assert b'def main' in runner_source(); print(jupyter_diamond.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path / "site"))
