"""What commands say of processes: ``torchrun``, ``deepspeed``, ``mpirun``, ``srun``, and variables of threads."""

from __future__ import annotations

import re

from jupyter_diamond.parsing.numbers import whole

from .facts import CodeFacts, Shown

LAUNCHERS = re.compile(
    r"\b(torchrun|torch\.distributed\.(run|launch)|deepspeed|accelerate\s+launch|mpi(run|exec)|srun)\b"
)
_PER_NODE = re.compile(r"--(?:nproc[-_]per[-_]node|num[-_]gpus)[= ](\w+)")
_ACCELERATE = re.compile(r"--num[-_]processes[= ](\d+)")
_NODES = re.compile(r"(?:--nnodes|--num[-_](?:nodes|machines)|--nodes)[= ](\d+)|(?:^|\s)-N\s*(\d+)")
_RANKS = re.compile(r"(?:^|\s)(?:-np|-n|--ntasks(?:=|\s)|--np(?:=|\s))\s*(\d+)")
_GPUS = re.compile(r"--gpus(?:-per-(?:node|task))?[= ](?:\w+:)*(\d+)|--gres[= ]gpu(?::\w+)*?:(\d+)")
_VARIABLE = re.compile(
    r"\b(OMP_NUM_THREADS|MKL_NUM_THREADS|OPENBLAS_NUM_THREADS|JULIA_NUM_THREADS|CUDA_VISIBLE_DEVICES)=(\S*)"
)


def read_shell(script: str, facts: CodeFacts) -> None:
    """Add what a script says; a line that goes on after a backslash is one line."""
    for line in re.sub(r"[ \t]*\\\n\s*", " ", script).splitlines():
        plain = line.strip()
        if plain and not (plain.startswith("#") and not plain.startswith("#SBATCH")):
            _read_line(plain, facts)


def _read_line(line: str, facts: CodeFacts) -> None:
    shown = evidence(line)
    for name, value in _VARIABLE.findall(line):
        variable(name, value.strip("'\""), shown, facts)
    launcher = LAUNCHERS.search(line)
    if launcher is None:
        return
    word = launcher.group(1)
    nodes = _NODES.search(line)
    if nodes:
        facts.nodes.append(Shown(int(nodes.group(1) or nodes.group(2)), shown))
    if word.startswith(("torch", "deepspeed", "accelerate")):
        _gpu_launcher(line, word, shown, facts)
    else:
        _mpi_launcher(line, shown, facts)


def _gpu_launcher(line: str, word: str, shown: str, facts: CodeFacts) -> None:
    per_node = _PER_NODE.search(line) or (_ACCELERATE.search(line) if word.startswith("accelerate") else None)
    count = whole(per_node.group(1)) if per_node else None
    facts.data_parallel.append(shown)
    facts.gpus.append(Shown(count, shown))
    facts.gpu.append(shown)
    if word == "deepspeed":
        facts.sharded.append(shown)


def _mpi_launcher(line: str, shown: str, facts: CodeFacts) -> None:
    ranks = _RANKS.search(line)
    if ranks:
        facts.ranks.append(Shown(int(ranks.group(1)), shown))
    gpus = _GPUS.search(line)
    if gpus:
        facts.gpus.append(Shown(int(gpus.group(1) or gpus.group(2)), shown))
        facts.gpu.append(shown)


def variable(name: str, value: str, shown: str, facts: CodeFacts) -> None:
    """An environment variable that is set to a value."""
    if name == "CUDA_VISIBLE_DEVICES":
        if value in ("", "-1"):
            facts.no_gpu.append(shown)
        elif re.fullmatch(r"\d+(,\d+)*", value):
            facts.gpus.append(Shown(value.count(",") + 1, shown))
            facts.gpu.append(shown)
    elif name.endswith("_NUM_THREADS") and 0 < (whole(value) or 0) <= 100_000:
        facts.workers.append(Shown(int(value), shown))


def evidence(line: str, number: int | None = None) -> str:
    """A line of code as it is shown: cut, with its number."""
    plain = re.sub(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufdff]+", " ", line).strip()
    cut = plain if len(plain) <= 120 else f"{plain[:119]}…"
    return f"line {number}: {cut}" if number is not None else cut
