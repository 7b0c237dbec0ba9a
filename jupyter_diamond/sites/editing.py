"""Editing the site catalogue: all that is not changed stays as the user wrote it, comments and blank lines included.

A change is made to the lines that it is about; where the file is written in another style (flow), ruamel.yaml's round
trip makes it. Either way the result is read back, must hold exactly what was meant, and must be a valid catalogue
before it takes the file's place: written beside it, 0600, and renamed, so that a reader sees the old or the new one.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from jupyter_diamond.errors import Conflict, InvalidRequest, NotFound
from jupyter_diamond.model.site import Site

from .catalogue import load_catalogue

_Entries = list[dict[str, Any]]


def add_site(path: Path, fields: Mapping[str, Any]) -> Site:
    """Add a site at the end. Raises Conflict when the name is taken, InvalidRequest when it is no valid site."""
    name, entry = str(fields.get("name", "")), _plain(fields)

    def change(sites: _Entries) -> None:
        if any(_is(each, name) for each in sites):
            raise Conflict(f"{path} has a site named {name} already; choose another name, or change that one.")
        sites.append(entry)

    def write(page: _Page) -> None:
        page.append_entry(entry)

    return _named(_edit(path, change, write), name)


def remove_site(path: Path, name: str) -> None:
    """Take a site out, with the comments between its fields. Raises NotFound."""

    def change(sites: _Entries) -> None:
        del sites[_place(path, sites, name)]

    def write(page: _Page) -> None:
        page.cut(*page.entry(page.place(name)))

    _edit(path, change, write)


def set_field(path: Path, name: str, field: str, value: Any) -> Site:
    """Set one field of a site; None takes it out. Raises NotFound; InvalidRequest leaves the file as it was."""
    plain = _plain(value)

    def change(sites: _Entries) -> None:
        entry = sites[_place(path, sites, name)]
        if plain is None:
            entry.pop(field, None)
        else:
            entry[field] = plain

    def write(page: _Page) -> None:
        page.set_field(page.place(name), field, plain)

    return _named(_edit(path, change, write), str(plain) if field == "name" and plain is not None else name)


class _Page:
    """The file's lines, and where ruamel.yaml saw the sites in them. Raises IndexError or ValueError on flow style."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines(keepends=True)
        if self.lines and not self.lines[-1].endswith("\n"):
            self.lines[-1] += "\n"
        content: Any = _yaml().load(text) or {}
        self.sites: Any = content.get("sites") or []
        sites: Any = self.sites
        if sites and sites.fa.flow_style():
            raise ValueError("flow style")

    def place(self, name: str) -> int:
        return next(at for at, entry in enumerate(self.sites) if _is(entry, name))

    def entry(self, at: int) -> tuple[int, int]:
        """Its lines, without the comments and blank lines below it."""
        start = self.sites.lc.item(at)[0]
        limit = self.sites.lc.item(at + 1)[0] if at + 1 < len(self.sites) else len(self.lines)
        return start, self._end(start, limit)

    def _field(self, at: int, field: str) -> tuple[int, int]:
        entry = self.sites[at]
        start = entry.lc.key(field)[0]
        below = [entry.lc.key(other)[0] for other in entry if entry.lc.key(other)[0] > start]
        return start, self._end(start, min(below, default=self.entry(at)[1]))

    def _end(self, start: int, limit: int) -> int:
        while limit > start + 1 and re.fullmatch(r"\s*(#.*)?", self.lines[limit - 1].rstrip("\n")):
            limit -= 1
        return limit

    def cut(self, start: int, end: int) -> None:
        del self.lines[start:end]

    def set_field(self, at: int, field: str, value: Any) -> None:
        entry = self.sites[at]
        if field not in entry:
            end = self.entry(at)[1]
            if value is not None:
                self.lines.insert(end, f"{' ' * self.sites.lc.item(at)[1]}{field}: {_flow(value)}\n")
            return
        start, end = self._field(at, field)
        if value is None:
            self.cut(start, end)
            return
        head = self.lines[start][: entry.lc.key(field)[1]]
        said = entry.ca.items.get(field, [None, None, None])[2]
        aside = said.value.split("\n")[0] if said is not None and end == start + 1 else ""
        self.lines[start:end] = [f"{head}{field}: {_flow(value)}{'   ' + aside if aside else ''}\n"]

    def append_entry(self, entry: dict[str, Any]) -> None:
        if not self.sites:
            raise ValueError("no site to write below")
        margin = " " * (self.sites.lc.item(len(self.sites) - 1)[1] - 2)
        new = [f"{margin}  {field}: {_flow(value)}\n" for field, value in entry.items()]
        new[0] = f"{margin}- {new[0].lstrip()}"
        end = self.entry(len(self.sites) - 1)[1]
        self.lines[end:end] = new


def _edit(path: Path, change: Callable[[_Entries], None], write: Callable[[_Page], None]) -> tuple[Site, ...]:
    """Change, check, replace. Returns the sites of the new file."""
    if path.exists():
        load_catalogue(path, this_machine=None)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    meant = _entries(text)
    change(meant)
    new = _by_lines(text, write)
    if new is None or _entries_or_none(new) != meant:
        new = _by_round_trip(text, change)
        lost = _comments(text) - _comments(new)
        if lost:
            first = next(iter(lost))
            raise InvalidRequest(f"{path}: the comment {first!r} would be lost; make this change by hand.")
    return _replace(path, new)


def _by_lines(text: str, write: Callable[[_Page], None]) -> str | None:
    try:
        page = _Page(text)
        write(page)
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):
        return None
    return "".join(page.lines)


def _by_round_trip(text: str, change: Callable[[_Entries], None]) -> str:
    yaml = _yaml()
    content = yaml.load(text)
    if content is None:
        content, text = {}, text.rstrip("\n") + "\n" if text.strip() else ""
    else:
        text = ""
    if content.get("sites") is None:
        content["sites"] = []
    change(content["sites"])
    out = io.StringIO()
    yaml.dump(content, out)
    return text + out.getvalue()


def _replace(path: Path, text: str) -> tuple[Site, ...]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = path.resolve()  # a catalogue that is a link stays one
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # 0600
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        sites = load_catalogue(temporary, this_machine=None)
        temporary.replace(target)
        return sites
    except InvalidRequest as error:
        said = error.message.replace(str(temporary), str(path))
        evidence = tuple(line.replace(str(temporary), str(path)) for line in error.evidence)
        raise InvalidRequest(f"{said} Nothing was changed.", evidence=evidence) from None
    finally:
        temporary.unlink(missing_ok=True)


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _flow(value: Any) -> str:
    """A value on one line, quoted where YAML needs it."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = True
    yaml.width = 1 << 20
    out = io.StringIO()
    yaml.dump({"v": value}, out)
    return out.getvalue().strip().removeprefix("{v: ").removesuffix("}")


def _entries(text: str) -> _Entries:
    content = YAML(typ="safe", pure=True).load(text) or {}
    return list(content.get("sites") or [])


def _entries_or_none(text: str) -> _Entries | None:
    try:
        return _entries(text)
    except Exception:  # noqa: BLE001 - whatever a YAML reader dislikes of our own text: the other way is taken
        return None


def _comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if line.lstrip().startswith("#"))


def _is(entry: Any, name: str) -> bool:
    return isinstance(entry, Mapping) and str(entry.get("name", "")).casefold() == name.casefold()


def _place(path: Path, sites: _Entries, name: str) -> int:
    for at, entry in enumerate(sites):
        if _is(entry, name):
            return at
    known = ", ".join(str(entry.get("name")) for entry in sites) or "none"
    raise NotFound(f"{path} has no site named {name!r}; its sites are: {known}.")


def _named(sites: tuple[Site, ...], name: str) -> Site:
    return next(site for site in sites if site.name.casefold() == name.casefold())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
