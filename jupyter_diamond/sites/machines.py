"""The known machines: package data, one YAML file each, every fact with its source.

A host name is recognised by the most specific pattern that fits it: ``gh-login01.delta.ncsa.illinois.edu`` is DeltaAI,
not Delta. Bare names (``delta``) are whatever an SSH configuration says, so they recognise nothing.
"""

from __future__ import annotations

import functools
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as package_files
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.machine import Machine
from jupyter_diamond.model.site import Site

NOT_KNOWN = "none"
"""What the catalogue says where a site is no known machine, whatever its host name looks like."""

_FOLDER = package_files("jupyter_diamond.sites") / "machines"


@functools.cache
def names() -> tuple[str, ...]:
    """Every known machine's name."""
    return tuple(sorted(each.name.removesuffix(".yaml") for each in _FOLDER.iterdir() if each.name.endswith(".yaml")))


@functools.cache
def documented(name: str) -> Machine:
    """A machine as its file describes it, unconfirmed facts included: for showing. Raises InvalidRequest."""
    if name not in names():
        raise InvalidRequest(f"There is no known machine {name!r}; the known ones are {', '.join(names())}.")
    return read_machine((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), file=f"machines/{name}.yaml")


@functools.cache
def machine(name: str) -> Machine:
    """A machine with what is confirmed of it: only this may decide anything. Raises InvalidRequest."""
    return documented(name).settled()


def recognise(host: str) -> Machine | None:
    """The machine whose login host this is; None for any other host."""
    host = host.strip().rstrip(".").casefold()
    fitting = [
        (_weight(pattern), name)
        for name in names()
        for pattern in (each.pattern for each in machine(name).hosts)
        if _fits(host, pattern)
    ]
    return machine(max(fitting)[1]) if fitting else None


def machine_of(site: Site, *, this_host: str | None = None) -> Machine | None:
    """The machine that a site is: the one that the user named, else the one of its host.

    ``this_host`` is where a site without a host of its own is reached; None asks the system. A profile of a machine
    with another scheduler is not used.
    """
    if site.machine == NOT_KNOWN or site.simulated or site.scheduler == "process":
        return None
    if site.machine is not None:
        return machine(site.machine)
    host = getattr(site, "host", None) or ""  # a transport's own field: local sites have none
    if not host and site.transport == "local":
        host = this_host if this_host is not None else socket.gethostname()
    host = host.rpartition("@")[2]
    found = recognise(host) if "." in host else None
    return found if found is not None and found.scheduler == site.scheduler else None


def _fits(host: str, pattern: str) -> bool:
    """The host itself, or one below it: ``login2.vista.tacc.utexas.edu`` is Vista."""
    body = re.escape(pattern).replace(r"\*", r"[^.]*")
    return re.fullmatch(rf"(?:[^.]+\.)*{body}", host) is not None


def _weight(pattern: str) -> tuple[int, int]:
    """More labels are more specific, then more letters that are spelt out."""
    return pattern.count("."), len(pattern.replace("*", ""))


def read_machine(text: str, *, file: str) -> Machine:
    """A machine's file. Raises InvalidRequest with file, line and what is wrong."""
    try:
        content = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = mark.line + 1 if mark is not None else 1
        raise InvalidRequest(
            f"{file}, line {where}: {error.problem or error.context or 'this is not YAML'}."
        ) from error
    if not isinstance(content, Mapping):
        raise InvalidRequest(f"{file}, line 1: a machine's file holds its fields by name.")
    try:
        found = Machine.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        said = str(first["msg"]).removeprefix("Value error, ")
        path = tuple(first["loc"])
        field = ".".join(str(part) for part in path) or "the file"
        raise InvalidRequest(f"{file}, line {_line(text, path)}: {field}: {said}.") from None
    used = set()
    for path, source in _named_sources(content):
        used.add(source)
        if source not in found.sources:
            raise InvalidRequest(f"{file}, line {_line(text, path)}: there is no source {source!r} in sources.")
    for source in found.sources:
        if source not in used:
            where = _line(text, ("sources", source))
            raise InvalidRequest(f"{file}, line {where}: nothing comes from the source {source!r}; remove it.")
    return found


def _named_sources(content: Any, path: tuple[int | str, ...] = ()) -> Iterator[tuple[tuple[int | str, ...], str]]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            if key == "source":
                for source in (value,) if isinstance(value, str) else value:
                    yield (*path, key), source
            elif (*path, key) != ("sources",):
                yield from _named_sources(value, (*path, key))
    elif isinstance(content, Sequence) and not isinstance(content, str):
        for at, value in enumerate(content):
            yield from _named_sources(value, (*path, at))


def _line(text: str, path: tuple[int | str, ...]) -> int:
    """The line, counted from one, of the deepest part of the path that the text has."""
    node: Any = YAML(typ="rt").load(text)
    line = 1
    for part in path:
        if not isinstance(node, Mapping | Sequence) or isinstance(node, str) or not _holds(node, part):
            break
        marks: Any = node
        mark = marks.lc.key(part) if isinstance(node, Mapping) else marks.lc.item(part)
        line, node = int(mark[0]) + 1, marks[part]
    return line


def _holds(node: Any, part: int | str) -> bool:
    return part in node if isinstance(node, Mapping) else isinstance(part, int) and part < len(node)
