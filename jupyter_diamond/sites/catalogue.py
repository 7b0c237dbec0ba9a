"""The site catalogue: a YAML file that the user writes, read with line numbers so that a mistake can be pointed at.

::

    sites:
      - name: delta
        scheduler: slurm
        env: {SLURM_CONF: /etc/slurm/delta.conf}
        workdir: ~/diamond
        account: abcd-delta-cpu
      - name: anvil
        transport: ssh
        host: anvil-login          # as in ~/.ssh/config
        scheduler: slurm
        python: /sw/python/3.12/bin/python3
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.environment import ModuleStart
from jupyter_diamond.model.site import Site

from . import machines

HERE = "here"
_QUEUE = "DIAMOND_PROCESS_QUEUE"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXAMPLES = {
    "name": "name: delta",
    "transport": "transport: ssh",
    "scheduler": "scheduler: slurm",
    "host": "host: delta-login",
    "ssh_options": "ssh_options: [Port=2222, ProxyJump=gate.example.org]",
    "ssh_config": "ssh_config: ~/.ssh/config",
    "env": 'env: {SLURM_CONF: "/etc/slurm/slurm.conf"}',
    "workdir": "workdir: ~/diamond",
    "python": "python: /opt/conda/bin/python3",
    "modules": "modules: {kind: login_shell, load: [python/3.11]}",
    "account": "account: abcd-delta-gpu",
    "partition": "partition: shared",
    "prefer": "prefer: 1",
    "poll_floor_s": "poll_floor_s: 2.0",
    "simulated": "simulated: false",
    "machine": "machine: delta",
    "options": "options: {licenses: scratch}",
}
_SITE_EXAMPLE = "sites: [{name: delta, scheduler: slurm}]"


def this_machine(workdir: str) -> Site:
    """The built-in site: this machine, without any scheduler to install."""
    folder = str(Path(workdir).expanduser().absolute())
    return Site(name=HERE, scheduler="process", workdir=folder, env={_QUEUE: f"{folder}/queue"})


def load_catalogue(path: Path, *, this_machine: Site | None) -> tuple[Site, ...]:
    """All sites: the built-in one, then those of the file. Without a file there is only the built-in one.

    Raises InvalidRequest with file, line, field, what is wrong and an example.
    """
    built_in = () if this_machine is None else (this_machine,)
    sites = list(built_in)
    lines: dict[str, int] = {}
    for entry, line in _entries(path):
        site = _site(path, entry, line)
        twin = next((known for known in sites if known.name.casefold() == site.name.casefold()), None)
        if twin is not None:
            raise InvalidRequest(_twin_sentence(path, line, site, lines.get(twin.name)))
        lines[site.name] = line
        sites.append(site)
    return tuple(sites)


def _twin_sentence(path: Path, line: int, site: Site, other: int | None) -> str:
    if other is not None:
        return (
            f"{path}, line {line}: a site named {site.name} stands in line {other} already; give this one another name."
        )
    return (
        f"{path}, line {line}: {site.name!r} is the name of the built-in site, this machine; choose another name, "
        f"or set c.DiamondSites.this_machine = False."
    )


def _entries(path: Path) -> list[tuple[Any, int]]:
    """The items of ``sites:`` with their line numbers."""
    content = _read(path)
    if content is None:
        return []
    if not isinstance(content, Mapping):
        raise InvalidRequest(f"{path}, line 1: the file must hold a list named sites, for example: {_SITE_EXAMPLE}")
    for key in content:
        if key != "sites":
            line = _line(content, key, 1)
            raise InvalidRequest(
                f"{path}, line {line}: {key!r} is not known here; only sites is, for example: {_SITE_EXAMPLE}"
            )
    listed = content.get("sites")
    if listed is None:
        return []
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence):
        line = _line(content, "sites", 1)
        raise InvalidRequest(f"{path}, line {line}: sites must be a list, for example: {_SITE_EXAMPLE}")
    return [(entry, _line(listed, at, 1)) for at, entry in enumerate(listed)]


def _read(path: Path) -> Any:
    yaml = YAML(typ="rt")
    try:
        return yaml.load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidRequest(
            f"{path} cannot be read: {error.strerror or error}. Make it readable or move it."
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        what = str(error.problem or error.context or "it is not YAML").splitlines()[0]
        raise InvalidRequest(f"{path}, line {line}: {what}; for example: {_SITE_EXAMPLE}") from error
    except YAMLError as error:
        raise InvalidRequest(
            f"{path} is not YAML: {str(error).splitlines()[0]}; for example: {_SITE_EXAMPLE}"
        ) from error


def _site(path: Path, entry: Any, line: int) -> Site:
    if not isinstance(entry, Mapping):
        raise InvalidRequest(f"{path}, line {line}: a site is a set of fields, for example: {_SITE_EXAMPLE}")
    _check_env(path, entry, line)
    try:
        site = Site.model_validate(_plain(entry))
    except ValidationError as error:
        problems = [_sentence(path, entry, line, dict(each)) for each in error.errors()]
        more = f" ({len(problems) - 1} more in this site)" if len(problems) > 1 else ""
        raise InvalidRequest(problems[0] + more, evidence=tuple(problems)) from None
    _check_machine(path, entry, line, site)
    if site.scheduler == "process" and _QUEUE not in site.env:
        queue = str(Path.home() / Path(site.workdir).expanduser() / "queue")
        site = site.model_copy(update={"env": {**site.env, _QUEUE: queue}})
    return site


def _check_env(path: Path, entry: Mapping[str, Any], line: int) -> None:
    env = entry.get("env")
    for name in env if isinstance(env, Mapping) else ():
        if not _VARIABLE.fullmatch(str(name)):
            where = _line(env, name, _line(entry, "env", line))
            raise InvalidRequest(
                f"{path}, line {where}: env names {name!r}, which is no name of a variable; "
                f"for example: {_EXAMPLES['env']}"
            )


def _check_machine(path: Path, entry: Mapping[str, Any], line: int, site: Site) -> None:
    name = site.machine
    if name in (None, machines.NOT_KNOWN):
        return
    where = f"{path}, line {_line(entry, 'machine', line)}"
    if name not in machines.names():
        close = difflib.get_close_matches(str(name), machines.names(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"the known ones are {', '.join(machines.names())}."
        raise InvalidRequest(f"{where}: {name!r} is no known machine; {hint} Write 'none' for any other.")
    known = machines.machine(name)
    if known.scheduler != site.scheduler:
        raise InvalidRequest(
            f"{where}: {known.title} runs {known.scheduler}, and this site says scheduler: {site.scheduler}; "
            "change one of the two."
        )


def _sentence(path: Path, entry: Mapping[str, Any], line: int, error: dict[str, Any]) -> str:
    """File, line, field, what is wrong, example."""
    where = tuple(error["loc"])
    field = ".".join(str(part) for part in where)
    at = _deep_line(entry, where, line)
    given = error.get("input")
    example = _EXAMPLES.get(str(where[0]), "") if where else ""
    if error["type"] == "missing":
        what = f"the site lacks {field}"
    elif error["type"] == "extra_forbidden":
        fields = Site.model_fields if len(where) == 1 else ModuleStart.model_fields
        close = difflib.get_close_matches(str(where[-1]), list(fields), n=1)
        what = f"{field!r} is no field of a site"
        what += f"; did you mean {close[0]!r}?" if close else f"; the fields are {', '.join(fields)}"
        example = _EXAMPLES.get(close[0], "") if close and len(where) == 1 else example
    elif error["type"] == "string_pattern_mismatch":
        what = f"{field} must start with a letter and hold only letters, digits, '_', '.' and '-', not {given!r}"
    else:
        said = str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
        what = f"{field} {said}" if given is None else f"{field} {said}, not {given!r}"
        what += (
            " (put it in quotes)" if error["type"] == "string_type" and isinstance(given, bool | int | float) else ""
        )
    return f"{path}, line {at}: {what}" + (f"; for example: {example}" if example else "")


def _deep_line(entry: Any, where: tuple[int | str, ...], line: int) -> int:
    """The line of the deepest part of the path that exists in the file."""
    for part in where:
        line = _line(entry, part, line)
        try:
            entry = entry[part]
        except (KeyError, IndexError, TypeError):
            break
    return line


def _line(container: Any, key: Any, otherwise: int) -> int:
    """The line, counted from one, of a key of a mapping or of an item of a list."""
    marks: Any = getattr(container, "lc", None)
    try:
        position = marks.key(key) if isinstance(container, Mapping) else marks.item(key)
        return int(position[0]) + 1
    except (AttributeError, KeyError, IndexError, TypeError):
        return otherwise


def _plain(content: Any) -> Any:
    """Without what ruamel.yaml keeps for writing the file back."""
    if isinstance(content, Mapping):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, str):
        return str(content)
    if isinstance(content, Sequence):
        return [_plain(value) for value in content]
    return content
