"""The documented kinds of GPU: package data, every size with its source; and what a request may say of them."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable
from importlib.resources import files as package_files

from ruamel.yaml import YAML

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.gpu import GpuModel, GpuTable
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.parsing.gpu_names import named_bytes, slice_bytes
from jupyter_diamond.parsing.memory import to_exact
from jupyter_diamond.placement.kinds import gpu_words

from . import machines


@functools.cache
def table() -> GpuTable:
    """All documented kinds."""
    text = (package_files("jupyter_diamond.sites") / "gpus.yaml").read_text(encoding="utf-8")
    return GpuTable.model_validate(YAML(typ="safe", pure=True).load(text))


@functools.cache
def kinds() -> tuple[str, ...]:
    """The names of all documented kinds: those of the table, and what else the known machines have."""
    listed = [gpu.name for gpu in table().gpus]
    for name in machines.names():
        for node in machines.documented(name).nodes.values():
            model = re.sub(r"\s*\(.*\)", "", node.gpu_model or "").casefold()
            if model and not any(gpu_words(each) <= gpu_words(model) for each in listed):
                listed.append(model)
    return tuple(listed)


def check_gpus(envelope: Envelope, live: Callable[[], Iterable[str]] = tuple) -> None:
    """Refuse a kind that nobody has heard of, with the nearest that is known; and a memory that the kind never has.

    ``live`` tells what the sites have now, and is asked only where the documented kinds do not have it.
    Raises InvalidRequest with one sentence.
    """
    if envelope.gpu_model is None:
        return
    wanted = [each.strip() for each in envelope.gpu_model.split("|")]
    strange = [each for each in wanted if not is_known(each)]
    if strange:
        here = tuple(live())
        lost = next((each for each in strange if not is_known(each, here)), None)
        if lost is not None:
            raise InvalidRequest(_unknown(lost, here))
    _check_memory(envelope, wanted)


def gpus_of(snapshot: Snapshot) -> set[str]:
    """The kinds of GPU that the sites have, as their schedulers name them."""
    shapes = [shape for site in snapshot.sites for record in site.records for shape in record.shapes]
    return {name for shape in shapes for name in (shape.gpu_model, *(kind.model for kind in shape.gpu_kinds)) if name}


def is_known(wanted: str, known: Iterable[str] | None = None) -> bool:
    """It names one of them, more or less exactly (``rtx``, ``nvidia a100 80gb``), or a slice by its profile."""
    words = gpu_words(wanted)
    names = (gpu_words(each) for each in (kinds() if known is None else known))
    return slice_bytes(wanted) is not None or any(words and (words <= name or name <= words) for name in names)


def _unknown(wanted: str, here: tuple[str, ...]) -> str:
    names = list(dict.fromkeys([*kinds(), *(each.casefold() for each in here)]))
    likeness, nearest = max(((_likeness(wanted, name), name) for name in names), key=lambda each: each[0])
    hint = f"did you mean {nearest}?" if likeness[0] >= 0.5 else f"known are {', '.join(names)}."
    return f"--gpu-model: no GPU {wanted!r} is known, and none of your sites has one; {hint}"


def _likeness(one: str, other: str) -> tuple[float, float]:
    """How alike two names are, by their letters and digits; then by where each has a digit: a101 is no a10g."""
    plain = [re.sub(r"[^a-z0-9]", "", name.casefold()) for name in (one, other)]
    masks = [re.sub(r"[0-9]", "0", re.sub(r"[a-z]", "a", name)) for name in plain]
    names = difflib.SequenceMatcher(None, plain[0], plain[1])
    digits = difflib.SequenceMatcher(None, masks[0], masks[1])
    return names.ratio(), digits.ratio()


def _check_memory(envelope: Envelope, wanted: list[str]) -> None:
    asked = envelope.gpu_memory_bytes
    if asked is None or {"gpu_model", "gpu_memory"} & set(envelope.soft):
        return
    largest = [_largest(each) for each in wanted]
    known = [size for size in largest if size is not None]
    if len(known) < len(wanted) or max(known) >= asked:
        return
    others = sorted((gpu for gpu in table().gpus if max(gpu.memory) >= asked), key=lambda gpu: max(gpu.memory))
    instead = f"write --gpu-model {others[0].name!r}, or " if others else ""
    raise InvalidRequest(
        f"--gpu-model {envelope.gpu_model} and --gpu-memory {to_exact(asked)} contradict each other: the largest such "
        f"GPU has {to_exact(max(known))}; {instead}ask for at most --gpu-memory {to_exact(max(known))}."
    )


def _largest(wanted: str) -> int | None:
    """The most memory that a kind comes with; None where that is not documented."""
    if slice_bytes(wanted) is not None:
        return slice_bytes(wanted)
    words = gpu_words(wanted)
    fitting: list[GpuModel] = [gpu for gpu in table().gpus if gpu_words(gpu.name) <= words]
    if len(fitting) != 1:
        return None
    return max(fitting[0].memory) if fitting[0].names_host_memory else named_bytes(wanted) or max(fitting[0].memory)
