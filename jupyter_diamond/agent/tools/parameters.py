"""From a tool's function to what it may be given: typed, bounded, described; and a sentence for what is wrong.

A model's slips that have one meaning only are read as meant: a number where text is asked for (``gpus=4``), a list
written as ``a,b``, null for what is left out.
"""

from __future__ import annotations

import contextlib
import difflib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from jupyter_diamond.errors import InvalidRequest

_LONGEST = 20_000


def _as_text(value: Any) -> Any:
    text = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(text, str) and len(text) > _LONGEST:
        raise ValueError(f"is too long: at most {_LONGEST:,} characters")
    return text


def _as_names(value: Any) -> Any:
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def _as_object(value: Any) -> Any:
    """Some clients send what is an object as its JSON."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value


Text = Annotated[str, BeforeValidator(_as_text)]
"""An amount or a name, in the words of our options."""
Options = Annotated[dict[str, Text], BeforeValidator(_as_object), Field(max_length=100)]
"""Text by name."""
Names = Annotated[tuple[str, ...], BeforeValidator(_as_names), Field(max_length=100)]
Ref = Annotated[str, BeforeValidator(_as_text), Field(min_length=1, max_length=200)]
"""A task or a group: its id, or its name for the newest one of it."""
SiteName = Annotated[str, Field(min_length=1, max_length=100)]


class Group(BaseModel):
    """Parameters that several tools share. A tool that takes one has its fields as parameters of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameters:
    """What one tool takes."""

    def __init__(self, function: Callable[..., Any], described: Mapping[str, str]) -> None:
        hints = get_type_hints(function, localns={"AgentDesk": object}, include_extras=True)
        self._groups: dict[str, type[Group]] = {}
        fields: dict[str, Any] = {}
        for name, parameter in list(inspect.signature(function).parameters.items())[2:]:  # after desk and speaker
            kind = hints[name]
            if isinstance(kind, type) and issubclass(kind, Group):
                self._groups[name] = kind
                fields |= {each: (field.annotation, field) for each, field in kind.model_fields.items()}
                continue
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[name] = (kind, Field(default=default, description=described.get(name)))
        self._model: type[BaseModel] = create_model(
            function.__name__, __config__=ConfigDict(extra="forbid", frozen=True), **fields
        )
        self._tool = function.__name__
        self.schema: dict[str, Any] = _plain(self._model.model_json_schema())
        self.schema.setdefault("properties", {})

    @property
    def fields(self) -> dict[str, FieldInfo]:
        """Each parameter with its type, default and description."""
        return self._model.model_fields

    def read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Raises InvalidRequest with what to write instead."""
        said = {name: value for name, value in given.items() if value is not None}
        try:
            found = self._model.model_validate(said)
        except ValidationError as fault:
            raise InvalidRequest(self._refusal(fault)) from None
        values = {name: getattr(found, name) for name in type(found).model_fields}
        for name, kind in self._groups.items():
            values[name] = kind.model_construct(**{each: values.pop(each) for each in kind.model_fields})
        return values

    def _refusal(self, fault: ValidationError) -> str:
        problems = sorted(fault.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
        first = problems[0]  # a misspelt name explains what is missing
        path = [str(part) for part in first["loc"]]
        name = path[0] if path else ""
        more = f" ({len(problems) - 1} more of its arguments are wrong)" if len(problems) > 1 else ""
        if first["type"] == "extra_forbidden" and len(path) == 1:
            return f"{self._no_such(name)}{more}"
        about = self.schema["properties"].get(name, {}).get("description", "")
        about = f" {name}: {about}" if about else ""
        if first["type"] == "missing":
            return f"{self._tool} needs `{name}`.{about}{more}"
        words = str(first["msg"]).removeprefix("Value error, ")
        said = f"{words[:1].lower()}{words[1:]}, not {_shown(first['input'])}"
        return f"{self._tool}: `{'.'.join(path)}`: {said}.{about}{more}"

    def _no_such(self, name: str) -> str:
        known = list(self.schema["properties"])
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean `{close[0]}`?" if close else f"it takes: {', '.join(known) or 'no arguments'}."
        return f"{self._tool} has no argument `{name[:60]}`; {hint}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(schema: Any) -> Any:
    """The schema without what says nothing to a model: titles, and null where leaving out means the same."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: each for name, each in schema.items() if not (name == "title" and isinstance(each, str))}
    if "default" in found and found["default"] in (None, [], {}, ""):
        del found["default"]
    kinds = [each for each in found.get("anyOf", ()) if each != {"type": "null"}]
    if "anyOf" in found and len(kinds) == 1:
        del found["anyOf"]
        found = {**kinds[0], **found}
    return {name: _plain(each) for name, each in found.items()}


_ARGS = re.compile(r"^\s*Args:\s*$", re.MULTILINE)
_ARGUMENT = re.compile(r"^(\w+): (.*)$")


def described(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """What a docstring says of the tool, and of each of its parameters."""
    text = inspect.cleandoc(function.__doc__ or "")
    about, *rest = _ARGS.split(text, maxsplit=1)
    told: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(rest[0]).splitlines() if rest else ():
        begins = _ARGUMENT.match(line)
        if begins:
            name = begins[1]
            told[name] = begins[2].strip()
        elif name:
            told[name] += f" {line.strip()}"
    return re.sub(r"(?<!\n)\n(?!\n)", " ", about.strip()), told
