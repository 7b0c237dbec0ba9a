"""A JupyterLab server whose sites are the three real Slurm clusters, and notebooks that a researcher would write."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.browser import LabPage, lab_page, write_notebook
from tests.live.jupyter import REPOSITORY, JupyterServer
from tests.live.slurm import Testbed

LOAD = "%load_ext jupyter_diamond"
FUNCTIONS = '''\
import time
from pathlib import Path
import matplotlib.pyplot as plt
import numpy as np
from mylib import design

def train(x, y):
    """Least squares, for as long as it is looked at."""
    for epoch in range(1, 13):
        print(f"epoch {epoch:2d} of 12", flush=True)
        while epoch == 9 and not Path(GO).exists():
            time.sleep(0.1)
    return np.linalg.lstsq(design(x), y, rcond=None)[0]

def evaluate(model):
    residual = y - design(x) @ model
    scores = {"rmse": float(residual.std()), "r2": float(1 - residual.var() / y.var())}
    print("r2 = {r2:.4f}".format(**scores))
    return scores

def plot(scores):
    figure, axes = plt.subplots(figsize=(4.5, 3.2))
    axes.plot(y, design(x) @ model, ".", markersize=2)
    axes.set(xlabel="measured", ylabel="fitted", title="R2 = {r2:.3f}".format(**scores))
    return figure
'''
VALUES = """\
rng = np.random.default_rng(7)
x = rng.normal(size=(4000, 5))
y = x @ np.array([1.0, -2.0, 0.5, 0.0, 3.0]) + rng.normal(scale=0.7, size=4000)"""
FIT = """\
%%diamond_submit fit --cpus 2-4 --memory 2G --time 10m --in x,y --out model,scores
model = train(x, y)
scores = evaluate(model)
fig = plot(scores)"""


@pytest.fixture(scope="module")
def server(testbed: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JupyterServer]:
    base = tmp_path_factory.mktemp("e2e")
    sites = testbed.sites_yaml(base / "sites.yaml", base / "work")
    with JupyterServer(base, sites=sites, arguments=("--DiamondSites.this_machine=False",)) as started:
        shutil.copy(REPOSITORY / "example_notebooks" / "mylib.py", started.notebooks)
        yield started


@pytest.fixture
def lab(server: JupyterServer) -> Iterator[LabPage]:
    with lab_page(server) as page:
        yield page
        assert page.heard.strangers() == set(), "something was asked of another machine"


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """The file that FUNCTIONS wait for in the midst of their training."""
    return tmp_path / "go"


@pytest.fixture
def open_notebook(lab: LabPage, go: Path) -> Callable[..., str]:
    """Write a notebook, open it in JupyterLab and run its first cells; gives its path."""

    def write_and_open(name: str, *cells: str, ran: int = 0) -> str:
        write_notebook(lab.server.notebooks / name, *(cell.replace("GO", repr(str(go))) for cell in cells))
        lab.open(name)
        for n in range(ran):
            lab.run(n)
        return name

    return write_and_open


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A folder for a server of its own."""
    return tmp_path / "elsewhere"
