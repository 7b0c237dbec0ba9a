"""The tools of agents from a terminal, and the file that teaches an agent to use them."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.tool import ToolSpec
from jupyter_diamond.notebook.client import DiamondClient

from .grammar import DONE, FAILED
from .output import as_json, complain, say, table

KINDS = {"read": "looks", "act": "acts", "spends": "can cost"}


def tools(client: DiamondClient, said: Namespace) -> int:
    """What there is, or what one takes."""
    found = client.tools()
    if said.name is None:
        if said.json:
            as_json(found)
        else:
            table(
                ("tool", "group", "", "what it is for"),
                [(spec.name, spec.group, KINDS[spec.kind], spec.title) for spec in found.tools],
            )
        return DONE
    spec = next((each for each in found.tools if each.name == said.name), None)
    if spec is None:
        raise InvalidRequest(f"There is no tool {said.name!r}; jupyter diamond tools lists them.")
    if said.json:
        as_json(spec)
    else:
        _print_tool(spec)
    return DONE


def _print_tool(spec: ToolSpec) -> None:
    say(f"{spec.name} ({spec.group}, {KINDS[spec.kind]})\n")
    say(spec.description)
    needed = spec.parameters.get("required", [])
    rows = [
        (f"{name}{' *' if name in needed else ''}", str(schema.get("type", "any")), str(schema.get("description", "")))
        for name, schema in spec.parameters["properties"].items()
    ]
    if rows:
        say("")
        table(("parameter (* needed)", "type", ""), rows)


def tool(client: DiamondClient, said: Namespace) -> int:
    """Call one as an agent of the user, and print its answer as JSON."""
    answer = client.call_tool(said.name, dict(_argument(text) for text in said.arguments), agent=said.as_agent)
    if said.json:
        as_json(answer)
    else:
        sys.stdout.write(json.dumps(answer.content, indent=2, ensure_ascii=False) + "\n")
    return FAILED if answer.error else DONE


def _argument(text: str) -> tuple[str, Any]:
    """``gpus=1-4``; ``options={"qos": "debug"}``; ``source=@fit.py`` reads a file, ``source=@-`` stdin."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidRequest(f"{text[:60]!r} is no argument; write NAME=VALUE: gpus=1, source=@fit.py.")
    if value.startswith("@"):
        return name, _content(value[1:])
    if value[:1] in ("{", "[") or value in ("true", "false", "null"):
        try:
            return name, json.loads(value)
        except ValueError as fault:
            raise InvalidRequest(f"{name}: {value[:60]!r} is no JSON ({fault}).") from None
    return name, value


def _content(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise InvalidRequest(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}.") from problem


def skill(said: Namespace) -> int:
    """SKILL.md, printed or written into a folder of skills."""
    from jupyter_diamond.agent.tools.skill import reference
    from jupyter_diamond.agent.tools.skill import skill as text

    if said.write is None:
        as_json({"skill": text(), "reference": reference()}) if said.json else say(text())
        return DONE
    folder = Path(said.write).expanduser() / "jupyter-diamond"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(text(), encoding="utf-8")
        (folder / "reference.md").write_text(reference(), encoding="utf-8")
    except OSError as problem:
        complain(f"{folder} cannot be written: {problem.strerror or problem}.")
        return FAILED
    if said.json:
        as_json({"folder": str(folder), "files": ["SKILL.md", "reference.md"]})
    else:
        say(f"{folder}: SKILL.md and reference.md are written.")
    return DONE
