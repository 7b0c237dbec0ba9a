"""Which commands may be run to look around at a site: programs that only read, with no shell between.

Every word is quoted on its way to the site, so nothing in it is ever more than a word. Characters that mean something
to a shell are refused all the same: a command that would not do what it seems to say is no answer to anybody.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from jupyter_diamond.errors import InvalidRequest

EXEC_SECONDS = 20
EXEC_BYTES = 32 << 10
_LENGTH = 1000
_META = frozenset(";&|<>$`(){}\\!*?")


class _Program(NamedTuple):
    """What may follow a program. ``verbs``: the word after it must be one of these (flags of ``flags`` may precede it).

    ``only``: every word must match it. ``never``: no word may match it.
    """

    verbs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    only: str = ""
    never: str = ""


_FREE = _Program()
# No flag here takes a value, so the verb cannot be mistaken for one and another verb follow.
_SCONTROL_FLAGS = ("-o", "-d", "-a", "--oneliner", "--details", "--all")
_SACCTMGR_FLAGS = ("-n", "-p", "-P", "-s", "-np", "-nP", "--noheader", "--parsable", "--parsable2", "--readonly")
PROGRAMS: dict[str, _Program] = {
    # files and folders
    "ls": _FREE, "cat": _FREE, "head": _FREE, "tail": _FREE, "wc": _FREE, "stat": _FREE, "du": _FREE, "df": _FREE,
    "grep": _FREE, "readlink": _FREE, "md5sum": _FREE, "sha256sum": _FREE, "which": _FREE,
    "lfs": _Program(verbs=("quota", "df", "getstripe")), "quota": _FREE,
    # the machine and who one is there
    "date": _Program(only=r"\+.*|-u|-R|-I.*|--utc|--iso-8601.*|--rfc-.*"),
    "hostname": _Program(only=r"-[fsdiIA]|--(fqdn|short|domain|ip-address|all-ip-addresses)"),
    "uname": _FREE, "whoami": _FREE, "id": _FREE, "groups": _FREE, "pwd": _FREE, "uptime": _FREE, "free": _FREE,
    "nproc": _FREE, "lscpu": _FREE, "printenv": _FREE, "ps": _FREE,
    "nvidia-smi": _Program(only=r"-L|-q|--list-gpus|--query|--query-(gpu|compute-apps)=.*|--format=.*|topo|-m"),
    # Slurm
    "sinfo": _Program(never=r"-i.*|--iterate.*"), "squeue": _Program(never=r"-i.*|--iterate.*"),
    "sacct": _FREE, "sshare": _FREE, "sprio": _FREE, "sreport": _FREE, "sdiag": _Program(never=r"-[a-z]*r.*|--r.*"),
    "scontrol": _Program(verbs=("show", "ping", "version"), flags=_SCONTROL_FLAGS),
    "sacctmgr": _Program(verbs=("show", "list"), flags=_SACCTMGR_FLAGS),
}  # fmt: skip
NAMES = ", ".join(sorted(PROGRAMS))


def allowed(command: str) -> tuple[str, ...]:
    """The words of a look-around command. Raises InvalidRequest with what is allowed instead."""
    if len(command) > _LENGTH or any(ord(character) < 32 or ord(character) == 127 for character in command):
        raise InvalidRequest(
            f"The command must be one line of at most {_LENGTH} characters. {_INSTEAD}", evidence=(command[:200],)
        )
    meta = sorted(_META.intersection(command))
    if meta:
        raise InvalidRequest(
            f"{' '.join(meta)} would need a shell, and there is none between: write one program with its words. "
            f"{_INSTEAD}"
        )
    try:
        words = shlex.split(command)
    except ValueError:
        raise InvalidRequest(f"A quote is not closed in {command!r}.") from None
    if not words:
        raise InvalidRequest(f"There is no command. {_INSTEAD}")
    _check(words)
    return tuple(words)


_INSTEAD = f"exec only looks around: {NAMES}."


def _check(words: Sequence[str]) -> None:
    name, rest = words[0], words[1:]
    program = PROGRAMS.get(name)
    if program is None:
        raise InvalidRequest(f"{name!r} is not among the programs that only look. {_INSTEAD}")
    if program.verbs:
        while rest and rest[0] in program.flags:
            rest = rest[1:]
        if not rest or rest[0] not in program.verbs:
            raise InvalidRequest(f"{name} is allowed with {' or '.join(program.verbs)} only, as its first word.")
    for word in rest:
        if program.only and not re.fullmatch(program.only, word):
            raise InvalidRequest(f"{name} {word} could change something, or is not known to be harmless; leave it out.")
        if program.never and re.fullmatch(program.never, word):
            raise InvalidRequest(f"{name} {word} would not end, or changes something; leave it out.")


def script(words: Sequence[str]) -> str:
    """Shell text that runs the words as they are, for a bounded time, without input."""
    quoted = " ".join(_quoted(word) for word in words)
    return (
        "LC_ALL=C; export LC_ALL; cd 2>/dev/null; unset SQUEUE_FORMAT SQUEUE_FORMAT2 SACCT_FORMAT SINFO_FORMAT\n"
        f"if command -v timeout >/dev/null 2>&1; then exec timeout -k 2 {EXEC_SECONDS} {quoted} </dev/null\n"
        f"else exec {quoted} </dev/null; fi\n"
    )


def _quoted(word: str) -> str:
    """A leading ``~`` is the one thing that a shell still does: home."""
    if word == "~":
        return '"$HOME"'
    if word.startswith("~/"):
        return f'"$HOME"/{shlex.quote(word[2:])}' if word[2:] else '"$HOME"/'
    return shlex.quote(word)
