"""Writes ``labextension/src/api-types.ts`` from the pydantic models of the REST API: both sides share one shape.

``python -m labextension.scripts.api_types`` from the repository's root writes it; with ``--check`` it only says whether
the file is current.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from jupyter_diamond.model.charge import Charges
from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.draft import Draft
from jupyter_diamond.model.group import Group, MemberSummary
from jupyter_diamond.model.history import SiteHistory
from jupyter_diamond.model.launch import LineRead
from jupyter_diamond.model.login import Login, LoginStart
from jupyter_diamond.model.looks import Idle, Outlook
from jupyter_diamond.model.proposal import AgentSwitch, Proposal, StandingBudget
from jupyter_diamond.model.snapshot import Snapshot
from jupyter_diamond.model.task import Submitted, Task, TaskSummary
from jupyter_diamond.model.transfer import Transfer
from jupyter_diamond.model.verdict import TaskVerdict
from jupyter_diamond.model.views import ErrorView, EventPage, LogChunk, ResultView, Status

TARGET = Path(__file__).parents[1] / "src" / "api-types.ts"
MODELS = (
    Status, Snapshot, Task, TaskSummary, Group, MemberSummary, Decision, EventPage, LogChunk, ResultView, Login,
    LoginStart, Proposal, StandingBudget, AgentSwitch, TaskVerdict, Transfer, ErrorView,
    Outlook, SiteHistory, Charges, Idle, LineRead, Draft, Submitted,
)  # fmt: skip
HEAD = """// Generated from the pydantic models in jupyter_diamond/model. Do not edit:
// run `python -m labextension.scripts.api_types` from the repository's root.
"""
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def typescript(schema: dict[str, Any]) -> str:
    """The TypeScript type of one JSON schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "const" in schema or "enum" in schema:
        return " | ".join(_literal(value) for value in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(typescript(each) for each in schema["anyOf"]))
    kind = schema.get("type")
    if kind == "array":
        return _array(schema)
    if kind == "object":
        extra = schema.get("additionalProperties")
        return f"{{ [key: string]: {typescript(extra) if isinstance(extra, dict) else 'unknown'} }}"
    return SCALARS.get(str(kind), "unknown")


def _array(schema: dict[str, Any]) -> str:
    if "prefixItems" in schema:
        return f"[{', '.join(typescript(each) for each in schema['prefixItems'])}]"
    inner = typescript(schema["items"])
    return f"({inner})[]" if "|" in inner else f"{inner}[]"


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()


def _declaration(name: str, schema: dict[str, Any]) -> str:
    first = str(schema.get("description", "")).split("\n\n")[0].replace("\n", " ")
    lines = [f"/** {first} */"] if first else []
    if "properties" not in schema:
        return "\n".join([*lines, f"export type {name} = {typescript(schema)};", ""])
    lines.append(f"export interface {name} {{")
    lines += [f"  {field}: {typescript(each)};" for field, each in schema["properties"].items()]
    return "\n".join([*lines, "}", ""])


def generate() -> str:
    """The whole file."""
    _, top = models_json_schema([(model, "serialization") for model in MODELS])
    parts = [_declaration(name, schema) for name, schema in sorted(top["$defs"].items())]
    return "\n".join([HEAD, *parts])


def main(argv: list[str]) -> int:
    """Write the file, or check it."""
    text = generate()
    if "--check" not in argv:
        TARGET.write_text(text, encoding="utf-8", newline="\n")
        return 0
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print("labextension/src/api-types.ts differs from the models: run python -m labextension.scripts.api_types.")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
