"""From the words of options to an envelope, and back: the one grammar of what a job needs.

The options are those of ``%%diamond_submit``, ``%diamond idle`` and ``jupyter diamond idle``; what an ``#SBATCH``
script asks for is turned into the same words. A mistake names the option, what is wrong with it and what to write; of
two options that cannot both hold, both are named.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from pydantic import ValidationError

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.data import StageIn
from jupyter_diamond.model.envelope import Envelope, Objective, Runtime, Softenable, Span
from jupyter_diamond.model.environment import Environment

from .contradictions import contradiction
from .durations import to_friendly
from .environments import named
from .memory import parse_friendly, to_exact
from .runtimes import parse_deadline, parse_runtime, runtime_words
from .spans import parse_span
from .stagings import STAGE_IN, STAGE_OUT, stage_in_of, stage_in_text, stage_out_of, stage_out_text, stagings

OBJECTIVES: tuple[str, ...] = get_args(Objective)
SOFTENABLE: tuple[str, ...] = tuple(name.replace("_", "-") for name in get_args(Softenable))
DEFAULT_TIME = "30m"
FLAGS = frozenset({"preemptible", "unknown-charge"})
REPEATED = frozenset({"stage-in", "stage-out"})
"""May be said several times: a sequence of texts then, or one text in a shell's words."""
NEEDS: tuple[str, ...] = (
    "nodes", "cpus", "gpus", "memory", "time", "gpu-model", "gpu-memory", "arch", "site", "sites", "account", "qos",
    "fabric", "container", "objective", "seed", "runtime", "serial", "deadline", "max-charge", "preemptible",
    "unknown-charge", "soft", "stage-in", "stage-out", "env",
)  # fmt: skip
"""Every option that an envelope is read from, in the order in which they are written."""

EXAMPLES = {
    "--cpus": "--cpus 4 or --cpus 2-4",
    "--memory": "--memory 2G or --memory 2G-8G",
    "--gpus": "--gpus 1",
    "--gpu-model": "--gpu-model 'a100|h100'",
    "--gpu-memory": "--gpu-memory 40G",
    "--arch": "--arch x86_64",
    "--time": "--time 10m or --time 1h-4h",
    "--nodes": "--nodes 1",
    "--site": "--site delta or --site delta:gpuA100x4",
    "--sites": "--sites delta,anvil",
    "--fabric": "--fabric slingshot",
    "--container": "--container apptainer",
    "--objective": "--objective earliest_start",
    "--runtime": "--runtime 2h, --runtime 2h@1 or --runtime 1:4h,4:80m",
    "--serial": "--serial 0.05",
    "--deadline": "--deadline 18:00 or --deadline +6h",
    "--max-charge": "--max-charge 100",
    "--soft": "--soft gpu-memory,deadline",
    "--seed": "--seed 7",
    "--stage-in": STAGE_IN,
    "--stage-out": STAGE_OUT,
    "--env": "--env torch or --env requirements.txt",
}
"""What to write, for each option that takes a value."""

Said = Mapping[str, Any]
"""Options by their name without dashes in front, ``_`` for ``-`` within; None or missing: not said."""


def read_envelope(said: Said, *, now: datetime) -> Envelope:
    """The envelope that the options describe. Raises InvalidRequest with one sentence."""
    site, partition = _place(said.get("site"))
    fields = {
        "nodes": parse_span(said.get("nodes") or "1", "count", what="--nodes"),
        "cpus": parse_span(said.get("cpus") or "1", "count", what="--cpus"),
        "gpus": parse_span(said.get("gpus") or "0", "count", what="--gpus"),
        "memory_bytes": _maybe_span(said.get("memory")),
        "walltime_s": parse_span(said.get("time") or DEFAULT_TIME, "duration", what="--time"),
        "arch": said.get("arch"),
        "gpu_model": said.get("gpu_model"),
        "gpu_memory_bytes": _gpu_memory(said.get("gpu_memory")),
        "site": site,
        "partition": partition,
        "account": _name(said.get("account"), "--account"),
        "qos": _name(said.get("qos"), "--qos"),
        "objective": _one_of(said.get("objective"), OBJECTIVES, "--objective") or "earliest_completion",
        "seed": _seed(said.get("seed")),
        "runtime": _runtime(said.get("runtime"), said.get("serial")),
        "sites": _sites(said.get("sites")),
        "fabric": said.get("fabric"),
        "container": _container(said.get("container")),
        "preemptible": bool(said.get("preemptible")),
        "unknown_charge": bool(said.get("unknown_charge")),
        "deadline": parse_deadline(said["deadline"], now) if said.get("deadline") is not None else None,
        "max_charge": _charge(said.get("max_charge")),
        "soft": _soft(said.get("soft")),
        "stage_in": _stage_ins(said.get("stage_in")),
        "stage_out": tuple(dict.fromkeys(map(stage_out_of, stagings(said.get("stage_out"))))),
        "env": _env(said.get("env")),
    }
    envelope = _checked(fields)
    clash = contradiction(envelope, said, now)
    if clash:
        raise InvalidRequest(clash)
    return envelope


def _place(text: str | None) -> tuple[str | None, str | None]:
    site, colon, partition = (text or "").partition(":")
    if text is not None and (not site or (colon and not partition)):
        raise InvalidRequest(f"--site {text!r} is not SITE or SITE:PARTITION, e.g. --site delta:gpuA100x4.")
    return site or None, partition or None


def _env(given: str | Environment | None) -> Environment | None:
    """By name, or as it was read from a file before."""
    return named(given) if isinstance(given, str) else given


def _maybe_span(text: str | None) -> Span | None:
    return None if text is None else parse_span(text, "memory", what="--memory")


def _gpu_memory(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_friendly(text)
    except InvalidRequest as problem:
        raise InvalidRequest(f"--gpu-memory: {problem.message}") from None


def _name(text: str | None, option: str) -> str | None:
    if text is not None and not re.fullmatch(r"[^\s,;|<>&$`'\"\\]+", text):
        raise InvalidRequest(f"{option} {text!r} is no name that a scheduler knows; write it as the site does.")
    return text


def _one_of(text: str | None, known: tuple[str, ...], option: str) -> str | None:
    if text is None:
        return None
    joint = "_" if option == "--objective" else "-"
    word = re.sub(r"[-_ ]", joint, text.strip().casefold())
    if word in known:
        return word
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}."
    raise InvalidRequest(f"{option} cannot be {text!r}; {hint}")


def _seed(text: str | None) -> int | None:
    if text is not None and not re.fullmatch(r"[0-9]{1,18}", text.strip()):
        raise InvalidRequest(f"--seed: {text!r} is not a whole number, 0 or more. Write for example --seed 7.")
    return None if text is None else int(text)


def _runtime(text: str | None, serial: str | None) -> Runtime | None:
    if text is None and serial is not None:
        raise InvalidRequest(
            f"--serial {serial} needs a --runtime that it belongs to: write --runtime 2h@1 --serial {serial}."
        )
    return None if text is None else parse_runtime(text, serial)


def _listed(text: str | None, option: str) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise InvalidRequest(f"{option} names nothing; write {EXAMPLES[option]}.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InvalidRequest(f"{option} names {twice[0]} twice.")
    return names


def _sites(text: str | None) -> tuple[str, ...]:
    names = _listed(text, "--sites")
    wrong = next((name for name in names if ":" in name or " " in name), None)
    if wrong is not None:
        raise InvalidRequest(f"--sites {wrong!r} is no site's name; a partition is named by --site SITE:PARTITION.")
    return names


def _container(text: str | None) -> str | None:
    if text is not None and re.search(r"://|/|:|\.sif$", text):
        raise InvalidRequest(
            f"--container {text!r} looks like an image; name the runtime that must be there, e.g. "
            "--container apptainer, and the image in the cell."
        )
    return text


def _charge(text: str | None) -> float | None:
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text.strip()) or float(text) <= 0:
        raise InvalidRequest(
            f"--max-charge: {text!r} is no amount above 0. Write it in the site's own unit: --max-charge 100."
        )
    return float(text)


def _soft(text: str | None) -> tuple[str, ...]:
    names = _listed(text, "--soft")
    known = (str(_one_of(name.removeprefix("--"), SOFTENABLE, "--soft")) for name in names)
    return tuple(name.replace("-", "_") for name in known)


def _stage_ins(said: str | Sequence[str] | None) -> tuple[StageIn, ...]:
    found = tuple(dict.fromkeys(map(stage_in_of, stagings(said))))
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidRequest(f"--stage-in names {twice} twice, from two places; give one of them another name.")
    return found


_OPTION = {
    "gpu_memory_bytes": "--gpu-memory", "gpu_model": "--gpu-model", "memory_bytes": "--memory", "walltime_s": "--time",
    "nodes": "--nodes", "cpus": "--cpus", "gpus": "--gpus", "sites": "--sites", "fabric": "--fabric",
    "container": "--container", "runtime": "--runtime",
}  # fmt: skip
_NAMES = {"gpu_model": "a kind of GPU", "fabric": "a fabric", "container": "a container runtime"}


def _checked(fields: Mapping[str, object]) -> Envelope:
    try:
        return Envelope.model_validate(fields)
    except ValidationError as fault:
        first = fault.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        if field in _NAMES:
            example = EXAMPLES[_OPTION[field]]
            raise InvalidRequest(f"{first['input']!r} names no {_NAMES[field][2:]}; write {example}.") from None
        text = str(first["msg"]).removeprefix("Value error, ")
        for name, option in _OPTION.items():
            text = re.sub(rf"(?<![\w-]){name}(?= (of|must|needs|names)\b)", option, text)
        raise InvalidRequest(f"{text[:1].upper()}{text[1:]}.") from None


def _between(span: Span, word: Any = str) -> str:
    low, high = word(span.min), word(span.max)
    return low if span.min == span.max else f"{low}-{high}"


def envelope_words(envelope: Envelope) -> list[str]:
    """The options that ``read_envelope`` reads as this envelope, defaults left out: ``["--cpus", "2-4", …]``.

    Memory is written to the KiB and times to the second, rounded up. An environment that was read from a file has no
    word of its own.
    """
    plain = Envelope()
    said: list[tuple[str, str | None]] = []
    for field, option in (("nodes", "--nodes"), ("cpus", "--cpus"), ("gpus", "--gpus")):
        span = getattr(envelope, field)
        said.append((option, None if span == getattr(plain, field) else _between(span)))
    memory, limit = envelope.memory_bytes, envelope.walltime_s
    said.append(("--memory", None if memory is None else _between(memory, to_exact)))
    said.append(("--time", None if limit == plain.walltime_s else _between(limit, to_friendly)))
    said.append(("--gpu-model", envelope.gpu_model))
    said.append(("--gpu-memory", None if envelope.gpu_memory_bytes is None else to_exact(envelope.gpu_memory_bytes)))
    said.append(("--arch", envelope.arch))
    partition = f":{envelope.partition}" if envelope.partition else ""
    said.append(("--site", None if envelope.site is None else f"{envelope.site}{partition}"))
    said += _wishes(envelope)
    found = [word for option, value in said if value is not None for word in (option, value)]
    flags = (("--unknown-charge", envelope.unknown_charge), ("--preemptible", envelope.preemptible))
    return [*found, *(flag for flag, said_ in flags if said_)]


def said_words(words: Sequence[str]) -> dict[str, str | bool]:
    """Options by their names without dashes in front, each with its value; a flag is True, one repeated a line."""
    found: dict[str, list[str]] = {}
    for at, word in enumerate(words):
        if word.startswith("--") and not (at and words[at - 1][2:] in REPEATED):
            value = words[at + 1 : at + 2]
            found.setdefault(word[2:], []).extend([] if value and value[0].startswith("--") else value)
    return {
        name: shlex.join(values) if name in REPEATED else values[-1] if values else True
        for name, values in found.items()
    }


def _wishes(envelope: Envelope) -> list[tuple[str, str | None]]:
    runtime, serial = runtime_words(envelope.runtime) if envelope.runtime is not None else (None, None)
    return [
        ("--sites", ",".join(envelope.sites) or None), ("--account", envelope.account), ("--qos", envelope.qos),
        ("--fabric", envelope.fabric), ("--container", envelope.container),
        ("--objective", None if envelope.objective == Envelope().objective else envelope.objective),
        ("--seed", None if envelope.seed is None else str(envelope.seed)), ("--runtime", runtime), ("--serial", serial),
        ("--deadline", None if envelope.deadline is None else f"{envelope.deadline:%Y-%m-%dT%H:%M:%SZ}"),
        ("--max-charge", None if envelope.max_charge is None else f"{envelope.max_charge:.9f}".rstrip("0").rstrip(".")),
        ("--soft", ",".join(name.replace("_", "-") for name in envelope.soft) or None),
        *(("--stage-in", stage_in_text(each)) for each in envelope.stage_in),
        *(("--stage-out", stage_out_text(each)) for each in envelope.stage_out),
        ("--env", None if envelope.env is None or envelope.env.requirements is not None else envelope.env.name),
    ]  # fmt: skip
