"""Facts of a site's login node, by one script that only reads."""

from __future__ import annotations

import time

from jupyter_diamond.engine.link import SiteLink
from jupyter_diamond.errors import TransportError
from jupyter_diamond.model.base import from_epoch
from jupyter_diamond.model.looks import Fact, SiteEnv
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.transport.base import Completed

_US = "\x1f"
FACTS = (
    "host", "user", "system", "architecture", "home", "workdir", "workdir_state", "workdir_free_bytes", "python",
    "python_version", "modules", "containers", "scheduler",
)  # fmt: skip
_VERSIONS = {"slurm": "sinfo -V 2>/dev/null | head -n 1", "process": "echo 'this machine'"}
_ACCOUNTS = {
    "slurm": 'sacctmgr -nP show assoc where user="$(id -un)" ${cluster:+cluster="$cluster"} '
    "format=Account,Partition,QOS 2>/dev/null",
}
_SCRIPT = r"""LC_ALL=C; export LC_ALL
T=; command -v timeout >/dev/null 2>&1 && T='timeout 15'
say() {{ printf '%s\037%s\n' "$1" "$2"; }}
say host "$(uname -n)"
say user "$(id -un)"
name=; [ -r /etc/os-release ] && name=$(. /etc/os-release && printf '%s' "$PRETTY_NAME")
say system "${{name:-$(uname -sr)}}"
say architecture "$(uname -m)"
say home "$HOME"
w={workdir}
say workdir "$w"
up=$w
while [ ! -e "$up" ] && [ "$up" != / ] && [ -n "$up" ]; do up=$(dirname -- "$up"); done
if [ -d "$w" ] && [ -w "$w" ]; then say workdir_state 'there, writable'
elif [ -e "$w" ]; then say workdir_state 'there, but not a writable folder'
elif [ -d "$up" ] && [ -w "$up" ]; then say workdir_state 'not there yet; it can be made'
else say workdir_state "cannot be made: $up is not writable"; fi
free=$(df -Pk "$up" 2>/dev/null | awk 'NR == 2 {{ printf "%.0f", $4 * 1024 }}')
say workdir_free_bytes "$free"
p={python}
exe=$(command -v "$p" 2>/dev/null)
say python "$exe"
[ -n "$exe" ] && say python_version "$("$exe" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)"
m=
for f in /etc/profile.d/modules.sh /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh /usr/share/lmod/lmod/init/sh \
  /usr/share/modules/init/sh /usr/share/Modules/init/sh /etc/profile.d/00-modulepath.sh; do
  [ -r "$f" ] && {{ m=$f; break; }}
done
say modules "$m"
c=
for r in apptainer singularity podman-hpc podman shifter ch-run enroot docker; do
  command -v "$r" >/dev/null 2>&1 && c="$c${{c:+, }}$r"
done
say containers "$c"
say scheduler "$({version})"
"""
# one accounting database may serve several clusters
_ACCOUNT_LINES = r"""cluster=$($T scontrol show config 2>/dev/null | sed -n 's/^ClusterName *= *//p')
a=$($T {command}); [ $? = 0 ] && printf '%s\n' "$a" | while IFS= read -r line; do
  say account "$line"
done && say accounts_read yes
"""


def script(link: SiteLink, workdir: str, python: str) -> str:
    """The script for one site."""
    kind = link.site.scheduler
    text = _SCRIPT.format(
        workdir=quote(workdir, "the workdir"),
        python=quote(python, "the interpreter"),
        version=_VERSIONS.get(kind, "true"),
    )
    accounts = _ACCOUNTS.get(kind)
    return text + (_ACCOUNT_LINES.format(command=accounts) if accounts else "")


async def site_env(link: SiteLink, *, python: str, timeout_s: float) -> SiteEnv:
    """Ask the login node. Raises TransportError."""
    workdir = await link.transport.expand(link.site.workdir)
    started = time.monotonic()
    done = await link.run(script(link, workdir, python), timeout_s=timeout_s)
    return read(link.name, done, seconds=time.monotonic() - started)


def read(site: str, done: Completed, *, seconds: float) -> SiteEnv:
    """The answer as facts; what was not said is None."""
    said: dict[str, str] = {}
    accounts: list[str] = []
    for line in done.out.split("\n"):
        name, us, value = line.partition(_US)
        if us and name == "account" and value.strip("| "):
            account = value.split("|")
            accounts.append(account[0] + (f" ({', '.join(filter(None, account[1:]))})" if any(account[1:]) else ""))
        elif us:
            said[name] = value.strip()
    if not said:
        raise TransportError(
            f"{site} answered nothing that can be read: {done.err.strip()[:200] or 'no output'}. Try again.",
            outcome="unknown",
        )
    facts = tuple(Fact(name=name, value=said.get(name) or None) for name in FACTS)
    known = "accounts_read" in said
    return SiteEnv(
        site=site, read_at=from_epoch(time.time()), seconds=round(seconds, 3), facts=facts,
        accounts=tuple(dict.fromkeys(accounts)) if known else None,
    )  # fmt: skip
