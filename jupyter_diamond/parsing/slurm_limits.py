"""What ``sacctmgr`` says that a user may have: tables of QOS and of associations, with their column names.

All columns are asked for, none by name: one that a version does not know would make the whole command fail. Limits of
accounts further up the tree are not read. A budget of minutes (GrpTRESMins) is no limit on what can run now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from jupyter_diamond.errors import ParseError
from jupyter_diamond.model.limits import Association, Cap, CapFor, CapOn, OwnUse, Qos, SiteLimits
from jupyter_diamond.model.states import State

from . import durations, gres, memory, states
from .numbers import whole
from .slurm_sections import FIELD, Section

_QOS_TRES: dict[str, CapFor] = {"MaxTRES": "job", "MaxTRESPU": "you", "MaxTRESPA": "account", "GrpTRES": "everybody"}
_QOS_JOBS: dict[str, tuple[CapOn, CapFor]] = {
    "MaxJobsPU": ("running", "you"), "MaxSubmitPU": ("queued", "you"), "MaxJobsPA": ("running", "account"),
    "MaxSubmitPA": ("queued", "account"), "GrpJobs": ("running", "everybody"), "GrpSubmit": ("queued", "everybody"),
}  # fmt: skip
_ON: dict[str, CapOn] = {"cpu": "cpus", "mem": "memory_bytes", "node": "nodes", "gres/gpu": "gpus"}


_T = TypeVar("_T")


def table(lines: Sequence[str]) -> tuple[list[dict[str, str]], list[str]]:
    """Rows by column name, and the lines that have another number of columns. The first line is the head."""
    head = [name.strip() for name in lines[0].split("|")] if lines else []
    rows, unreadable = [], []
    for line in lines[1:]:
        cells = line.split("|")
        if len(cells) != len(head):
            unreadable.append(line)
        else:
            rows.append(dict(zip(head, cells, strict=True)))
    return rows, unreadable


def limits(
    sections: dict[str, Section], *, read_at: datetime, wanted: Iterable[str] = ()
) -> tuple[SiteLimits | None, list[str]]:
    """The user's limits, and the lines that could not be read. None when accounting did not tell.

    ``wanted`` are QOS that partitions name; of all others only those count that the user may name.
    """
    if any(name not in sections or sections[name].rc != 0 for name in ("assoc", "qos")):
        return None, []
    unreadable: list[str] = []
    own = _each(sections["assoc"], _association, unreadable)
    shared = sections.get("accounts")
    of_accounts = {row.account: row for row in _each(shared, _association, unreadable)} if shared else {}
    associations = tuple(_with_account(each, of_accounts.get(each.account)) for each in own)
    named = {*wanted, *(name for each in associations for name in each.qos)}
    default = next(iter(sections["user"].lines), "").strip() if "user" in sections and not sections["user"].rc else ""
    found = SiteLimits(
        read_at=read_at,
        associations=associations,
        default_account=default if default in {each.account for each in associations} else None,
        qos=tuple(qos for qos in _each(sections["qos"], _qos, unreadable) if qos.name in named),
    )
    return found, unreadable


def _each(section: Section | None, read: Callable[[dict[str, str]], _T], unreadable: list[str]) -> list[_T]:
    rows, bad = table(section.lines if section is not None and section.rc == 0 else [])
    unreadable += bad
    found = []
    for row in rows:
        try:
            found.append(read(row))
        except (ParseError, KeyError):  # noqa: PERF203 - one bad row must not cost the others (B14)
            unreadable.append("|".join(row.values()))
    return found


def _qos(row: dict[str, str]) -> Qos:
    name = row["Name"]
    source = f"QOS {name}"
    caps = [cap for column, per in _QOS_TRES.items() for cap in tres_caps(row.get(column, ""), per, source)]
    caps += tres_caps(row.get("MinTRES", ""), "job", source, least=True)
    caps += _walltime(row.get("MaxWall", ""), source)
    caps += [cap for column, (on, per) in _QOS_JOBS.items() for cap in _number(row.get(column, ""), on, per, source)]
    flags = tuple(flag for flag in row.get("Flags", "").split(",") if flag)
    return Qos(name=name, flags=flags, caps=tuple(caps))


def _association(row: dict[str, str]) -> Association:
    account = row["Account"]
    yours = bool(row["User"])
    source = f"your association with {account}" if yours else f"account {account}"
    per: CapFor = "you" if yours else "account"
    caps = tres_caps(row.get("GrpTRES", ""), per, source) + _number(row.get("GrpJobs", ""), "running", per, source)
    caps += _number(row.get("GrpSubmit", ""), "queued", per, source)
    if yours:  # an account's own are what its users inherit, and sacctmgr shows them there
        caps += tres_caps(row.get("MaxTRES", ""), "job", source) + _walltime(row.get("MaxWall", ""), source)
        caps += _number(row.get("MaxJobs", ""), "running", "you", source)
        caps += _number(row.get("MaxSubmit", ""), "queued", "you", source)
    return Association(
        account=account,
        partition=row.get("Partition") or None,
        qos=tuple(name for name in row.get("QOS", "").split(",") if name),
        default_qos=row.get("Def QOS") or None,
        caps=tuple(caps),
    )


def _with_account(own: Association, shared: Association | None) -> Association:
    return own if shared is None else own.model_copy(update={"caps": own.caps + shared.caps})


def tres_caps(text: str, per: CapFor, source: str, *, least: bool = False) -> list[Cap]:
    """Limits of a TRES list, ``cpu=96,gres/gpu=8,gres/gpu:a100=4``. Raises ParseError."""
    caps = []
    for name, amount in gres.tres(text).items():
        base, _, model = name.partition(":")
        if base not in _ON:
            continue
        number = memory.parse_slurm(amount) if base == "mem" else _whole(amount)
        if isinstance(number, int):
            on = _ON[base]
            caps.append(Cap(on=on, per=per, amount=number, gpu_model=model or None, least=least, source=source))
    return caps


def _whole(text: str) -> int | None:
    if text == "-1":
        return None  # how sacctmgr clears a limit
    if (count := whole(text)) is None:
        raise ParseError(f"{text[:100]!r} is not a count.")
    return count


def _number(text: str, on: CapOn, per: CapFor, source: str) -> list[Cap]:
    amount = _whole(text.strip()) if text.strip() else None
    return [] if amount is None else [Cap(on=on, per=per, amount=amount, source=source)]


def _walltime(text: str, source: str) -> list[Cap]:
    limit = durations.parse_slurm(text)
    return [Cap(on="walltime_s", per="job", amount=limit, source=source)] if isinstance(limit, int) else []


def own_use(lines: Sequence[str]) -> tuple[tuple[OwnUse, ...], list[str]]:
    """Lines ``<number> US <QOS> US <account> US <state> US <partitions> US <TRES>``, summed up; and the unreadable."""
    found: dict[tuple[str, str, str], OwnUse] = {}
    unreadable: list[str] = []
    for line in lines:
        cells = line.strip("\n ").split(FIELD)
        if len(cells) != 6:
            unreadable.append(line)
            continue
        try:
            number = _whole(cells[0]) or 0
            key = (cells[2].strip(), cells[1].strip(), cells[4].strip())
            now = found.get(key, OwnUse(account=key[0], qos=key[1], partition=key[2]))
            found[key] = _added(now, number, states.job_state(cells[3]).state, cells[5])
        except ParseError:
            unreadable.append(line)
    return tuple(found.values()), unreadable


def _added(use: OwnUse, number: int, state: State, text: str) -> OwnUse:
    if state is State.PENDING:
        return use.model_copy(update={"pending": use.pending + number})
    if state not in (State.RUNNING, State.CONFIGURING, State.SUSPENDED):
        return use
    items = gres.tres(text)
    size = memory.parse_slurm(items["mem"]) if "mem" in items else None
    gpus = gres.tres_gpus(text) if items else None
    held = 0 if gpus is None and items else gpus
    return use.model_copy(
        update={
            "running": use.running + number,
            "cpus": use.cpus + number * (_whole(items.get("cpu", "0")) or 0),
            "nodes": use.nodes + number * (_whole(items.get("node", "0")) or 0),
            "gpus": None if use.gpus is None or held is None else use.gpus + number * held,
            "memory_bytes": None
            if use.memory_bytes is None or not isinstance(size, int)
            else use.memory_bytes + number * size,
        }
    )
