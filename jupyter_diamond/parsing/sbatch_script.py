"""``#SBATCH`` lines as sbatch itself reads them: its words, its quotes, its getopt (checked against sbatch 22.05).

A line counts when it begins with ``#SBATCH``, before the first line that is neither blank nor a comment. In it words
are split at blanks; quotes hold them together, a backslash keeps a quote or a ``#`` after it, and an unquoted ``#``
begins a comment even within a word. Words of all lines are one command line: a value may stand on the next line. A long
option may be shortened as far as it stays the only one; the last of two equal ones counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jupyter_diamond.errors import InvalidRequest

_VALUE = (
    "account", "acctg-freq", "array", "batch", "bb", "bbf", "begin", "chdir", "cluster", "cluster-constraint",
    "clusters", "comment", "constraint", "container", "container-id", "context", "core-spec", "cores-per-socket",
    "cpu-freq", "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "error",
    "exclude", "export", "export-file", "extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus",
    "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "input", "job-name",
    "kill-on-invalid-dep", "licenses", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu",
    "mem-per-gpu", "mincpus", "network", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core",
    "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "open-mode", "oom-kill-step",
    "output", "partition", "power", "prefer", "priority", "profile", "qos", "reservation", "segment", "signal",
    "sockets-per-node", "switches", "tasks-per-node", "thread-spec", "threads-per-core", "time", "time-min", "tmp",
    "tres-bind", "tres-per-task", "uid", "wait-all-nodes", "wckey", "workdir", "wrap",
)  # fmt: skip
_FLAG = (
    "contiguous", "help", "hold", "ignore-pbs", "no-requeue", "overcommit", "oversubscribe", "parsable", "quiet",
    "reboot", "requeue", "spread-job", "stepmgr", "share", "test-only", "usage", "use-min-nodes", "verbose",
    "version", "wait",
)  # fmt: skip
_MAYBE = (
    "exclusive", "get-user-env", "nice", "no-kill", "propagate",
)  # fmt: skip
TAKES = {**dict.fromkeys(_VALUE, "value"), **dict.fromkeys(_FLAG, "nothing"), **dict.fromkeys(_MAYBE, "maybe")}
"""Every long option, and whether a value follows it: ``value``, ``nothing``, or ``maybe`` (only after ``=``)."""
SHORT = {
    "a": "array", "A": "account", "b": "begin", "B": "extra-node-info", "c": "cpus-per-task", "C": "constraint",
    "d": "dependency", "D": "chdir", "e": "error", "F": "nodefile", "G": "gpus", "h": "help", "H": "hold", "i": "input",
    "J": "job-name", "k": "no-kill", "L": "licenses", "m": "distribution", "M": "clusters", "n": "ntasks",
    "N": "nodes",
    "o": "output", "O": "overcommit", "p": "partition", "q": "qos", "Q": "quiet", "s": "oversubscribe",
    "S": "core-spec", "t": "time", "v": "verbose", "V": "version", "w": "nodelist", "W": "wait", "x": "exclude",
}  # fmt: skip
_SAME = {"tasks-per-node": "ntasks-per-node", "cluster": "clusters", "workdir": "chdir", "share": "oversubscribe"}
"""Older names of an option."""
_COMPONENT = ("hetjob", "packjob")


class Directive(NamedTuple):
    """One option as it was given. ``problem``: why sbatch would refuse it; then it has no name of ours."""

    line: int
    written: str
    name: str
    value: str | None
    component: int = 0
    problem: str = ""


class BatchScript(NamedTuple):
    """A script apart: options, and what runs. ``ignored`` are option lines that are not read, with the reason."""

    interpreter: str
    directives: tuple[Directive, ...]
    ignored: tuple[tuple[int, str, str], ...]
    body: str


class _Word(NamedTuple):
    line: int
    text: str
    component: int


def read_script(text: str) -> BatchScript:
    """A batch script apart. Raises InvalidRequest for what is no script at all."""
    lines = text.replace("\r\n", "\n").split("\n")
    if not text.strip():
        raise InvalidRequest("The script is empty: it needs #!/bin/bash, #SBATCH lines and commands.")
    if "\0" in text:
        raise InvalidRequest("This is no text file; name the script that sbatch is given.")
    head = next((at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), len(lines))
    words: list[_Word] = []
    ignored: list[tuple[int, str, str]] = []
    component = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("#SBATCH") and number <= head:
            found = tuple(_words(line[len("#SBATCH") :], number))
            if len(found) == 1 and found[0] in _COMPONENT:
                component += 1
            else:
                words += [_Word(number, word, component) for word in found]
        elif line.startswith("#SBATCH"):
            ignored.append(
                (number, line, f"sbatch reads no option after the first command, which is in line {head + 1}")
            )
        elif re.match(r"#(PBS|BSUB)\b", line) and number <= head:
            ignored.append((number, line, "only #SBATCH lines are imported; write it as one"))
    first = lines[0]
    body = [
        line
        for at, line in enumerate(lines)
        if not (at < head and line.startswith("#SBATCH")) and not (at == 0 and first.startswith("#!"))
    ]
    interpreter = first[2:].strip() if first.startswith("#!") else ""
    return BatchScript(interpreter, tuple(_options(words)), tuple(ignored), "\n".join(body).strip("\n") + "\n")


_PIECE = re.compile(
    r"""\\(?P<kept>\S) | \\(?=\s|$) | "(?P<double>(?:\\.|[^"\\])*)" | '(?P<single>(?:\\.|[^'\\])*)' """
    r"""| (?P<plain>[^\s"'\#\\]+)""",
    re.VERBOSE | re.DOTALL,
)
"""A piece of a word: what a backslash keeps, what is in quotes, what is plain."""


def _words(rest: str, number: int) -> Iterator[str]:
    """The words of one line."""
    word: str | None = None
    at = 0
    while at < len(rest) and rest[at] != "#":
        piece = _PIECE.match(rest, at)
        if piece is not None:
            quoted = piece["double"] if piece["double"] is not None else piece["single"]
            kept = piece["kept"] or piece["plain"] or ""
            word = (word or "") + (kept if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL))
            at = piece.end()
        elif rest[at].isspace():
            if word is not None:
                yield word
            word, at = None, at + 1
        else:
            raise InvalidRequest(
                f"Line {number}: the quote {rest[at]} is not closed in #SBATCH{rest}; sbatch refuses it, too."
            )
    if word is not None:
        yield word


def _options(words: list[_Word]) -> Iterator[Directive]:
    """getopt: options with their values."""
    at = 0
    while at < len(words):
        word = words[at]
        after = words[at + 1] if at + 1 < len(words) and words[at + 1].component == word.component else None
        if word.text.startswith("--") and len(word.text) > 2:
            found, used = _long(word, after)
            yield found
        elif word.text.startswith("-") and len(word.text) > 1 and word.text != "--":
            cluster, used = _short(word, after)
            yield from cluster
        else:
            yield _refused(word, f"sbatch refuses the word {word.text!r}, which belongs to no option")
            used = 1
        at += used


def _refused(word: _Word, why: str) -> Directive:
    return Directive(word.line, word.text, "", None, word.component, why)


def _long(word: _Word, after: _Word | None) -> tuple[Directive, int]:
    said, equals, value = word.text[2:].partition("=")
    fitting = [said] if said in TAKES else [name for name in TAKES if name.startswith(said)]
    if not fitting:
        return _refused(word, f"sbatch has no option --{said}"), 1
    if len({_SAME.get(name, name) for name in fitting}) > 1:
        names = ", ".join(f"--{name}" for name in sorted(fitting)[:4])
        return _refused(word, f"--{said} may be {names}: write it in full"), 1
    name = _SAME.get(fitting[0], fitting[0])
    if TAKES[name] == "nothing" and equals:
        return _refused(word, f"--{name} takes no value"), 1
    if TAKES[name] != "value" or equals:
        return Directive(word.line, word.text, name, value if equals else None, word.component), 1
    if after is None:
        return _refused(word, f"--{name} needs a value"), 1
    return Directive(word.line, f"{word.text} {after.text}", name, after.text, word.component), 2


def _short(word: _Word, after: _Word | None) -> tuple[list[Directive], int]:
    found: list[Directive] = []
    letters = word.text[1:]
    for at, letter in enumerate(letters):
        name = SHORT.get(letter)
        if name is None:
            return [*found, _refused(word, f"sbatch has no option -{letter}")], 1
        if TAKES[name] == "nothing" or (TAKES[name] == "maybe" and at + 1 == len(letters)):
            found.append(Directive(word.line, f"-{letter}", name, None, word.component))
            continue
        glued = letters[at + 1 :]
        if glued:
            return [*found, Directive(word.line, f"-{letter}{glued}", name, glued, word.component)], 1
        if after is None:
            return [*found, _refused(word, f"-{letter} needs a value")], 1
        return [*found, Directive(word.line, f"-{letter} {after.text}", name, after.text, word.component)], 2
    return found, 1
