"""Known signs of errors in a program's log, by class. A log is foreign text: it is searched, never believed.

What is looked for are words that programs only write when something went wrong. Lines that count errors (``0 errors``),
measure one (``error: 0.03``) or show a command are false friends. Time is linear in the text: fixed words are found
first, and only the lines that have one are looked at, each cut to a length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jupyter_diamond.model.verdict import LogSign

MOST_LINES = 2000
"""So many lines that have such a word are looked at, the last ones: a log may be nothing but errors."""
_LONGEST, _SHOWN = 1000, 300
_TRACEBACK_LINES = 200


class _Sign(NamedTuple):
    """``words``: one of them, in lower case, is in every line that ``pattern`` finds."""

    kind: LogSign
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    also: tuple[str, ...] = ()
    """Where it is not empty: one of these is in such a line, too."""


def _sign(
    kind: LogSign, words: tuple[str, ...], pattern: str, flags: int = re.IGNORECASE, also: tuple[str, ...] = ()
) -> _Sign:
    return _Sign(kind, words, re.compile(pattern, flags), also)


TRACEBACK = "traceback (most recent call last)"
_SIGNS = (
    _sign(
        "gpu_memory",
        ("cuda out of memory", "cuda_error_out_of_memory", "outofmemoryerror", "cublas_status_alloc_failed",
         "hip out of memory", "hiperroroutofmemory", "resource_exhausted: "),
        r"(CUDA|HIP) out of memory|CUDA_ERROR_OUT_OF_MEMORY|\bOutOfMemoryError\b|CUBLAS_STATUS_ALLOC_FAILED"
        r"|hipErrorOutOfMemory|RESOURCE_EXHAUSTED: .{0,40}(OOM|out of memory)",
    ),
    _sign(
        "gpu",
        ("cuda error", "device-side assert", "no cuda-capable device", "fallen off the bus", "nccl error",
         "ncclsystemerror", "ncclremoteerror", "ncclinternalerror", "cudnn_status_", "nccl watchdog",
         "caught collective operation timeout"),
        r"CUDA error\b|device-side assert triggered|no CUDA-capable device|fallen off the bus|NCCL error"
        r"|nccl(System|Remote|Internal)Error|CUDNN_STATUS_(?!SUCCESS)[A-Z_]{3,40}|caught collective operation timeout",
    ),
    _sign(
        "memory",
        ("oom-kill", "oom_kill", "oom kill", "out of memory: killed", "memoryerror", "std::bad_alloc",
         "cannot allocate memory", "unable to allocate", "exceeded job memory limit", "exceeded step memory limit"),
        r"oom[-_ ]kill|Out of memory: Killed|\bMemoryError\b|std::bad_alloc|Cannot allocate memory"
        r"|Unable to allocate .{1,40}for an array|Exceeded (job|step) memory limit",
    ),
    _sign("traceback", (TRACEBACK,), r"Traceback \(most recent call last\)"),
    _sign(
        "mpi",
        ("mpi_abort", "mpirun noticed", "mpirun detected", "mpiexec noticed", "prterun noticed", "prterun detected",
         "lost communication with", "an error occurred in mpi_", "fatal error in ", "pmix error"),
        r"MPI_Abort(\(| was invoked)|called MPI_Abort|(mpirun|mpiexec|prterun) (noticed|detected) that"
        r"|has lost communication with|An error occurred in MPI_|Fatal error in P?MPI_|PMIX ERROR",
    ),
    _sign(
        "crash",
        ("segmentation fault", "sigsegv", "segfault at ", "caught signal 11", "bus error", "illegal instruction",
         "core dumped", "floating point exception", "sigabrt", "sigbus", "sigill", "*** stack smashing",
         "double free or corruption"),
        r"\bSegmentation fault\b|\bSIG(SEGV|ABRT|BUS|ILL)\b|segfault at [0-9a-f]+ |Caught signal 11\b|\bBus error\b"
        r"|\bIllegal instruction\b|\(core dumped\)|\bFloating point exception\b|stack smashing detected"
        r"|double free or corruption",
    ),
    _sign(
        "not_found",
        (": command not found", ": not found", "error while loading shared libraries", "cannot open shared object file",
         "exec format error", "lmod has detected the following error", "unable to locate a modulefile", "` not found",
         "' not found"),
        r": command not found\s*$|\bsh: (line )?\d+: \S{1,200}: not found\s*$|error while loading shared libraries"
        r"|cannot open shared object file|Exec format error|Lmod has detected the following error"
        r"|Unable to locate a modulefile|version [`']\S{1,80}' not found",
    ),
    _sign(
        "nan_loss", ("loss",),
        r"loss\w{0,20}[\"']?\s{0,8}([=:]|is\b|became\b|was\b)?\s{0,8}(now |tensor\()?\s{0,2}[-+]?(nan|inf)(inity)?\b",
        also=("nan", "inf"),
    ),
    _sign(
        "disk", ("no space left on device", "disk quota exceeded", "stale file handle", "input/output error"),
        r"No space left on device|Disk quota exceeded|Stale file handle|Input/output error",
    ),
    _sign(
        "scheduler",
        ("slurmstepd: error", "srun: error", "due to time limit", "due to preemption", "due to node failure"),
        r"\b(slurmstepd|srun): error:|DUE TO (TIME LIMIT|PREEMPTION|NODE FAILURE)",
    ),
    _sign("killed", ("killed",), r"^\s{0,8}Killed\s*$|: line \d+: +\d+ Killed\b", 0),
    _sign(
        "error", ("error", "fatal", "critical", "panic"),
        r"(^|[\s\[(|])(ERROR|FATAL|CRITICAL)([\s\])|:]|$)|^(\S{1,200}: )?(fatal )?error: \D"
        r"|^[A-Za-z_][\w.]{0,100}(Error|Exception): |^thread '.{1,100}' panicked at",
        0,
    ),
)  # fmt: skip
"""The first one that a line shows is its class."""

NEEDLES = tuple(sorted({word for sign in _SIGNS if not sign.also for word in sign.words}))
"""A line without any of these, whatever the case, shows no sign, unless it has two words of ``PAIRS``."""
PAIRS = tuple((word, sign.also) for sign in _SIGNS if sign.also for word in sign.words)

_FRIENDS = re.compile(
    r"\b(0|no|zero|without|any)\s+(\w{1,20}\s+){0,2}(errors?|failures?|fatals?|nans?|exceptions?|oom[-_ ]kills?)\b"
    r"|\b(errors?|failures?|fatal|critical|oom_kill)\s{0,4}[=:]?\s{0,4}(count\s{0,4}[=:]?\s{0,4})?[-+]?(0|\d*\.\d+|\d+e-?\d+)\b"
    r"|\berror[ _-](rates?|bars?|norm|handl\w{1,4}|estimates?|bounds?|correction|log|codes? 0|code: 0)\b|^\s*\++ "
    r"|\bignor(e|ed|ing)\b|\b(PASSED|XFAIL)\b|^\s{0,40}(#|//)|\bif\b.{0,40}\bloss\b",
    re.IGNORECASE,
)
"""What counts, measures, ignores or only quotes an error."""
_IGNORED = re.compile(r"Exception ignored (in|on|while)", re.IGNORECASE)


class Shown(NamedTuple):
    """A sign, with the line that shows it: foreign text, cut."""

    kind: LogSign
    line: str


def errors_in(text: str, *, most: int = 10) -> tuple[Shown, ...]:
    """The signs of errors in a log, oldest first; of each class the first one, then others up to ``most``."""
    raw = text.encode("utf-8", "backslashreplace").replace(b"\r", b"\n")
    found = [shown for span in _lines(raw) if (shown := _shown(raw, *span)) is not None]
    raised = {shown.line for shown in found if shown.kind == "traceback"}
    found = [shown for shown in found if shown.kind == "traceback" or shown.line not in raised]
    firsts = {shown.kind: place for place, shown in reversed(list(enumerate(found)))}
    kept = sorted(firsts.values())[:most]
    rest = [place for place in range(len(found)) if place not in firsts.values()]
    unique = dict.fromkeys(found[place] for place in sorted([*kept, *rest[: most - len(kept)]]))
    return tuple(unique)


def _lines(raw: bytes) -> list[tuple[int, int]]:
    """Where the lines begin and end that have one of the words; the last ones, in order."""
    low = raw.lower()  # bytes: its length stays, whatever letters it has
    found = {place for word in NEEDLES for place in _places(low, word.encode())}
    for word, also in PAIRS:
        found |= {place for place in _places(low, word.encode()) if _has(low, place, also)}
    places = sorted(found)
    spans: list[tuple[int, int]] = []
    for place in places:
        if spans and place < spans[-1][1]:
            continue
        end = raw.find(b"\n", place)
        spans.append((raw.rfind(b"\n", 0, place) + 1, len(raw) if end < 0 else end))
    return spans[-MOST_LINES:]


def _has(low: bytes, place: int, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the line of ``place``."""
    begin, end = low.rfind(b"\n", 0, place) + 1, low.find(b"\n", place)
    return any(low.find(word.encode(), begin, len(low) if end < 0 else end) >= 0 for word in words)


def _places(low: bytes, word: bytes) -> Iterator[int]:
    """One place a line at most."""
    place = low.find(word)
    while place >= 0:
        yield place
        end = low.find(b"\n", place)
        place = -1 if end < 0 else low.find(word, end)


def _shown(raw: bytes, begin: int, end: int) -> Shown | None:
    line = raw[begin : min(end, begin + _LONGEST)].decode("utf-8", "replace")
    sign = next((sign for sign in _SIGNS if sign.pattern.search(line)), None)
    if sign is None or _FRIENDS.search(line):
        return None
    if sign.kind != "traceback":
        return Shown(sign.kind, _clean(line))
    before = raw[max(0, begin - _LONGEST) : max(0, begin - 1)].rpartition(b"\n")[2]
    if _IGNORED.search(before.decode("utf-8", "replace")):
        return None
    return Shown("traceback", _clean(_last_of(raw, line, end)))


def _last_of(raw: bytes, head: str, end: int) -> str:
    """The exception's own line: the first one below the head that is not indented behind what is in front of it."""
    front = head[: head.lower().find(TRACEBACK)].encode()
    after = raw[end + 1 : end + 1 + 100 * _LONGEST].split(b"\n", _TRACEBACK_LINES)
    for line in after[:_TRACEBACK_LINES]:
        said = line.removeprefix(front)
        if said.strip() and not said[:1].isspace():
            return said[:_LONGEST].decode("utf-8", "replace")
    return head


def _clean(line: str) -> str:
    """Without what would move a cursor, and not longer than is read."""
    said = "".join(char if char.isprintable() or char == "\t" else " " for char in line).strip()
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"
