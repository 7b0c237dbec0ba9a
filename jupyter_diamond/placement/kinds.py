"""Which kinds of node suit a request: architecture, kind of GPU, memory of one GPU. None is *not known*."""

from __future__ import annotations

import functools
import re

from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.snapshot import FreeNode, NodeShape, Record

_WORDS = re.compile(r"[^a-z0-9]+")


@functools.lru_cache(maxsize=1024)
def gpu_words(model: str) -> frozenset[str]:
    """The words of a GPU's name: ``NVIDIA A100-SXM4-40GB`` and ``nvidia_a100`` are both an A100."""
    return frozenset(_WORDS.split(model.casefold())) - {""}


@functools.lru_cache(maxsize=4096)
def is_kind(model: str, wanted: str) -> bool:
    """The GPU is one of ``a100|h100``: every word of one of them is in its name, so an A10 is no A100."""
    return any(gpu_words(each) <= gpu_words(model) for each in wanted.split("|"))


def variants(shape: NodeShape) -> tuple[NodeShape, ...]:
    """The node as jobs see it that name one kind of its GPUs: one variant a kind."""
    if not shape.gpu_kinds:
        return (shape,)
    return tuple(
        shape.model_copy(
            update={
                "gpus": kind.gpus, "gpu_model": kind.model, "gpu_kinds": (), "gpu_memory_bytes": kind.memory_bytes,
                "gpu_memory_at_least_bytes": kind.memory_at_least_bytes,
                "gpu_memory_at_most_bytes": kind.memory_at_most_bytes,
            }
        )
        for kind in shape.gpu_kinds
    )  # fmt: skip


def gpus_for(envelope: Envelope, shape: NodeShape) -> int | None:
    """How many GPUs of an empty node one job could have: of one kind, where the kind matters; None when not known."""
    if not shape.gpu_kinds or (envelope.gpu_model is None and envelope.gpu_memory_bytes is None):
        return shape.gpus
    return max((each.gpus or 0 for each in variants(shape) if right_gpu(envelope, each) is not False), default=0)


def free_gpus(node: FreeNode, kind: str | None) -> int | None:
    """Free GPUs of a node, of the kind that the job names; None when that is not known."""
    if kind is None:
        return node.gpus
    if node.gpu_kinds:
        return sum(each.gpus for each in node.gpu_kinds if each.model == kind)
    if node.gpu_model == kind:
        return node.gpus
    return None if node.gpus and kind in (node.gpu_model or "").split(", ") else 0


def suits(envelope: Envelope, shape: NodeShape) -> bool | None:
    """Architecture and GPUs of this kind of node are what is asked; None when that is not known."""
    return _both(right_arch(envelope, shape), right_gpu(envelope, shape))


def right_arch(envelope: Envelope, shape: NodeShape) -> bool | None:
    """Its architecture is the one that is asked."""
    if envelope.arch is None:
        return True
    return None if shape.arch is None else shape.arch == envelope.arch


def right_gpu(envelope: Envelope, shape: NodeShape) -> bool | None:
    """Its GPUs are of a kind that is asked, each with the memory that is asked."""
    if envelope.gpu_model is None and envelope.gpu_memory_bytes is None:
        return True
    if shape.gpus == 0:
        return False
    if shape.gpu_kinds:  # which kind a job gets is not known, unless all will do, or none
        answers = {right_gpu(envelope, each) for each in variants(shape)}
        return answers.pop() if len(answers) == 1 else None
    return _both(right_model(envelope, shape), _right_memory(envelope, shape))


def right_model(envelope: Envelope, shape: NodeShape) -> bool | None:
    """Its GPUs are of a kind that is asked; the memory of one does not matter."""
    if envelope.gpu_model is None:
        return True
    if shape.gpu_model is None:
        return None
    if "," not in shape.gpu_model:
        return is_kind(shape.gpu_model, envelope.gpu_model)
    answers = {is_kind(model, envelope.gpu_model) for model in shape.gpu_model.split(",")}
    return answers.pop() if len(answers) == 1 else None  # a node with two kinds: which one a job gets is not known


def _right_memory(envelope: Envelope, shape: NodeShape) -> bool | None:
    if envelope.gpu_memory_bytes is None:
        return True
    if shape.gpu_memory_bytes is not None:
        return shape.gpu_memory_bytes >= envelope.gpu_memory_bytes
    most, least = shape.gpu_memory_at_most_bytes, shape.gpu_memory_at_least_bytes
    if least is not None and least >= envelope.gpu_memory_bytes:
        return True
    return False if most is not None and most < envelope.gpu_memory_bytes else None


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def gpu_type(envelope: Envelope, record: Record | None) -> str | None:
    """The scheduler's name of the kind of GPU that must be asked for, where a partition mixes kinds that differ in it.

    None where all of its GPUs will do, and where the scheduler cannot tell them apart.
    """
    shapes = record.shapes if record is not None else ()
    gpus = [each for shape in shapes if shape.gpus != 0 for each in variants(shape)]
    if len(gpus) < 2:  # no two that could differ
        return None
    answers = [(shape.gpu_model, right_gpu(envelope, shape) is True) for shape in gpus]
    right = {model for model, will_do in answers if will_do}
    other = {model for model, will_do in answers if not will_do}
    if len(right) != 1 or not other or right & other:
        return None
    name = next(iter(right))
    named = record is None or record.policy is None or "--gres" not in record.policy.forbidden_options
    return name if named and name is not None and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) else None
