"""The rules about the kind of GPU and about the memory of one: what a place has, and whether a job can name it."""

from __future__ import annotations

from jupyter_diamond.model.decision import Answer, Verdict
from jupyter_diamond.model.envelope import Envelope
from jupyter_diamond.model.snapshot import NodeShape

from . import words
from .kinds import gpu_type, right_gpu, right_model, variants
from .place import NO_CHANGE, Change, Clock, Place, ask_for, verdict

_MIXED = "It mixes kinds of GPU, and a job cannot name there the one that you asked for."


def accelerator(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Its GPUs are of a kind that is asked."""
    gpus = _gpus(place)
    observed = ", ".join(dict.fromkeys(_name(shape) for shape in gpus)) or ("no GPU" if place.shapes else "unknown")
    if envelope.gpu_model is None:
        return verdict("accelerator", "pass", observed, "any", "Any GPU will do.")
    answer, sentence, change = _right_kind(envelope, envelope.gpu_model, place, gpus)
    return verdict("accelerator", answer, observed, envelope.gpu_model, sentence, change=change)


_Finding = tuple[Answer, str, Change]
"""An answer, its sentence, and the change."""
_NONE: _Finding = ("fail", "It has no GPU.", NO_CHANGE)


def _right_kind(envelope: Envelope, wanted: str, place: Place, gpus: list[NodeShape]) -> _Finding:
    answers = {right_model(envelope, shape) for shape in gpus}
    if place.shapes and not gpus:
        return _NONE
    if answers == {True}:
        return "pass", "Its GPUs are of the kind that you asked for.", NO_CHANGE
    if answers == {False}:
        have = tuple(dict.fromkeys(shape.gpu_model for shape in gpus if shape.gpu_model is not None))
        passes = f"--gpu-model {words.option(have[0])}" if have else ""
        change = Change(passes, f"leave out --gpu-model {wanted}, or choose another place")
        return "fail", f"Its GPUs are {' and '.join(have)}.", change
    if True not in answers:
        return "unknown", "The kind of its GPUs is not known.", NO_CHANGE
    # with a memory that is asked as well, it is the other rule's matter which of the kind have it
    name = gpu_type(envelope, place.record) or gpu_type(_without_memory(envelope), place.record)
    if name is None:
        return "unknown", _MIXED, NO_CHANGE
    return "pass", f"It mixes kinds of GPU; the job asks for {name}.", NO_CHANGE


def gpu_memory(envelope: Envelope, place: Place, _clock: Clock) -> Verdict:
    """Each of its GPUs has the memory that is asked; where a kind is asked, those of that kind."""
    least = envelope.gpu_memory_bytes
    if least is None:
        return verdict("GPU memory", "pass", "any", "any", "Any memory of a GPU will do.")
    every = _gpus(place)
    gpus = [shape for shape in every if right_model(envelope, shape) is not False] or every
    observed = ", ".join(dict.fromkeys(_held(shape) for shape in gpus)) or ("no GPU" if place.shapes else "unknown")
    answer, sentence, change = _large_enough(envelope, place, gpus)
    return verdict("GPU memory", answer, observed, f"{words.memory(least)} each", sentence, change=change)


def _large_enough(envelope: Envelope, place: Place, gpus: list[NodeShape]) -> _Finding:
    any_kind = envelope.model_copy(update={"gpu_model": None})
    answers = {right_gpu(any_kind, shape) for shape in gpus}
    if place.shapes and not gpus:
        return _NONE
    if answers == {True}:
        return "pass", "Its GPUs have that much memory.", NO_CHANGE
    if answers == {False}:
        most = max(shape.gpu_memory_bytes or shape.gpu_memory_at_most_bytes or 0 for shape in gpus)
        return (
            "fail",
            f"Its GPUs have {words.memory(most)} each.",
            ask_for(f"--gpu-memory {words.memory(most)}", most=True),
        )
    if True not in answers:
        return "unknown", "The memory of its GPUs is not known.", NO_CHANGE
    name = gpu_type(envelope, place.record)
    if name is None:
        return "unknown", _MIXED, NO_CHANGE
    return "pass", f"It mixes kinds of GPU; the job asks for {name}, which has that much.", NO_CHANGE


def _gpus(place: Place) -> list[NodeShape]:
    return [each for shape in place.shapes if shape.gpus != 0 for each in variants(shape)]


def _without_memory(envelope: Envelope) -> Envelope:
    return envelope.model_copy(update={"gpu_memory_bytes": None})


def _name(shape: NodeShape) -> str:
    return f"{shape.gpu_model or 'unknown GPU'}{_memory(shape)}"


def _held(shape: NodeShape) -> str:
    return _memory(shape).strip() or "unknown"


def _memory(shape: NodeShape) -> str:
    return "" if shape.gpu_memory_bytes is None else f" {words.memory(shape.gpu_memory_bytes)}"
