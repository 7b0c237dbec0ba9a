"""The clusters themselves: up in seconds, real jobs, real failures, and nothing left behind."""

from __future__ import annotations

import ipaddress
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from ruamel.yaml import YAML

from jupyter_diamond.model.site import Site
from tests.live.slurm import CLUSTERS, Testbed, TestbedError, host, wait_until
from tests.live.slurm.host import PORTS_PER_TESTBED, PortRange
from tests.live.slurm.leftovers import abandoned
from tests.live.slurm.testbed import PREFIX

REPOSITORY = Path(__file__).parents[3]


def test_three_clusters_are_up_with_all_their_nodes(testbed: Testbed, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(
            f"\nSlurm {'.'.join(map(str, testbed.slurm_version))}: up in {sum(testbed.seconds.values()):.1f} s", end=" "
        )
        print(testbed.seconds, end=" ")
    for site, cluster in CLUSTERS.items():
        states = dict(line.split("|") for line in testbed.run(site, "sinfo", "-haN", "-o", "%N|%T").stdout.split())
        assert states == dict.fromkeys(cluster.node_names, "idle")
        assert testbed.run(site, "sinfo", "-ha", "-o", "%R").stdout.split() != []


@pytest.mark.parametrize("site", CLUSTERS)
def test_a_job_completes_in_queue_and_accounting(testbed: Testbed, site: str) -> None:
    job = testbed.sbatch(site, "exit 0")
    testbed.wait_state(site, job, "COMPLETED")
    assert testbed.queue_state(site, job) == "COMPLETED"


def test_a_job_sees_its_gpus(testbed: Testbed, tmp_path: Path) -> None:
    out = tmp_path / "gpus"
    job = testbed.sbatch(
        "delta", f'echo "$CUDA_VISIBLE_DEVICES" > {out}', "-p", "gpuA100x4", "--gres=gpu:2", "--mem=1G"
    )
    testbed.wait_state("delta", job, "COMPLETED")
    assert out.read_text() == "0,1\n"


def test_a_job_over_its_memory_ends_as_this_machine_can_make_it_end(testbed: Testbed) -> None:
    """With cgroup v1 the kernel stops it and Slurm says OUT_OF_MEMORY; elsewhere slurmd samples and kills: FAILED."""
    hog = f"exec {sys.executable} -c 'import time; hog = bytearray(300 << 20); time.sleep(60)'"
    job = testbed.sbatch("anvil", hog, "--mem=50M")
    testbed.wait_state("anvil", job, testbed.oom_state, seconds=40)
    assert testbed.cgroup == host.cgroup_v1_is_writable()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--mem=1G",), "--mem is not available on vista"),
        (("--gres=gpu:1",), "--gres/--gpus options are not supported on vista"),
    ],
)
def test_vista_refuses_in_its_own_words(testbed: Testbed, options: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(TestbedError, match=sentence):
        testbed.sbatch("vista", "exit 0", *options)


def test_limits_are_in_force(testbed: Testbed) -> None:
    qos = testbed.run("anvil", "sacctmgr", "-nP", "show", "qos", "gpudebug", "format=maxjobsperuser,maxtresperuser")
    assert qos.stdout.strip() == "1|gres/gpu=2"
    with pytest.raises(TestbedError, match="time limit is invalid"):
        testbed.sbatch("delta", "exit 0", "-t", "3-0")


def test_a_job_outlives_its_controller(testbed: Testbed, tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    job = testbed.sbatch("anvil", f"read line < {go}; exit 7")
    testbed.wait_running("anvil", job)
    testbed.kill_controller("anvil")
    with go.open("w") as end:
        end.write("on\n")
    testbed.start_controller("anvil")
    testbed.wait_state("anvil", job, "FAILED", seconds=60)
    assert testbed.run("anvil", "sacct", "-XnP", "-j", job, "-o", "ExitCode").stdout.strip() == "7:0"


def test_a_job_without_accounting_is_accounted_for_later(testbed: Testbed) -> None:
    testbed.kill_accounting()
    assert testbed.run("delta", "sacct", "-X", check=False).returncode == 1
    job = testbed.sbatch("delta", "exit 0")
    wait_until(lambda: testbed.queue_state("delta", job) == "COMPLETED", 30, "The job did not complete")
    testbed.start_accounting()
    testbed.wait_state("delta", job, "COMPLETED", seconds=60)


def test_a_node_that_dies_takes_its_job_along_and_comes_back(testbed: Testbed) -> None:
    job = testbed.sbatch("vista", "sleep 300", "-w", "c640-02", "--no-requeue")
    testbed.wait_running("vista", job)
    testbed.down_node("vista", "c640-02")
    testbed.wait_state("vista", job, "NODE_FAIL")
    testbed.heal()
    assert testbed.run("vista", "sinfo", "-hN", "-n", "c640-02", "-o", "%T").stdout.split() == ["idle"]


def test_healing_leaves_no_job(testbed: Testbed) -> None:
    for site in CLUSTERS:
        testbed.sbatch(site, "sleep 300")
    testbed.heal()
    assert all(testbed.run(site, "squeue", "-ha").stdout == "" for site in CLUSTERS)


def test_all_listen_on_loopback_and_in_their_own_ports(testbed: Testbed) -> None:
    pids = {int(line.split()[0]) for line in testbed.processes()}
    listening = [c for c in psutil.net_connections("inet") if c.status == psutil.CONN_LISTEN and c.pid in pids]
    assert len(listening) > sum(len(cluster.node_names) for cluster in CLUSTERS.values())
    first = testbed.place.first_port
    for connection in listening:
        ip, port = (connection.laddr.ip, connection.laddr.port) if connection.laddr else ("", 0)
        assert ipaddress.ip_address(ip).is_loopback
        assert first <= port < first + PORTS_PER_TESTBED


def test_the_catalogue_names_the_clusters_as_sites(
    testbed: Testbed, slurm_catalogue: Path, slurm_site: Callable[[str], Site]
) -> None:
    entries = YAML(typ="safe").load(slurm_catalogue)["sites"]
    sites = [Site.model_validate(entry) for entry in entries]
    assert [site.name for site in sites] == list(CLUSTERS)
    assert sites[0].model_dump() == slurm_site("delta").model_dump()
    assert sites[0].account == "bbka-delta-cpu"
    assert sites[0].env == testbed.env("delta")


def test_a_second_testbed_by_hand_goes_up_and_leaves_nothing(
    testbed: Testbed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Beside the first, by the command line, with a job that is still running and one whose slurmd was killed."""
    root = tmp_path_factory.mktemp("second")
    env = {name: value for name, value in os.environ.items() if name != "SLURM_CONF"}

    def cli(*argv: str) -> str:
        command = [sys.executable, "-m", "tests.live.slurm", "--root", str(root), *argv]
        done = subprocess.run(
            command, cwd=REPOSITORY, env=env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    started = time.monotonic()
    assert "delta, anvil, vista are up" in cli("up")
    up_again = time.monotonic()
    cli("up")
    assert time.monotonic() - up_again < up_again - started
    assert cli("conf", "delta").strip() == f"{root}/sites/delta/slurm.conf"
    assert "DEAD" not in cli("status")
    second = Testbed(root)
    assert second.place.first_port != testbed.place.first_port
    jobs = {site: second.sbatch(site, "sleep 1000") for site in ("delta", "vista")}
    for site, job in jobs.items():
        second.wait_running(site, job)
    cli("node", "vista", "c640-01", "down")
    cli("ctl", "anvil", "stop")
    assert any("sleep 1000" in line for line in second.processes())
    pids = [int(line.split()[0]) for line in second.processes()]
    cli("down")
    assert second.processes() == []
    assert not [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
    assert not root.exists()
    assert testbed.run("delta", "sinfo", "-h").returncode == 0


def test_a_testbed_of_a_killed_run_is_found_and_no_other(testbed: Testbed, tmp_path: Path) -> None:
    script = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\nfrom pathlib import Path\n"
    script += f"from tests.live.slurm import Testbed\nTestbed(Path({str(tmp_path / (PREFIX + 'x'))!r}))\n"
    script += "print('made', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"made\n"
        assert abandoned(tmp_path, PREFIX) == []
        owner.send_signal(signal.SIGKILL)
    assert abandoned(tmp_path, PREFIX) == [tmp_path / f"{PREFIX}x"]
    assert testbed.root not in abandoned(testbed.root.parent, PREFIX)


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(TestbedError, match=r"need root.*Run as root"):
        Testbed()


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "PROGRAMS", ("sbatch", "no-such-daemon"))
    with pytest.raises(TestbedError, match=r"Not installed: no-such-daemon\. Run tests/live/debian\.sh"):
        host.look()


def test_two_testbeds_never_share_ports() -> None:
    ranges = [PortRange("127.0.0.1") for _ in range(3)]
    firsts = sorted(each.first for each in ranges)
    assert all(later - earlier >= PORTS_PER_TESTBED for earlier, later in itertools.pairwise(firsts))
    for each in ranges:
        each.release()
