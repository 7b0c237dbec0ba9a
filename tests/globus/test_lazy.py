"""No SDK is imported before it is needed, and none need be installed."""

import os
import subprocess
import sys

import pytest

START = """
import asyncio, logging, sys, time
from pathlib import Path
from jupyter_diamond.service import DiamondService
from jupyter_diamond.settings import *
home = Path({home!r})
service = DiamondService(
    store=DiamondStore(path=str(home / "store.sqlite")), sites=DiamondSites(path=str(home / "none.yaml")),
    engine=DiamondEngine(), limits=DiamondLimits(), log=logging.getLogger("x"),
    globus=DiamondGlobus(tokens_folder=str(home / "globus"), client_id=""),
)
async def main():
    await service.start()
    await service.refresh(None)
    login = await service.globus.login()
    try:
        await service.globus.call(lambda clients: None)
    except Exception as error:
        print(type(error).__name__, error.outcome, error.sent, error)
    print(login.health, login.problem)
    await service.stop()
"""


def run(code, home, **env):
    environment = {**os.environ, "HOME": str(home), **env}
    command = [sys.executable, "-c", code.format(home=str(home))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_server_without_a_globus_site_imports_no_sdk(tmp_path):
    code = START.replace("        await service.globus.call(lambda clients: None)\n", "        pass\n")
    code += "asyncio.run(main())\nprint(sorted(name for name in sys.modules if name.startswith('globus')))\n"
    out = run(code, tmp_path)
    assert out.splitlines()[-1] == "[]"
    assert "needs_login Nobody is logged in" in out


def test_a_server_without_the_extra_works_and_says_what_to_install(tmp_path):
    out = run("import sys\nsys.modules['globus_sdk'] = sys.modules['globus_compute_sdk'] = None\n" + START
              + "asyncio.run(main())\n", tmp_path)  # fmt: skip
    assert "GlobusProblem refused False What speaks to Globus is not installed" in out
    assert "not_installed What speaks to Globus is not installed" in out
    assert "pip install 'jupyter-diamond[globus]'" in out


@pytest.mark.parametrize("module", ["access", "problems", "sources", "given", "bucket", "worker"])
def test_what_the_server_loads_at_its_start_imports_no_sdk(tmp_path, module):
    out = run(f"import sys, jupyter_diamond.globus.{module}\nprint('globus_sdk' in sys.modules)", tmp_path)
    assert out.strip() == "False"
