"""An export's ``ro-crate-metadata.json``: an RO-Crate 1.1 of the profile Process Run Crate, by the ``rocrate`` library.

Each task is an action: what ran (its code), by whom, at which site, from what, and what came of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jupyter_diamond.model.decision import Decision
from jupyter_diamond.model.receipt import Input, Receipt, TaskFile
from jupyter_diamond.model.states import Outcome

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
METADATA = "ro-crate-metadata.json"
_TERMS = {"sha256": "https://schema.org/sha256"}
_LANGUAGES = {
    "python": ("https://www.python.org/", "Python"), "bash": ("https://www.gnu.org/software/bash/", "Bash"),
}  # fmt: skip
_SCHEMA = "http://schema.org/"


@dataclass
class Exported:
    """One task in an export. ``room`` is its folder there; ``copies`` are its files there, by what they are asked by.

    ``own`` are files that were written for it: a path in the crate, and what it is.
    """

    receipt: Receipt
    decision: Decision | None
    files: tuple[TaskFile, ...]
    room: str
    own: dict[str, str] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def code(self) -> str:
        """The path of its code."""
        return f"{self.room}/cell.{'sh' if self.receipt.code.language == 'bash' else 'py'}"


@dataclass(frozen=True)
class About:
    """What the whole is called, and by whom and when it was made. ``identifier`` finds an export of the same again."""

    name: str
    identifier: str
    user: str
    made_at: datetime
    version: str


def write_metadata(folder: Path, about: About, tasks: Sequence[Exported]) -> None:
    """Write the metadata beside the files, which are there. Blocks."""
    from rocrate.rocrate import ROCrate  # 0.15 s: only who exports waits for it

    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms.update(_TERMS)
    _root(crate, about)
    crate.add_file(dest_path="README.md", properties=_file("What this is, in plain words", "text/markdown"))
    author = _entity(crate, "#author", "Person", name=about.user)
    tool = _entity(
        crate, "#jupyter-diamond", "SoftwareApplication", name="jupyter_diamond", softwareVersion=about.version,
        description="Placed the work at its site, watched it and wrote this down.",
    )  # fmt: skip
    crate.root_dataset["author"] = author
    for task in tasks:
        crate.root_dataset.append_to("mentions", _action(crate, task, author, tool))
    crate.metadata.write(folder)


def _root(crate: Any, about: About) -> None:
    crate.name = about.name
    crate.description = "What ran at which computing site, from what, and what came of it. README.md tells it."
    crate.license = "None was stated: ask the author before you use it."
    crate.datePublished = about.made_at
    crate.root_dataset["identifier"] = about.identifier
    profile = _entity(crate, PROFILE, "CreativeWork", name="Process Run Crate", version="0.5")
    crate.root_dataset["conformsTo"] = profile


def _entity(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    """One that is there already, or a new one; what is None or empty is left out."""
    from rocrate.model.contextentity import ContextEntity

    found = crate.get(identifier)
    if found is not None:
        return found
    known = {name: value for name, value in properties.items() if value not in (None, "", [])}
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **known}))


def _file(name: str, kind: str = "", *, size: int | None = None, sha256: str = "", **more: Any) -> dict[str, Any]:
    said = {
        "name": name, "encodingFormat": kind, "contentSize": None if size is None else str(size),
        "sha256": sha256, **more,
    }  # fmt: skip
    return {key: value for key, value in said.items() if value not in (None, "")}


def _action(crate: Any, task: Exported, author: Any, tool: Any) -> Any:
    """The run itself."""
    receipt = task.receipt
    took, ended = receipt.took, receipt.ended
    begun, done = took.cell_started_at or took.started_at, took.cell_ended_at or took.ended_at
    well = receipt.outcome is Outcome.OK
    status = "CompletedActionStatus" if well else "FailedActionStatus" if receipt.outcome else "ActiveActionStatus"
    for path, name in task.own.items():
        kind = {"@type": ["File", "SoftwareSourceCode"]} if path == task.code else {}
        crate.add_file(dest_path=path, properties=_file(name) | kind)
    instruments = [_code(crate, task), _site(crate, receipt), *_software(crate, receipt)]
    properties = {
        "name": f"{receipt.name}, attempt {receipt.attempt}",
        "description": ended.cause or f"It is {ended.state.value}.",
        "startTime": begun.isoformat() if begun else None, "endTime": done.isoformat() if done else None,
        "actionStatus": {"@id": _SCHEMA + status}, "agent": author, "instrument": instruments,
        "error": (ended.cause or ended.state.value) if status == "FailedActionStatus" else None,
        "object": [_input(crate, each) for each in receipt.inputs],
        "result": [_output(crate, task, each) for each in task.files if each.kind in ("kept", "value")],
        "subjectOf": [crate.get(path) for path in task.own if path != task.code] + _shown(crate, task),
        "additionalProperty": _measures(crate, task),
    }  # fmt: skip
    if receipt.by is not None:
        properties["participant"] = _entity(
            crate, f"#agent-{quote(receipt.by)}", "SoftwareApplication", name=receipt.by,
            description="An agent that asked for it, within what its user had approved.",
        )  # fmt: skip
    action = _entity(crate, f"#run-{receipt.task}-{receipt.attempt}", "CreateAction", **properties)
    tool.append_to("subjectOf", action)
    return action


def _code(crate: Any, task: Exported) -> Any:
    """What ran, with the notebook that it is from."""
    code = task.receipt.code
    link, name = _LANGUAGES.get(code.language, ("", code.language))
    language = _entity(crate, link or f"#{name}", "ComputerLanguage", name=name, url=link)
    notebook = code.notebook
    part_of = _entity(
        crate, f"#notebook-{quote(notebook.path)}", "SoftwareSourceCode", name=Path(notebook.path).name,
        description="The notebook that it was submitted from; it is not in here.", programmingLanguage=language,
    ) if notebook.path else None  # fmt: skip
    entity = crate.get(task.code)
    entity["programmingLanguage"] = language
    entity["identifier"] = [f"sha256:{code.digest}", *([f"cell {notebook.cell_id}"] if notebook.cell_id else [])]
    if part_of is not None:
        entity["isPartOf"] = part_of
    return entity


def _site(crate: Any, receipt: Receipt) -> Any:
    where = receipt.where
    return _entity(
        crate, f"#site-{quote(where.site)}", "IndividualProduct", name=where.site,
        description="The computing site that it ran at.",
    )  # fmt: skip


def _software(crate: Any, receipt: Receipt) -> list[Any]:
    """The interpreter, the environment, the packages that had been imported."""
    ran_in = receipt.ran_in
    packages = [
        _entity(crate, f"#package-{quote(name)}-{quote(version)}", "SoftwareApplication", name=name,
                softwareVersion=version)
        for name, version in ran_in.packages.items()
    ]  # fmt: skip
    modules = [_entity(crate, f"#module-{quote(name)}", "SoftwareApplication", name=name) for name in ran_in.modules]
    if not ran_in.python:
        return modules
    python = _entity(
        crate, f"#python-{quote(receipt.where.site)}-{ran_in.python}", "SoftwareApplication", name="Python",
        softwareVersion=ran_in.python, softwareRequirements=packages,
        description=f"Environment {ran_in.env} {ran_in.digest}".strip() if ran_in.env else None,
    )  # fmt: skip
    return [python, *modules]


def _input(crate: Any, each: Input) -> Any:
    where = str(each.source) if each.source is not None else each.path
    return _entity(
        crate, uri(where), "Dataset", name=each.name, sha256=each.digest.removeprefix("sha256:"),
        contentSize=None if each.bytes is None else str(each.bytes), description=f"At the site it was {each.path}.",
    )  # fmt: skip


def uri(where: str) -> str:
    """``delta:/scratch/x`` as ``file://delta/scratch/x``: metadata names what it does not hold by an absolute URI."""
    if where.startswith("globus://"):
        return "globus://" + quote(where.removeprefix("globus://"))
    place, colon, path = where.partition(":")
    return f"file://{quote(place)}/{quote(path.lstrip('/'))}" if colon else f"file:///{quote(where.lstrip('/'))}"


def _output(crate: Any, task: Exported, each: TaskFile) -> Any:
    """A file that is in here, or where it lies."""
    described = _file(
        each.path, each.media_type, size=each.bytes, sha256=each.sha256, description=each.about or None,
        dateModified=each.mtime.isoformat() if each.mtime else None,
    )  # fmt: skip
    if each.ask in task.copies:
        return crate.add_file(dest_path=task.copies[each.ask], properties=described)
    where = task.receipt.where
    folder = where.run_folder if each.kind == "kept" else where.folder
    described["description"] = "It is not in here: it stayed at the site."
    return crate.add_file(uri(f"{where.site}:{folder}/{each.path}"), properties=described)


def _shown(crate: Any, task: Exported) -> list[Any]:
    """What the cell showed, as a notebook keeps it."""
    described = _file("What it showed", "application/jsonl")
    return [
        crate.add_file(dest_path=task.copies[each.ask], properties=described)
        for each in task.files if each.kind == "outputs" and each.ask in task.copies
    ]  # fmt: skip


def _measures(crate: Any, task: Exported) -> list[Any]:
    """Where exactly, what it took and what it was charged, as named numbers."""
    receipt = task.receipt
    where, took = receipt.where, receipt.took
    charge = took.charge
    told: list[tuple[str, Any, str | None]] = [
        ("site", where.site, None), ("partition", where.partition, None), ("job", where.job, None),
        ("nodes", where.nodes, None), ("exit code", receipt.ended.exit_code, None),
        ("waited", took.waited_s, "seconds"), ("ran", took.ran_s, "seconds"),
        ("core-hours", took.core_hours, None), ("GPU-hours", took.gpu_hours, None),
        ("memory at most", took.max_rss_bytes, "bytes"),
        ("charge", charge.actual if charge is not None else None, charge.unit if charge is not None else None),
        *((f"parameter {name}", value, None) for name, value in receipt.params.items()),
    ]  # fmt: skip
    return [
        _entity(
            crate, f"#{quote(name)}-{receipt.task}-{receipt.attempt}", "PropertyValue", name=name, value=value,
            unitText=unit or None,
        )
        for name, value, unit in told if value not in (None, "")
    ]  # fmt: skip
