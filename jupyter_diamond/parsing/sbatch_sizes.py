"""How large a batch script's job is: its tasks, CPUs, GPUs and memory, as amounts per node.

sbatch counts tasks, and may spread them; a task of ours is one process a node with so many CPUs, GPUs and so much
memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.envelope import Span
from jupyter_diamond.model.imported import Fate
from jupyter_diamond.model.snapshot import NO_LIMIT

from . import gres
from .memory import parse_slurm, to_exact

Become = tuple[Fate, str]


class Sizes(NamedTuple):
    """Words for ``read_envelope``, and what became of each option that has to do with them."""

    words: dict[str, str]
    fates: dict[str, Become]
    tasks: int
    """Processes that sbatch would have given ``srun``, in all."""


SIZES = (
    "nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mincpus", "cpus-per-gpu", "ntasks-per-gpu", "gres", "gpus",
    "gpus-per-node", "gpus-per-task", "gpus-per-socket", "sockets-per-node", "mem", "mem-per-cpu", "mem-per-gpu",
)  # fmt: skip
_NUMBER = re.compile(r"[0-9]{1,9}")
_NODES = re.compile(r"([0-9]{1,7})([kKmM]?)(?:-([0-9]{1,7})([kKmM]?))?")
_SCALE = {"": 1, "k": 1 << 10, "m": 1 << 20}


def sizes_of(said: Mapping[str, str], is_known: Callable[[str], bool]) -> Sizes:
    """The sizes of a job. ``is_known`` says whether a kind of GPU is one that a request may name."""
    return _Reading(said, is_known).sizes()


class _Reading:
    """One job's options on their way to sizes; an option that cannot be read is left out and says so."""

    def __init__(self, said: Mapping[str, str], is_known: Callable[[str], bool]) -> None:
        self._said = {name: value for name, value in said.items() if name in SIZES}
        self._is_known = is_known
        self._fates: dict[str, Become] = {}
        self._words: dict[str, str] = {}

    def sizes(self) -> Sizes:
        nodes = self._nodes()
        tasks, per_task = self._number("ntasks"), self._number("cpus-per-task")
        per_node = self._number("ntasks-per-node")
        nodes = self._nodes_for(nodes, tasks, per_node)
        on_node = self._on_node(nodes, tasks, per_node)
        gpus = self._gpus(nodes, on_node)
        by_gpu = self._number("ntasks-per-gpu")
        if by_gpu is not None and gpus and tasks is None and per_node is None:
            on_node = by_gpu * gpus
        cpus = self._cpus(on_node, per_task, gpus)
        self._memory(cpus, gpus)
        self._tell_tasks(nodes, on_node, cpus)
        if by_gpu is not None:
            self._fates["ntasks-per-gpu"] = ("approximated", f"counted into --cpus {cpus}; nothing binds them to a GPU")
        self._words["nodes"] = str(nodes.min) if nodes.min == nodes.max else f"{nodes.min}-{nodes.max}"
        self._words |= {"cpus": str(cpus), "gpus": str(gpus)}
        return Sizes(self._words, self._fates, tasks if tasks is not None else on_node * nodes.min)

    def _unread(self, name: str, example: str) -> None:
        self._fates[name] = ("unsupported", f"{self._said[name]!r} cannot be read; sbatch wants for example {example}")

    def _number(self, name: str) -> int | None:
        text = self._said.get(name)
        if text is None:
            return None
        if not _NUMBER.fullmatch(text) or int(text) < 1:
            self._unread(name, f"--{name}=4")
            return None
        return int(text)

    def _nodes(self) -> Span:
        text = self._said.get("nodes")
        found = _NODES.fullmatch(text) if text is not None else None
        if text is None:
            return Span.exactly(1)
        low = int(found.group(1)) * _SCALE[found.group(2).lower()] if found else 0
        high = int(found.group(3)) * _SCALE[found.group(4).lower()] if found and found.group(3) else low
        if not found or low < 1 or high < low:
            self._unread("nodes", "--nodes=2 or --nodes=2-4")
            return Span.exactly(1)
        self._fates["nodes"] = ("kept", f"--nodes {low if low == high else f'{low}-{high}'}")
        return Span(min=low, max=high)

    def _nodes_for(self, nodes: Span, tasks: int | None, per_node: int | None) -> Span:
        """As sbatch does: no more nodes than tasks, and as many as the tasks per node need."""
        if tasks is None:
            return nodes
        if nodes.min > tasks:
            self._fates["nodes"] = ("approximated", f"--nodes {tasks}: sbatch takes no more nodes than tasks")
            return Span.exactly(tasks)
        needed = -(-tasks // per_node) if per_node else 1
        if "nodes" not in self._fates:
            return Span.exactly(needed)
        return Span(min=max(nodes.min, needed), max=max(nodes.max, needed))

    @staticmethod
    def _on_node(nodes: Span, tasks: int | None, per_node: int | None) -> int:
        if per_node is not None:
            return per_node if tasks is None else min(per_node, tasks)
        return 1 if tasks is None else -(-tasks // nodes.min)

    def _cpus(self, on_node: int, per_task: int | None, gpus: int) -> int:
        by_gpu, least = self._number("cpus-per-gpu"), self._number("mincpus")
        cpus = on_node * (per_task or 1)
        if by_gpu is not None and gpus:
            cpus = by_gpu * gpus if per_task is None else cpus
            how: Become = ("mapped", f"{by_gpu} for each of {gpus} GPUs: --cpus {cpus}")
            self._fates["cpus-per-gpu"] = how if per_task is None else ("dropped", "--cpus-per-task says it already")
        elif by_gpu is not None:
            self._fates["cpus-per-gpu"] = ("dropped", "no GPU is asked for")
        if least is not None:
            cpus = max(cpus, least)
            self._fates["mincpus"] = ("mapped", f"--cpus {cpus} is at least that")
        return cpus

    def _tell_tasks(self, nodes: Span, on_node: int, cpus: int) -> None:
        tasks, per_task, per_node = (self._number(name) for name in ("ntasks", "cpus-per-task", "ntasks-per-node"))
        if per_task is not None:
            self._fates["cpus-per-task"] = (
                ("mapped", f"--cpus {cpus}: {on_node} tasks on a node with {per_task} CPUs each")
                if on_node > 1 else ("kept", f"--cpus {cpus}")
            )  # fmt: skip
        if per_node is not None:
            self._fates["ntasks-per-node"] = ("mapped", f"--cpus {cpus} holds the {on_node} tasks of a node")
        if tasks is None:
            return
        if tasks <= 1:
            self._fates["ntasks"] = ("kept", "a task of ours is one process a node")
        elif per_node is not None or tasks == nodes.min == nodes.max:
            self._fates["ntasks"] = ("mapped", f"{tasks} tasks on {nodes.min} nodes: --nodes {nodes.min} --cpus {cpus}")
        elif "nodes" in self._said:
            even = tasks % nodes.min == 0 and nodes.min == nodes.max
            how = f"{on_node} of {tasks} tasks on a node: --cpus {cpus}"
            self._fates["ntasks"] = ("mapped", how) if even else ("approximated", f"{how}, at most")
        else:
            self._fates["ntasks"] = (
                "approximated", f"{tasks} tasks as --cpus {cpus} of one node; sbatch could have spread them"
            )  # fmt: skip

    def _gpus(self, nodes: Span, on_node: int) -> int:
        """GPUs of a node: what is said for a node counts before what is said for the job or a task."""
        found = 0
        for name, share in (("gpus-per-node", 1), ("gres", 1), ("gpus-per-task", on_node), ("gpus-per-socket", 0),
                            ("gpus", -1)):  # fmt: skip
            text = self._said.get(name)
            if text is None:
                continue
            read = self._gpu_list(name, text)
            if read is None:
                continue
            count, kind = read
            if count == 0:
                self._fates.setdefault(name, ("kept", "no GPU"))
            elif found:
                self._fates[name] = ("dropped", f"--gpus {found} is said by an option for the node")
            else:
                found = self._share(name, count, share, nodes)
                self._name_kind(name, kind)
        return found

    def _gpu_list(self, name: str, text: str) -> tuple[int, str] | None:
        """How many, and of which kind; the kind is empty where none or several are named."""
        spelt = text if name == "gres" else ",".join(f"gpu:{each}" for each in text.split(","))
        try:
            counts = {kind: count for kind, count in gres.gpus_by_type(spelt).items() if count}
            others = [each for each in gres.split(text) if not re.match(r"(gres[:/])?gpu\b|none$", each)]
        except ParseError:
            self._unread(name, "--gres=gpu:a100:2" if name == "gres" else f"--{name}=a100:2")
            return None
        if name == "gres" and others:
            gone = ", ".join(others)
            rest = "the GPUs are counted" if counts else "nothing else is in it"
            self._fates[name] = (
                "approximated" if counts else "unsupported",
                f"only GPUs can be asked for, not {gone}; {rest}",
            )
        return sum(counts.values()), next(iter(counts)) if len(counts) == 1 else ""

    def _share(self, name: str, count: int, share: int, nodes: Span) -> int:
        if share > 0:
            each = count * share
            how: Become = ("mapped", f"--gpus {each}: GPUs of a node")
        elif share == 0:
            sockets = self._number("sockets-per-node")
            each = count * (sockets or 1)
            where = f"{sockets} sockets" if sockets else "one socket, as no --sockets-per-node says how many"
            how = ("approximated", f"--gpus {each}: on {where}")
        else:
            each = -(-count // nodes.min)
            exact = count % nodes.min == 0 and nodes.min == nodes.max
            where = "one node; sbatch could have spread them" if "nodes" not in self._said else f"{nodes.min} nodes"
            how = (
                "mapped" if exact and "nodes" in self._said else "approximated",
                f"--gpus {each}: {count} on {where}",
            )
        if name not in self._fates:
            self._fates[name] = how
        return each

    def _name_kind(self, name: str, kind: str) -> None:
        fate, sentence = self._fates[name]
        if kind and self._is_known(kind):
            self._words["gpu_model"] = kind
            self._fates[name] = (fate, f"{sentence}; --gpu-model {kind}")
        elif kind:
            self._fates[name] = (
                "approximated",
                f"{sentence}; {kind!r} is the site's own word for a GPU and is left out",
            )
        elif self._said[name].count(":") > (1 if name == "gres" else 0) and "," in self._said[name]:
            self._fates[name] = ("approximated", f"{sentence}; a node with several kinds of GPU cannot be asked for")

    def _memory(self, cpus: int, gpus: int) -> None:
        each = [name for name in ("mem", "mem-per-cpu", "mem-per-gpu") if name in self._said]
        for name in each[1:]:
            self._fates[name] = ("unsupported", f"sbatch refuses it beside --{each[0]}, which is used")
        if not each:
            return
        name = each[0]
        try:
            size = parse_slurm(self._said[name])
        except ParseError:
            size = None
        if size is None or size is NO_LIMIT:
            self._unread(name, f"--{name}=4G")
        elif size == 0:
            self._fates[name] = (
                "approximated",
                "all memory of a node has no word here: add --memory with what it needs",
            )
        elif name == "mem-per-gpu" and not gpus:
            self._fates[name] = ("dropped", "no GPU is asked for")
        else:
            count = {"mem": 1, "mem-per-cpu": cpus, "mem-per-gpu": gpus}[name]
            total = to_exact(int(size) * count)
            self._words["memory"] = total
            how = {"mem": "a node", "mem-per-cpu": f"{cpus} CPUs", "mem-per-gpu": f"{gpus} GPUs"}[name]
            self._fates[name] = ("kept" if name == "mem" else "mapped", f"--memory {total}: for {how}")
