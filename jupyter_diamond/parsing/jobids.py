"""Job ids: what a submit command answered (B01, B02), and ids of arrays (B15)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.base import Value
from jupyter_diamond.model.jobs import NativeJob

from .numbers import whole

_PARSABLE = re.compile(r"([0-9]{1,12})(?:;([\w.-]+))?")
_SUBMITTED = re.compile(r"Submitted batch job ([0-9]{1,12})(?: on cluster ([\w.-]+))?")
_ID = re.compile(r"(?P<job>[0-9]{1,12})(?:\+(?P<component>[0-9]+)|_(?P<index>[0-9]+)|_\[(?P<tasks>[^\]]*)\])?")
_PBS = re.compile(r"(?P<job>[0-9]{1,12})(?:\[(?P<index>[0-9]*)\])?(?:\.(?P<host>[\w.-]+))?")
_TASKS = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?(?::([0-9]{1,6}))?")

MOST_TASKS = 4_000_001


def submitted(stdout: str) -> NativeJob | None:
    """The one job that the answer names; None when it names none or several.

    A line that is an id and nothing else comes first; the sentence ``Submitted batch job N`` is the fallback.
    """
    lines = [line.strip() for line in stdout.splitlines()]
    for pattern in (_PARSABLE, _SUBMITTED):
        found = [match for line in lines if (match := pattern.fullmatch(line))]
        if found:
            return NativeJob(id=found[0].group(1), cluster=found[0].group(2)) if len(found) == 1 else None
    return None


class ArrayId(Value):
    """An id as the queue shows it. ``indices`` is empty for a job that is no array.

    ``more`` is True when the list was cut (``1,3-5,9...``): ask again with arrays expanded. ``throttle`` is how many
    tasks may run at once.
    """

    job: str
    indices: tuple[int, ...] = ()
    throttle: int | None = None
    more: bool = False
    component: int | None = None
    whole_array: bool = False


def parse(text: str) -> ArrayId:
    """``1234``, ``1234_3``, ``1234_[4-10%2]``, ``1234_[1,3-5,9...]``, ``12+1``, and PBS ``1234[7].pbs01``."""
    word = text.strip()
    found = _ID.fullmatch(word)
    if found:
        if found["tasks"] is not None:
            return _array(found["job"], found["tasks"], text)
        if found["index"] is not None:
            return ArrayId(job=found["job"], indices=(int(found["index"]),))
        return ArrayId(job=found["job"], component=int(found["component"]) if found["component"] else None)
    pbs = _PBS.fullmatch(word)
    if not pbs:
        raise ParseError(f"{text!r} is not a job id.")
    index = pbs["index"]
    return ArrayId(job=pbs["job"], indices=(int(index),) if index else (), whole_array=index == "")


def parse_fields(text: str) -> ArrayId:
    """The ids in a line of ``scontrol show job``: ``JobId=1240 ArrayJobId=1234 ArrayTaskId=6``."""
    fields = dict(part.split("=", 1) for part in text.split() if "=" in part)
    if "ArrayJobId" in fields and "ArrayTaskId" in fields:
        tasks = fields["ArrayTaskId"]
        return parse(f"{fields['ArrayJobId']}_{tasks if whole(tasks) is not None else f'[{tasks}]'}")
    return parse(fields.get("JobId", ""))


def _array(job: str, tasks: str, text: str) -> ArrayId:
    listed, _, limit = tasks.partition("%")
    more = listed.endswith("...")
    indices: list[int] = []
    for part in listed.removesuffix("...").strip(",").split(","):
        found = _TASKS.fullmatch(part)
        if not found:
            if more and part in ("", "-"):
                continue
            raise ParseError(f"{text!r} is not a job id: {part!r} is no range of tasks.")
        low, high, step = int(found.group(1)), int(found.group(2) or found.group(1)), int(found.group(3) or 1)
        if low > high or step < 1 or (high - low) // step > MOST_TASKS:
            raise ParseError(f"{text!r} is not a job id: the range {part!r} cannot be read.")
        indices.extend(range(low, high + 1, step))
    if limit and whole(limit) is None:
        raise ParseError(f"{text!r} is not a job id: {limit!r} is no number of tasks at once.")
    return ArrayId(job=job, indices=tuple(indices), throttle=int(limit) if limit else None, more=more)


def ranges(numbers: Iterable[int]) -> str:
    """Numbers as Slurm writes those of an array: ``0-9,12,20-29``."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def array_ended(asked: int, ended: set[int]) -> bool:
    """An array is over only when as many of its tasks have ended as were asked for."""
    return len(ended) >= asked
