"""A cell in a container: what its runtime is told, and what is said where the runtime or the image is not there.

The runtime here is a program that writes down what it was told and runs the command outside of any container.
"""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from jupyter_diamond.model.envelope import Size
from jupyter_diamond.model.environment import Container
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.schedulers.batch_script import body, shebang

TOKEN = "dmd-0123456789ab"
RUNTIME = """#!/bin/sh
echo "$(basename "$0") $*" >>told
while [ $# -gt 0 ]; do case "$1" in IMAGE) shift; break ;; esac; shift; done
exec "$@"
"""


class Job:
    """A job whose runtime is found in a folder of its own."""

    def __init__(self, folder):
        self.folder, self.bin = folder / "it's an attempt", folder / "bin"
        self.folder.mkdir()
        self.bin.mkdir()

    def install(self, runtime, image):
        (self.bin / runtime).write_text(RUNTIME.replace("IMAGE", image))
        (self.bin / runtime).chmod(0o755)

    def run(self, container, *, inside='echo "in the cell: $A"', gpus=0, **fields):
        (self.folder / "python3").write_text(f"#!/bin/sh\n{inside}\n")
        (self.folder / "python3").chmod(0o755)
        job = JobRequest(
            token=TOKEN, name="n", folder=str(self.folder), size=Size(walltime_s=60, gpus=gpus), env={"A": "a b"},
            command=(str(self.folder / "python3"), "runner.py", "--token", TOKEN), container=container, **fields,
        )  # fmt: skip
        (self.folder / "job.sh").write_text(f"{shebang(job)}\n{body(job, native_id='$DIAMOND_JOB_ID')}")
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.folder), "DIAMOND_JOB_ID": "1"}
        ran = subprocess.run(
            ["bash", "job.sh"], cwd=self.folder, env=env, capture_output=True, text=True, timeout=30, check=False
        )
        told = self.folder / "told"
        return ran, told.read_text() if told.exists() else "", json.loads((self.folder / "end.json").read_text())


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


@pytest.fixture
def image(tmp_path):
    (tmp_path / "torch.sif").write_text("")
    return str(tmp_path / "torch.sif")


@pytest.mark.parametrize("runtime", ["apptainer", "singularity"])
def test_apptainer_sees_the_folders_and_the_gpus(job, image, runtime):
    job.install(runtime, image)
    container = Container(runtime=runtime, image=image, binds=("/scratch:/data",))
    ran, told, _ = job.run(container, gpus=2, seen_inside=("/work",))
    assert ran.stdout == "in the cell: a b\n"
    binds = f"--bind {job.folder} --bind /work --bind /scratch:/data"
    words = f"{runtime} exec --nv {binds} --pwd {job.folder} {image} {job.folder}/python3 runner.py --token {TOKEN}\n"
    assert told.splitlines()[0] + "\n" == words


def test_without_gpus_none_are_asked_for(job, image):
    job.install("apptainer", image)
    assert "--nv" not in job.run(Container(image=image))[1]


def test_podman_is_given_the_variables_by_name(job):
    job.install("podman-hpc", "nersc/pytorch:24.06")
    ran, told, _ = job.run(Container(runtime="podman-hpc", image="nersc/pytorch:24.06"), gpus=1, seen_inside=("/work",))
    assert ran.stdout == "in the cell: a b\n"
    first = told.splitlines()[0]
    assert first.startswith(f"podman-hpc run --rm --network=host --gpu -v {job.folder}:{job.folder} -v /work:/work ")
    assert "-e DIAMOND_JOB_ID" in first
    assert f"-e A -w {job.folder} --entrypoint= nersc/pytorch:24.06 {job.folder}/python3 runner.py" in first


def test_shifter_mounts_the_sites_file_systems_by_itself(job):
    job.install("shifter", "--workdir=*")
    container = Container(runtime="shifter", image="docker:ubuntu:24.04", binds=("/scratch:/data",))
    ran, told, _ = job.run(container, gpus=1, seen_inside=("/work",))
    assert ran.stdout == "in the cell: a b\n"
    words = f"shifter --image=docker:ubuntu:24.04 --module=gpu --volume=/scratch:/data --workdir={job.folder}"
    assert told.splitlines()[0] == f"{words} {job.folder}/python3 runner.py --token {TOKEN}"


def test_a_runtime_or_an_image_that_is_not_there_ends_the_job_before_the_cell(job, image):
    ran, _, end = job.run(Container(image=image))
    assert ran.returncode == end["exit_code"] == 82
    assert end["why"].startswith("the container runtime apptainer is not there")
    for left in ("end.json", "claim"):
        (job.folder / left).unlink()
    job.install("apptainer", image)
    ran, told, end = job.run(Container(image="/no/such.sif"))
    assert (ran.returncode, told) == (82, "")
    assert end["why"].startswith("the image /no/such.sif is not there, or not readable")


@pytest.mark.parametrize(("code", "said"), [(127, "is not inside its image"), (99, "is older than Python 3.6")])
def test_an_interpreter_that_the_image_lacks_or_has_too_old_is_named(job, image, code, said):
    job.install("apptainer", image)
    _, _, end = job.run(Container(image=image), inside=f"exit {code}")
    assert end["exit_code"] == 82
    assert said in end["why"]
