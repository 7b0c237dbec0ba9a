"""What a task of Globus Transfer says of itself: how far it is, what is wrong, why it failed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jupyter_diamond.errors import DataFault, DataProblem
from jupyter_diamond.model.transfer import Progress

Json = Mapping[str, Any]
ACTIVITY = "https://app.globus.org/activity/"

_KINDS: tuple[tuple[str, DataFault], ...] = (
    ("CREDENTIAL", "refused"),
    ("NOT_FOUND", "missing"), ("NO_SUCH", "missing"), ("PERMISSION", "permission"), ("NOT_ALLOWED", "permission"),
    ("QUOTA", "no_space"), ("SPACE", "no_space"), ("EXPIRED", "late"), ("CHECKSUM", "corrupt"),
    ("CHANGED", "changed"), ("DIRECTORY", "refused"), ("CANCEL", "refused"),
)  # fmt: skip
_HOPELESS: frozenset[DataFault] = frozenset({"missing", "permission", "no_space"})
"""The service tries these again until the deadline; nothing changes by that."""
_ADVICE: dict[DataFault, str] = {
    "missing": "Correct the path, or wait until it is there, then %diamond transfer again.",
    "permission": "Have it opened to you, or choose another place, then %diamond transfer again.",
    "no_space": "Make room there, then %diamond transfer again.",
    "late": "Give it more time: %diamond transfer again, with a longer deadline.",
    "corrupt": "Look at the disks of both ends, then %diamond transfer again.",
}


def progress(
    task: Json, *, bytes_total: int | None = None, files_total: int | None = None, skipped: int = 0
) -> Progress:
    """How far it is. ``skipped`` files were never asked for. ``bytes_transferred`` counts twice what was sent twice."""
    sent = int(task["bytes_transferred"])
    done = sent if bytes_total is None else min(sent, bytes_total)
    files = int(task["files"]) or None
    rate = float(task["effective_bytes_per_second"] or 0) or None
    left = None if bytes_total is None or rate is None else max(0, bytes_total - done) / rate
    whole = files_total if files_total is not None else files and files + skipped
    if task["status"] == "SUCCEEDED":
        done, left, whole = done if bytes_total is None else bytes_total, 0.0, (files or 0) + skipped
    return Progress(
        bytes_total=bytes_total, bytes_done=done, bytes_sent=sent, rate=rate, eta_s=left, files_total=whole,
        files_done=int(task["files_transferred"]) + int(task["files_skipped"]) + skipped,
        files_skipped=int(task["files_skipped"]) + skipped, faults=int(task["faults"]),
    )  # fmt: skip


def stalled(task: Json) -> bool:
    """Globus itself says that something is wrong."""
    return task["status"] == "ACTIVE" and task.get("is_ok") is False


def mark(task: Json) -> str:
    """Changes whenever something has happened: sent, compared, verified, found."""
    counted = ("bytes_transferred", "bytes_checksummed", "files", "files_transferred", "files_skipped", "directories")
    return " ".join(str(task[name]) for name in counted)


def nice(task: Json) -> str:
    """What Globus says of its state, as one line."""
    said = str(task.get("nice_status_short_description") or task.get("nice_status") or "it does not say why")
    return line(said)


def hopeless(events: Iterable[Json], source: str, destination: str) -> DataProblem | None:
    """What no further try will mend, of the events of a task: its path is named."""
    for event in events:
        kind = _kind(str(event.get("code") or ""))
        if event.get("is_error") and kind in _HOPELESS:
            return _problem(kind, str(event["code"]), str(event.get("details") or ""), source, destination)
    return None


def failed(task: Json, events: Iterable[Json], source: str, destination: str) -> DataProblem:
    """Why a task has failed. Cancelled and expired ones have the same status as broken ones."""
    found = tuple(events)
    fatal = task.get("fatal_error") or {}
    if task.get("canceled_by_admin"):
        who = str(task["canceled_by_admin"]).lower()
        said = line(str(task.get("canceled_by_admin_message") or "no reason was given"))
        return DataProblem(
            f"An administrator of the collection ({who}) cancelled the transfer: {said}.", kind="refused",
            evidence=_evidence(found), advice="Ask the site.",
        )  # fmt: skip
    code = str(fatal.get("code") or next((event["code"] for event in found if event.get("is_error")), "UNKNOWN"))
    if code.startswith("CANCEL"):
        return DataProblem("The transfer was cancelled at Globus, not from here.", kind="refused",
                           evidence=_evidence(found), advice="%diamond transfer again begins it anew.")  # fmt: skip
    details = next((str(e["details"]) for e in found if e.get("is_error") and e.get("details")), "")
    text = details if path_in(details) else str(fatal.get("description") or details)
    problem = _problem(_kind(code), code, text, source, destination)
    problem.evidence = (*problem.evidence, *_evidence(found))[:20]
    return problem


def line(text: str) -> str:
    """One printable line of a foreign text."""
    return "".join(c if c.isprintable() else " " for c in text).strip().rstrip(".")[:300]


def path_in(details: str) -> str:
    """The path that an event is about; empty where it names none."""
    for pattern in (r"^File: (.+)$", r"path[=:] ?(/.+)$", r"'(/[^']+)'", r"(/[^\s'\"]+)"):
        found = re.search(pattern, details, re.MULTILINE)
        if found:
            return line(found[1]).rstrip(":,;")
    return ""


def _kind(code: str) -> DataFault:
    return next((kind for word, kind in _KINDS if word in code.upper()), "broken")


def _problem(kind: DataFault, code: str, details: str, source: str, destination: str) -> DataProblem:
    path = path_in(details)
    what = path or "A file"
    said = line(re.sub(r"(?s).*^Message: ([^\n]*).*", r"\1", details, flags=re.MULTILINE)) or code
    message = {
        "missing": f"{what} is not there: Globus cannot read it at {source}.",
        "permission": f"{what} may not be read or written by you: Globus is refused there ({source} to {destination}).",
        "no_space": f"There is no room left at {destination}: {said}.",
        "late": "The transfer did not end before its deadline.",
        "corrupt": f"{what} did not arrive as it was sent: its checksum differs again and again.",
        "changed": f"{what} changed while it was sent.",
    }.get(kind, f"Globus could not move it from {source} to {destination}: {said} ({code}).")
    return DataProblem(message, kind=kind, advice=_ADVICE.get(kind, ""), evidence=(line(f"{code}: {details}"),))


def _evidence(events: Iterable[Json]) -> tuple[str, ...]:
    errors = [event for event in events if event.get("is_error")]
    return tuple(line(f"{event.get('time')} {event['code']}: {event.get('details') or ''}") for event in errors[:10])
