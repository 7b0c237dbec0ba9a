"""What a container was given, read from cgroup files of both versions."""

from __future__ import annotations

import os

import pytest

from jupyter_diamond.schedulers.process import machine

HOST = 64 << 30


def tree(root, files: dict[str, str]):
    for path, text in {
        "proc/meminfo": f"MemTotal: {HOST // 1024} kB\nMemAvailable: {HOST // 2048} kB\n",
        **files,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


V2 = "0::/job/step\n"
V1 = "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n"
CASES = {
    "no container": ({}, None, HOST),
    "v2 limit at our own group": (
        {"proc/self/cgroup": V2, "sys/fs/cgroup/job/step/memory.max": "1073741824\n", "sys/fs/cgroup/job/step/cpu.max": "100000 100000\n"},
        1, 1 << 30,
    ),
    "v2 limit above us": (
        {"proc/self/cgroup": V2, "sys/fs/cgroup/job/step/memory.max": "max\n", "sys/fs/cgroup/job/memory.max": "2147483648\n", "sys/fs/cgroup/job/cpu.max": "150000 100000\n"},
        1, 2 << 30,
    ),
    "v2 less than one core is one": (
        {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n", "sys/fs/cgroup/memory.max": "max\n"},
        1, HOST,
    ),
    "v2 no limits": ({"proc/self/cgroup": V2, "sys/fs/cgroup/job/cpu.max": "max 100000\n"}, None, HOST),
    "v1": (
        {"proc/self/cgroup": V1, "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "100000\n", "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"},
        1, 512 << 20,
    ),
    "v1 in a container that hides the path": (
        {"proc/self/cgroup": "4:memory:/docker/abc\n3:cpu:/docker/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
        None, 512 << 20,
    ),
    "v1 no limit is a huge number": (
        {"proc/self/cgroup": V1, "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n"},
        None, HOST,
    ),
    "a limit above the machine is the machine": (
        {"proc/self/cgroup": V2, "sys/fs/cgroup/job/memory.max": str(2 * HOST)}, None, HOST,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_limits_are_the_containers(tmp_path, case):
    files, cpus, memory = CASES[case]
    root = tree(tmp_path, files)
    assert machine.cpus(root) == (cpus or len(os.sched_getaffinity(0)))
    assert machine.memory_bytes(root) == memory


def test_free_memory_is_what_the_limit_leaves_with_reclaimable_cache(tmp_path):
    files = {
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": "1000000",
        "sys/fs/cgroup/memory.current": "900000",
        "sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 300000\n",
    }
    assert machine.memory_free_bytes(tree(tmp_path, files)) == 400_000


def test_without_a_limit_free_memory_is_the_machines(tmp_path):
    assert machine.memory_free_bytes(tree(tmp_path, {})) == HOST // 2


def test_kernel_kills_are_counted(tmp_path):
    files = {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.events": "low 0\noom 3\noom_kill 2\n"}
    assert machine.oom_kills(tree(tmp_path, files)) == 2
    assert machine.oom_kills(tmp_path / "nothing") == 0


@pytest.fixture
def driver(tmp_path, monkeypatch):
    def install(script: str):
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        machine.gpus.cache_clear()

    yield install
    machine.gpus.cache_clear()


def test_gpus_are_counted_by_the_driver(driver):
    driver("printf '0, NVIDIA A100-SXM4-40GB\\n1, NVIDIA A100-SXM4-40GB\\n'")
    assert machine.gpus() == (machine.Gpu(0, "NVIDIA A100-SXM4-40GB"), machine.Gpu(1, "NVIDIA A100-SXM4-40GB"))


def test_a_driver_that_fails_is_not_zero_gpus(driver):
    driver("echo 'Failed to initialize NVML' >&2; exit 9")
    with pytest.raises(OSError, match="NVML"):
        machine.gpus()


def test_a_driver_without_devices_is_zero_gpus(driver):
    driver("echo 'No devices were found'; exit 6")
    assert machine.gpus() == ()


def test_a_command_loads_the_standard_library_only():
    """One command costs tens of milliseconds; pydantic or psutil would cost hundreds."""
    import shlex
    import subprocess

    from jupyter_diamond.schedulers.process.scheduler import ProcessScheduler

    words = shlex.split(ProcessScheduler().probe_script())
    code = words[words.index("-c") + 1].replace("sys.exit(main(sys.argv[1:]))", "print(*sys.modules, sep='\\n')")
    words[words.index("-c") + 1] = code
    loaded = set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    assert "jupyter_diamond.schedulers.process.agent" in loaded
    heavy = {"pydantic", "psutil", "asyncio", "subprocess", "argparse", "dataclasses", "inspect", "importlib.metadata"}
    assert not loaded & heavy
