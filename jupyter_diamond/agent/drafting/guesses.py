"""From facts of the code to options: each guess with its line, and what the code does not tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from jupyter_diamond.cell.reading.facts import CodeFacts, Named, Shown
from jupyter_diamond.model.draft import Reason
from jupyter_diamond.model.envelope import Span
from jupyter_diamond.parsing.memory import GIB, to_words

from .families import DType, Size, counted, inference_bytes, size_of, training_bytes

MOST_RANKS = 128
"""Ranks of MPI on one node, where the number of nodes is not said: two sockets of the usual processors."""
CPUS_A_GPU = 4
LARGEST_GPU = 75 * GIB
"""What fits on one GPU of 80 GB, the most common large one."""
SMALL = 4 * GIB
"""Less than this is nothing to choose a GPU by."""
_CONVERSION = 2.0
"""Arrays are copied once on their way through most operations."""


class Guesses:
    """What one piece of code suggests. ``reasons`` by option, ``unknown`` what it does not tell."""

    def __init__(
        self,
        facts: CodeFacts,
        sizes: Mapping[str, int] = MappingProxyType({}),
        values: Mapping[str, int] = MappingProxyType({}),
        gpus: Span | None = None,
    ) -> None:
        """``gpus``: how many were said by somebody else, which counts in place of what the code shows."""
        self.reasons: dict[str, Reason] = {}
        self.unknown: list[str] = []
        self.hard_gpu = bool(facts.gpu)
        self._facts, self._sizes, self._values = facts, sizes, values
        self._model = _largest(facts.models)
        self._said = gpus
        self._gpus = self._count_gpus()
        if gpus is not None:
            self._gpus = gpus.min, gpus.max
        for step in (self._nodes, self._gpu_memory, self._cpus, self._memory, self._time):
            step()

    def _say(self, field: str, value: str, sentence: str, evidence: str) -> None:
        self.reasons.setdefault(field, Reason(field=field, value=value, sentence=f"{sentence}.", evidence=evidence))

    def _count_gpus(self) -> tuple[int, int]:
        """Least and most GPUs a node."""
        facts = self._facts
        if facts.no_gpu and not facts.gpu:
            self._say("gpus", "0", "The code says that it wants no GPU", facts.no_gpu[0])
            return 0, 0
        if not (facts.gpu or facts.gpu_if_there):
            return 0, 0
        known = [shown for shown in facts.gpus if shown.n]
        if known:
            most = max(known, key=lambda shown: shown.n or 0)
            self._say("gpus", str(most.n), f"The code works on {most.n} GPUs of a node", most.evidence)
            return most.n or 1, most.n or 1
        if facts.data_parallel:
            sentence = "Each GPU has a copy of the model, so it runs on one and is faster on several"
            self._say("gpus", "1-4", sentence, facts.data_parallel[0])
            self.unknown.append("How many GPUs it still gets faster with is not known: 4 at most were drafted.")
            return 1, 4
        if facts.gpu:
            self._say("gpus", "1", "The code works on a GPU", facts.gpu[0])
        else:
            self._say("gpus", "1", "The code uses a GPU where there is one", facts.gpu_if_there[0])
            self.unknown.append("It would run without a GPU, too; how much slower is not known.")
        return 1, 1

    def _nodes(self) -> None:
        known = [shown for shown in self._facts.nodes if shown.n and shown.n > 1]
        if known:
            most = max(known, key=lambda shown: shown.n or 0)
            self._say("nodes", str(most.n), f"It is started on {most.n} nodes", most.evidence)

    # -- memory of GPUs

    def _gpu_memory(self) -> None:
        facts, (_, most) = self._facts, self._gpus
        if not most:
            return
        arrays = sum(each.bytes for each in facts.arrays if each.on_gpu)
        if self._model is None and not arrays:
            self.unknown.append("How much memory of a GPU it takes is not known: no model of known size is named.")
            return
        need, sentence, evidence = self._need()
        need += arrays
        if facts.sharded and self._model is not None:
            need, sentence = self._split(need, sentence, most)
        if arrays:
            evidence = evidence or next(each.evidence for each in facts.arrays if each.on_gpu)
            sentence = sentence or f"Arrays of {to_words(arrays)} are made on the GPU"
        if need < SMALL:
            self.unknown.append(f"How much memory of a GPU it takes is not known: {sentence}, which any GPU has.")
            return
        self._say("gpu-memory", f"{math.ceil(need / GIB)}G", sentence, evidence)
        if facts.trains and facts.batch is None:
            self.unknown.append("Activations grow with the batch, whose size is not in the code: a quarter was added.")

    def _need(self) -> tuple[int, str, str]:
        """Bytes of GPU memory for the model, the sentence, and the line."""
        if self._model is None:
            return 0, "", ""
        facts, (named, size) = self._facts, self._model
        dtype = cast("DType", facts.dtype[0]) if facts.dtype else "float32"
        held = f"{named.name} has {counted(size.parameters)} parameters ({size.source})"
        if not facts.trains:
            need = inference_bytes(size.parameters, dtype)
            return need, f"{held}; in {dtype} and a fifth more that is {to_words(need)}", named.evidence
        optimizer = facts.optimizer[0] if facts.optimizer else "adam"
        adapters = dtype if facts.adapters else None
        need = training_bytes(size.parameters, optimizer, adapters=adapters)
        how = f"adapters on {dtype} weights" if adapters else f"training with {optimizer}"
        return need, f"{held}; {how} and a quarter for activations is {to_words(need)}", named.evidence

    def _split(self, need: int, sentence: str, most: int) -> tuple[int, str]:
        """One model over several GPUs: as many as it takes, where the code does not say."""
        if self._said is None and not any(shown.n for shown in self._facts.gpus):
            most = min(16, max(1, math.ceil(need / LARGEST_GPU)))
            drafted = Reason(
                field="gpus", value=str(most), sentence=f"So many GPUs of 80 GB hold {to_words(need)}.",
                evidence=self._facts.sharded[0],
            )  # fmt: skip
            self.reasons["gpus"] = drafted
            self._gpus = most, most
        return math.ceil(need / most), f"{sentence}, split over {most}"

    # -- CPUs and main memory

    def _cpus(self) -> None:
        facts, (_, most) = self._facts, self._gpus
        ranks = max((shown for shown in facts.ranks if shown.n), key=lambda shown: shown.n or 0, default=None)
        if ranks is not None and ranks.n:
            self._of_ranks(ranks, ranks.n)
            return
        known = max((shown for shown in facts.workers if shown.n), key=lambda shown: shown.n or 0, default=None)
        loaders = max((shown.n or 0 for shown in facts.loaders), default=0)
        if most:
            each = min(32, loaders + 1) if loaders else CPUS_A_GPU
            why = f"{loaders} loaders and one more" if loaders else f"{CPUS_A_GPU} CPUs feed each GPU, as a rule"
            least = self._gpus[0]
            value = str(each * most) if least == most else f"{each * least}-{each * most}"
            line = facts.loaders[0].evidence if loaders else ""
            self._say("cpus", value, f"For each GPU: {why}", line)
        elif known is not None:
            self._say("cpus", str(known.n), f"{known.n} processes or threads work at once", known.evidence)
        elif facts.workers:
            self._say("cpus", "4-16", "It uses as many CPUs as it gets", facts.workers[0].evidence)
            self.unknown.append("How many CPUs it still gets faster with is not known: 16 at most were drafted.")
        elif loaders:
            self._say("cpus", str(loaders + 1), f"{loaders} loaders and one more", facts.loaders[0].evidence)

    def _of_ranks(self, ranks: Shown, count: int) -> None:
        nodes = next((shown.n for shown in self._facts.nodes if shown.n), None) or math.ceil(count / MOST_RANKS)
        if nodes > 1:
            self._say("nodes", str(nodes), f"{count} ranks, at most {MOST_RANKS} on a node", ranks.evidence)
        self._say("cpus", str(math.ceil(count / nodes)), f"{count} ranks of MPI, one a CPU", ranks.evidence)

    def _memory(self) -> None:
        parts = [*self._arrays(), *self._files(), *self._variables(), *self._weights()]
        total = sum(part.bytes for part in parts)
        if total < GIB // 2:
            if self._gpus[1]:
                self._say("memory", "16G-32G", "What a GPU's process takes, as a rule", "")
                self.unknown.append("How much main memory it takes is not known: 16G to 32G is a rule of thumb.")
            elif not parts:
                self.unknown.append("How much memory it takes is not known: the site's default is asked for.")
            return
        largest = max(parts, key=lambda part: part.bytes)
        need = max(1, math.ceil((total + GIB) / GIB))
        self._say("memory", f"{need}G-{2 * need}G", f"{largest.sentence}; up to twice as much is of use",
                  largest.evidence)  # fmt: skip

    def _arrays(self) -> list[_Part]:
        found = [each for each in self._facts.arrays if not each.on_gpu and each.bytes >= 1 << 20]
        return [
            _Part(int(each.bytes * _CONVERSION), f"An array of {to_words(each.bytes)}", each.evidence) for each in found
        ]

    def _files(self) -> list[_Part]:
        found, unseen = [], []
        for path, line, factor in self._facts.files:
            size = self._sizes.get(path)
            if size is None:
                unseen.append(path)
            else:
                found.append(
                    _Part(
                        int(size * factor), f"{path} has {to_words(size)}, about {factor:g} times that in memory", line
                    )
                )
        if unseen:
            self.unknown.append(f"How large {', '.join(unseen[:3])} is could not be seen from here.")
        return found

    def _variables(self) -> list[_Part]:
        return [
            _Part(3 * size, f"`{name}` travels with the cell and has {to_words(size)}", f"`{name}`")
            for name, size in self._values.items()
            if size >= 32 << 20
        ]

    def _weights(self) -> list[_Part]:
        if self._model is None:
            return []
        named, size = self._model
        dtype = cast("DType", self._facts.dtype[0]) if self._facts.dtype else "float32"
        need = inference_bytes(size.parameters, dtype)
        return [_Part(need, f"The weights of {named.name} pass through main memory", named.evidence)]

    # -- time

    def _time(self) -> None:
        facts, trains = self._facts, self._facts.trains
        limit = "4h" if trains else "1h" if self._gpus[1] else None
        if limit is None:
            self.unknown.append("How long it runs is not known: the limit is the usual one, 30m.")
            return
        what = "training" if trains else "work on a GPU"
        epochs = f", {facts.epochs.n} epochs" if facts.epochs and trains else ""
        self._say(
            "time", limit, f"A limit as is usual for {what}{epochs}", facts.epochs.evidence if facts.epochs else ""
        )
        self.unknown.append(f"How long it runs is not known: the limit of {limit} is a guess.")
        if trains and facts.checkpoints is None:
            self.unknown.append("It saves no checkpoint that was seen: what a time limit cuts off would be lost.")


class _Part(NamedTuple):
    bytes: int
    sentence: str
    evidence: str


def _largest(models: list[Named]) -> tuple[Named, Size] | None:
    """The model that takes most, of those whose size is known."""
    known = [(named, size) for named in models if (size := size_of(named.name)) is not None]
    return max(known, key=lambda each: each[1].parameters, default=None)
