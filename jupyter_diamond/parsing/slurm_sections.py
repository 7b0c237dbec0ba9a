r"""How our Slurm scripts part their answer, so that one round trip can ask many things.

Standard output is a row of sections, ``@@<name> <rc> <bytes>``, a newline, that many bytes, a newline. Lengths are
counted so that nothing a job's name or a node's reason holds can pass for a header. Standard error carries
``@@<name>`` before each command. The last section is ``end``: without it the answer was cut.
"""

from __future__ import annotations

import re

from jupyter_diamond.errors import SchedulerError
from jupyter_diamond.model.base import Value

FIELD = "\x1f"
"""US: no free text of Slurm holds it, while ``|``, commas and spaces are common there (B14)."""

_HEADER = re.compile(rb"@@([A-Za-z]+)(?::([\w.-]+))? ([0-9]+) ([0-9]+)\n")
_TIMED_OUT = 124


class Section(Value):
    """One command's answer. ``cluster`` is set when the command was meant for another cluster than the site's own."""

    name: str
    cluster: str | None = None
    rc: int
    text: str
    err: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines that hold something."""
        return [line for line in self.text.split("\n") if line.strip()]

    @property
    def problem(self) -> str:
        """Why the command failed, in its own words."""
        if self.rc == _TIMED_OUT:
            return "it did not answer in time"
        said = [line.strip() for line in (self.err + "\n" + self.text).split("\n") if line.strip()]
        return said[-1] if said else f"it ended with status {self.rc} and said nothing"


def split(stdout: bytes, stderr: bytes = b"") -> tuple[Section, ...]:
    """All sections in order. Raises SchedulerError (transient) when the answer is not whole."""
    errors = _errors(stderr.decode("utf-8", "backslashreplace"))
    sections: list[Section] = []
    place = 0
    while place < len(stdout):
        header = _HEADER.match(stdout, place)
        if not header:
            raise _not_whole(stdout[place:], stderr)
        name, cluster, rc, size = (group.decode() if group else None for group in header.groups())
        start = header.end()
        stop = start + int(size or 0)
        if name == "end":
            return tuple(sections)
        if stdout[stop : stop + 1] != b"\n":
            raise _not_whole(stdout[place:], stderr)
        label = f"{name}:{cluster}" if cluster else str(name)
        text = stdout[start:stop].decode("utf-8", "backslashreplace")
        sections.append(Section(name=str(name), cluster=cluster, rc=int(rc or 0), text=text, err=errors.get(label, "")))
        place = stop + 1
    raise _not_whole(b"", stderr)


def _errors(stderr: str) -> dict[str, str]:
    by_name: dict[str, str] = {}
    name = ""
    for line in stderr.split("\n"):
        if line.startswith("@@"):
            name = line[2:].strip()
        elif line.strip():
            by_name[name] = f"{by_name.get(name, '')}{line}\n"
    return by_name


def _not_whole(rest: bytes, stderr: bytes) -> SchedulerError:
    evidence = [part.decode("utf-8", "backslashreplace")[:500] for part in (rest, stderr) if part.strip()]
    return SchedulerError(
        "The answer of the site's Slurm commands was cut or garbled; it will be asked again. "
        "This says nothing about your jobs.",
        transient=True,
        evidence=tuple(evidence),
    )


def failed(section: Section, command: str) -> SchedulerError:
    """The error for a command that failed: it judges no job (B08)."""
    return SchedulerError(
        f"Slurm's {command} does not answer ({section.problem[:300]}). Your jobs are not affected; "
        "it will be asked again.",
        transient=True,
        evidence=tuple(line for line in (section.err + section.text).split("\n") if line.strip())[:20],
    )
