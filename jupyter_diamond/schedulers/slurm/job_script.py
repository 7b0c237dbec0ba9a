"""The batch script: directives, then the head, the command and the tail that all schedulers share."""

from __future__ import annotations

import re

from jupyter_diamond.model import attempt_files as files
from jupyter_diamond.model.jobs import JobRequest
from jupyter_diamond.parsing import durations, memory
from jupyter_diamond.parsing.jobids import ranges
from jupyter_diamond.parsing.quoting import directive
from jupyter_diamond.schedulers import batch_script

SHORT_S = 600
"""Slurm may send a job's signal up to a minute early. In a job that is shorter than this the runner's own clock does
it alone, to the second (B28)."""


def job_script(job: JobRequest) -> str:
    """One attempt as a Slurm batch script.

    The token is the job's name, so that ``--name`` finds it exactly, and leads its comment, before the human name.
    Memory is left to the site where the size does not give any. What the site refuses is not said, whatever the size
    (Vista: no ``--mem``, no GPUs by name).
    """
    lines = [f"#SBATCH {option}" for option in _options(job)]
    job_id = "$SLURM_JOB_ID" if job.array is None else "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    return "\n".join([
        batch_script.shebang(job), *lines, batch_script.body(job, native_id=job_id, at="$SLURM_ARRAY_TASK_ID"),
    ])  # fmt: skip


def directives(job: JobRequest) -> str:
    """The head of a script that asks for the same and does nothing."""
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {option}" for option in _options(job)), ":", ""])


def _options(job: JobRequest) -> list[str]:
    size = job.size
    options = [
        f"--job-name={job.token}",
        f"--comment={job.token}:{re.sub(r'[^A-Za-z0-9_.-]', '_', job.name)}",
        f"--output={files.LOG}" if job.array is None else f"--output={files.member_log('%a')}",
        "--open-mode=append",
        "--no-requeue",
        f"--time={durations.to_slurm(durations.up_to_minutes(size.walltime_s))}",
        f"--nodes={size.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={size.cpus}",
    ]
    if job.array is not None:
        at_once = "" if job.array.at_once is None else f"%{job.array.at_once}"
        options.append(f"--array={ranges(job.array.ats)}{at_once}")
    if size.memory_bytes is not None:
        options.append(f"--mem={memory.up_to_mib(size.memory_bytes)}M")
    if size.gpus and job.dialect.names_gpus:
        kind = "" if size.gpu_type is None else f"{directive(size.gpu_type, 'the kind of GPU')}:"
        options.append(f"--gpus-per-node={kind}{size.gpus}")
    for name in ("partition", "account", "qos"):
        value = getattr(job, name)
        if value is not None:
            options.append(f"--{name}={directive(value, f'the {name}')}")
    if job.warn_before_end_s and size.walltime_s >= SHORT_S:
        # B28: to the batch shell only, and by default not USR1, which libraries take for themselves
        options.append(f"--signal=B:{job.warn_signal}@{job.warn_before_end_s}")
    if job.dialect.constraint is not None:
        options.append(f"--constraint={job.dialect.constraint}")
    options += [f"--{name}={directive(value, f'the option {name}')}" for name, value in job.dialect.options.items()]
    return [option for option in options if option.partition("=")[0] not in job.dialect.forbidden_options]
