"""The user's endpoints as Globus Compute tells them, and what a try of one must find out."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from jupyter_diamond.engine.endpoint_setup import budget, good_version
from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import DiamondError, GlobusProblem
from jupyter_diamond.model.endpoint import EndpointRow, Endpoints, LoginNode
from jupyter_diamond.model.looks import Check
from jupyter_diamond.model.manifest import ForeignValue
from jupyter_diamond.model.site import Site
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.sites import machines

if TYPE_CHECKING:
    from jupyter_diamond.globus.access import Globus
    from jupyter_diamond.globus.clients import Clients

MOST = 40
"""So many endpoints are looked at; each costs two requests of the twenty in ten seconds."""
_LOOK_S = 45.0
_US = "\x1f"
# Runs in the endpoint's worker: its parent is the agent, and one folder of the user's holds its id.
_LOOK = r"""LC_ALL=C; export LC_ALL
say() { printf '%s\037%s\n' "$1" "$2"; }
say node "$(uname -n)"
say host "$(hostname -f 2>/dev/null || uname -n)"
say user "$(id -un)"
for base in "${GLOBUS_COMPUTE_USER_DIR:-$HOME/.globus_compute}" "$HOME/.globus_compute"; do
  for file in "$base"/*/endpoint.json; do
    grep -qs ENDPOINT "$file" || continue
    folder=$(dirname -- "$file")
    pid=$(cat "$folder/daemon.pid" 2>/dev/null)
    [ -n "$pid" ] || continue
    say folder "$folder"; say pid "$pid"
    say started "$(ps -o lstart= -p "$pid" 2>/dev/null)"
    python=$(tr '\0' '\n' < "/proc/$pid/cmdline" 2>/dev/null | grep -o '/[^ ]*/bin/python[0-9.]*' | head -n 1)
    [ -n "$python" ] && say python "$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null)"
    break 2
  done
done
soft=$(awk '/^Max processes/ { print $3 }' /proc/self/limits 2>/dev/null)
group=$(cat "/sys/fs/cgroup/user.slice/user-$(id -u).slice/pids.max" 2>/dev/null)
for limit in $soft $group; do
  case $limit in *[!0-9]*) ;; *) [ -z "${least:-}" ] && least=$limit; [ "$limit" -lt "$least" ] && least=$limit ;; esac
done
say threads_allowed "${least:-}"
say threads_used "$(ps -L -u "$(id -u)" -o lwp= 2>/dev/null | wc -l | tr -d ' ')"
"""


class _Listed(ForeignValue):
    uuid: str
    name: str = ""
    display_name: str | None = None


class _Metadata(ForeignValue):
    name: str = ""
    display_name: str | None = None
    hostname: str | None = None
    local_user: str | None = None
    endpoint_version: str | None = None
    multi_user: bool | None = None


async def endpoints(globus: Globus, sites: Sequence[Site]) -> Endpoints:
    """All of the user's, each with the machine that it is on."""
    try:
        rows = await globus.call(_list, doing="listing your endpoints", sent=False)
    except GlobusProblem as problem:
        return Endpoints(problem=problem.message)
    used = {str(site.endpoint): site.name for site in sites if site.endpoint is not None}
    rows = tuple(row.model_copy(update={"site": used.get(row.id), "machine": _machine(row.host)}) for row in rows)
    there = {row.machine for row in rows}
    known = (machines.machine(name) for name in machines.names())
    without = tuple(machine.name for machine in known if machine.scheduler == "slurm" and machine.name not in there)
    return Endpoints(endpoints=rows, without=without)


def _machine(host: str | None) -> str | None:
    found = machines.recognise(host) if host and "." in host else None
    return found.name if found else None


def _list(clients: Clients) -> tuple[EndpointRow, ...]:
    """On the thread of the login."""
    return tuple(_row(clients, each) for each in _mine(clients)[:MOST])


def _mine(clients: Clients) -> list[_Listed]:
    said = clients.compute2.get_endpoints().data
    return [_read(_Listed, each) for each in (said if isinstance(said, list) else [said])]


def _row(clients: Clients, listed: _Listed) -> EndpointRow:
    known = _read(_Metadata, clients.compute2.get_endpoint(listed.uuid).data)
    said = clients.compute2.get_endpoint_status(listed.uuid).data
    status = said.get("status") if isinstance(said, dict) else None
    return EndpointRow(
        id=listed.uuid, name=listed.name or known.name, display_name=listed.display_name or known.display_name or "",
        online={"online": True, "offline": False}.get(str(status)), host=known.hostname, user=known.local_user,
        version=known.endpoint_version, multi_user=bool(known.multi_user),
    )  # fmt: skip


def _read(kind: type[Any], said: object) -> Any:
    try:
        return kind.model_validate(said)
    except ValidationError as error:
        raise GlobusProblem(
            "Globus Compute gave an answer without what belongs into it while listing your endpoints.",
            outcome="unreachable", sent=False, transient=True,
        ) from error  # fmt: skip


async def checks(link: SiteLink, globus: Globus) -> tuple[Check, ...]:
    """Whose endpoint it is, whether it is online, who answers from where, and how much room its agent has."""
    wanted = str(link.site.endpoint)
    try:
        mine, row = await globus.call(
            lambda clients: _one(clients, wanted), doing=f"asking for {link.name}", sent=False
        )
    except GlobusProblem as problem:
        return (Check(name="endpoint", answer="fail", sentence=f"{wanted}: {problem.message}"),)
    first = _endpoint(link, mine, row)
    if first.answer == "fail":
        return (first,)
    try:
        done = await link.run(_LOOK.replace("ENDPOINT", shlex.quote(wanted)), timeout_s=_LOOK_S)
    except DiamondError as problem:
        return first, Check(name="agent", answer="fail", sentence=problem.message)
    pairs = (line.partition(_US) for line in done.out.split("\n"))
    said = {name: value.strip() for name, us, value in pairs if us}
    return first, _agent(link, row, said), _threads(said)


def _one(clients: Clients, wanted: str) -> tuple[bool, EndpointRow]:
    twin = next((each for each in _mine(clients) if each.uuid == wanted), None)
    return twin is not None, _row(clients, twin or _Listed(uuid=wanted))


def _endpoint(link: SiteLink, mine: bool, row: EndpointRow) -> Check:
    name = f"{row.display_name or row.name} ({row.id})"
    if not mine:
        said = (
            f"{name} is not among the endpoints of the Globus account that Diamond is signed in with, and an endpoint "
            f"runs its owner's tasks only: sign in with the account that it was set up with, or correct endpoint in "
            f"the site catalogue."
        )
        return Check(name="endpoint", answer="fail", sentence=said)
    node = row.host or link.site.host or "its login node"
    if row.online is not True:
        said = (
            f"{name} is offline; its agent ran on {node}. `sh ~/.globus_compute/{row.name}/start.sh` there starts one "
            f"that jupyter diamond endpoint-setup made; from here, endpoint-setup HOST does."
        )
        return Check(name="endpoint", answer="fail", sentence=said)
    if row.multi_user:
        said = f"{name} is for many users: its workers wait in a batch queue. Make one of your own with endpoint-setup."
        return Check(name="endpoint", answer="warn", sentence=said)
    if not good_version(row.version):
        said = f"{name} is online with version {row.version}; bring it up to date with endpoint-setup."
        return Check(name="endpoint", answer="warn", sentence=said)
    return Check(name="endpoint", answer="ok", sentence=f"{name} is yours and online, version {row.version}.")


def _agent(link: SiteLink, row: EndpointRow, said: dict[str, str]) -> Check:
    """Which node answers, as which process, with which versions; and whether that is the machine that was meant."""
    host = said.get("host") or said.get("node")
    if not host:
        return Check(name="agent", answer="warn", sentence="It answered, but not from which node.")
    found = machines.recognise(host) if "." in host else None
    if found is not None and link.machine is not None and found.name != link.machine.name:
        wrong = f"{host} answers, which is {found.title}, not {link.machine.title}: correct endpoint or machine."
        return Check(name="agent", answer="fail", sentence=wrong)
    process = f" as process {said['pid']}" if said.get("pid") else ""
    since = f", since {said['started']}" if said.get("started") else ""
    try:
        sdk = version("globus-compute-sdk")
    except PackageNotFoundError:
        sdk = "no SDK"
    there = ", ".join(filter(None, (f"Python {said['python']}" if said.get("python") else "", row.version or "")))
    here = f"Python {platform.python_version()}, {sdk}"
    sentence = f"{said.get('user') or row.user}@{host} answers{process}{since} ({there or '?'} there; {here} here)."
    return Check(name="agent", answer="ok", sentence=sentence)


def _threads(said: dict[str, str]) -> Check:
    allowed, used = said.get("threads_allowed", ""), said.get("threads_used", "")
    node = LoginNode(
        node="", host="", user="", venv="", folder="", runs="here",
        threads_allowed=whole(allowed), threads_used=whole(used),
    )  # fmt: skip
    enough, sentence = budget(node)
    return Check(name="threads", answer="ok" if enough else "warn", sentence=sentence[0].upper() + sentence[1:])
