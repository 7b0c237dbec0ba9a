"""What all tests share: private folders, private Jupyter, the real Slurm clusters, and which tests need what."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jupyter_diamond.model.site import Site
from tests.leftovers import pytest_runtest_makereport  # noqa: F401 - a hook
from tests.live.slurm import Testbed
from tests.live.slurm.testbed import sweep
from tests.sharing import Sharing, prepare, rotated

if TYPE_CHECKING:  # imported where it is used: a machine may be without the Globus SDKs
    from tests.live.globus import RealAgent, StandIn

pytest_plugins = ("pytest_jupyter.jupyter_server",)

LEFT_OUT = "JUPYTER_DIAMOND_TESTS_WITHOUT"  # markers, space-separated; set by the Makefile where root is not to be had
NEEDS = {"testbed": "slurm", "globus_services": "globus"}  # a test that uses this fixture has this marker


def pytest_configure(config: pytest.Config) -> None:
    """Give every process a temporary folder of its own, with a short path: Unix sockets take no more than 107 characters."""
    if os.environ.get("CI") and left_out():
        raise pytest.UsageError(f"{LEFT_OUT} is set ({', '.join(sorted(left_out()))}), but in CI all are needed.")
    if is_worker(config):
        given = Path(config.option.basetemp)
        config.option.basetemp = str(given.with_name(given.name.removeprefix("popen-")))
    elif config.option.basetemp is None:
        config.option.basetemp = tempfile.mkdtemp(prefix="diamond-tests-")
        config.add_cleanup(lambda: shutil.rmtree(config.option.basetemp, ignore_errors=True))
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job; what we start would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


def left_out() -> set[str]:
    """The markers of the tests that cannot run here."""
    return set(os.environ.get(LEFT_OUT, "").split())


def is_worker(config: pytest.Config) -> bool:
    """Whether this is one of several processes that share the tests."""
    return hasattr(config, "workerinput")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Sharing:
    """Share the tests out as tests/sharing.py says."""
    return Sharing(config, log, Path(config.option.basetemp))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have each process begin with another folder, and with another module of it."""
    report = yield
    if isinstance(collector, pytest.Directory) and is_worker(collector.config):
        given = collector.config.workerinput
        report.result = rotated(report.result, int(given["workerid"].removeprefix("gw")), given["workercount"])
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs the clusters, and leave out what the Makefile said cannot run here. In CI nothing is left out."""
    for item in items:
        for fixture, marker in NEEDS.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(marker)
    gone = [item for item in items if left_out().intersection(mark.name for mark in item.iter_markers())]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in gone]
    if is_worker(config):
        prepare(items, Path(config.option.basetemp).parent)


@pytest.fixture(scope="session", autouse=True)
def own_jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep the user's own Jupyter, IPython, site catalogue and Slurm settings out of the tests, and the tests out of them."""
    base = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CONFIG", "DATA", "RUNTIME"):
            patch.setenv(f"JUPYTER_{name}_DIR", str(base / name.lower()))
        patch.setenv("IPYTHONDIR", str(base / "ipython"))
        patch.setenv("MPLCONFIGDIR", str(base / "matplotlib"))
        patch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
        for name in tuple(os.environ):
            if name.startswith((
                "JUPYTER_DIAMOND_", "DIAMOND_", "SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "GLOBUS_",
                "PORTAL_CLIENT_",
            )):  # fmt: skip
                patch.delenv(name)
        yield base


@pytest.fixture(scope="session")
def testbed(own_jupyter: Path) -> Iterator[Testbed]:
    """The three real Slurm clusters, up for the whole run. A test that asks for them fails where they cannot start."""
    sweep()
    clusters = Testbed()
    try:
        clusters.up()
        yield clusters
    finally:
        clusters.down()


@pytest.fixture(autouse=True)
def healed_clusters(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test that uses the clusters: no job is left, and what was stopped runs again."""
    yield
    if "testbed" in request.fixturenames:
        request.getfixturevalue("testbed").heal()


@pytest.fixture(scope="session")
def one_agent(own_jupyter: Path) -> Iterator[RealAgent]:
    """The real endpoint agent, up for the whole run: a start takes seconds. Tests use ``globus_agent``."""
    from tests.live.globus import RealAgent, StandIn

    with StandIn() as services, RealAgent(services) as agent:
        yield agent


@pytest.fixture
def globus_services(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The local stand-in of the Globus services; globus_sdk's clients in this process are led to it."""
    from tests.live.globus import StandIn

    with contextlib.ExitStack() as until_the_end:
        if "globus_agent" in request.fixturenames:
            services = request.getfixturevalue("one_agent").services
        else:
            services = until_the_end.enter_context(StandIn())
        for name, value in services.environment.items():
            monkeypatch.setenv(name, value)
        yield services


@pytest.fixture
def globus_agent(one_agent: RealAgent, globus_services: StandIn) -> Iterator[RealAgent]:
    """The real endpoint agent behind ``globus_services``, online. What a test breaks is mended after it."""
    yield one_agent
    globus_services.forget()
    one_agent.heal()


@pytest.fixture
def slurm_site(testbed: Testbed, tmp_path: Path) -> Callable[[str], Site]:
    """Give a cluster as a configured site: ``slurm_site("delta")``."""
    return lambda name: Site.model_validate(testbed.site(name, tmp_path / "work"))


@pytest.fixture
def slurm_catalogue(testbed: Testbed, tmp_path: Path) -> Path:
    """Give a site catalogue with the three clusters."""
    return testbed.sites_yaml(tmp_path / "sites.yaml", tmp_path / "work")
