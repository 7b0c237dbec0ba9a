r"""The shell that asks Slurm. One script is one round trip; ``parsing.slurm_sections`` reads what it prints.

Only options and fields that Slurm has had since long are used (B06): no ``--me``, no ``--only-job-state``, no JSON.
What is newer is used where a trial at that very site has shown that it works there.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from jupyter_diamond.errors import InvalidRequest
from jupyter_diamond.model.jobs import JobRequest, NativeJob
from jupyter_diamond.parsing import slurm_jobs
from jupyter_diamond.parsing.jobids import ranges
from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.parsing.slurm_probe import NODE_FIELDS
from jupyter_diamond.parsing.slurm_sections import FIELD

from .jobs_section import ASK_JOBS, JOBS, TELL_OWN

COMMAND_TIMEOUT_S = 20
"""For each command: a controller that is down blocks a client for nine seconds, one that hangs for minutes."""

CLOCK_SKEW = timedelta(hours=1)
"""How far the site's clock may be off ours when accounting is asked for jobs *since*."""


# SQUEUE_FORMAT and its kind change every table (B14); SBATCH_* beats what a job script says. SLURM_CONF names the site.
def _scrub(*, keep: str, drop: str) -> str:
    """Unset variables by patterns of a shell's ``case``. All of Slurm's begin with S, and bash lists them by itself."""
    return (
        "if [ -n \"$BASH_VERSION\" ]; then eval 'v=${!S*}'\n"
        "else v=$(env | sed -n 's/^\\(S[A-Z0-9_]*\\)=.*/\\1/p'); fi\n"
        f'for v in $v; do case $v in {keep}) ;; {drop}) unset "$v" ;; esac; done\n'
    )


_PREAMBLE = (
    _scrub(keep="SLURM_CONF", drop="SQUEUE_*|SACCT_*|SINFO_*|SCONTROL_*|SCANCEL_*|SLURM_*")
    + rf"""LC_ALL=C TZ=UTC SLURM_TIME_FORMAT=%s SLURM_BITSTR_LEN=0
export LC_ALL TZ SLURM_TIME_FORMAT SLURM_BITSTR_LEN
U=$(printf '\037')
T=; command -v timeout >/dev/null 2>&1 && T='timeout {COMMAND_TIMEOUT_S}'
put() {{ printf '@@%s %s %s\n%s\n' "$1" "$2" "${{#3}}" "$3"; }}
sec() {{ n=$1; shift; printf '@@%s\n' "$n" >&2; out=$("$@"); rc=$?; put "$n" "$rc" "$out"; }}
me=$(id -un); uid=$(id -u)
"""
)

_END = "printf '@@end 0 0\\n'\n"

_CONFIG_LINES = (
    "ClusterName|SLURM_VERSION|AccountingStorageType|PrivateData|MinJobAge|EnforcePartLimits|SelectTypeParameters|"
    "MaxArraySize|SchedulerParameters"
)

_NODES_AWK = r"""
BEGIN { U = "\037"; n = split("FIELDS", want, " ") }
/^NodeName=/ {
  line = $0; reason = ""
  if (match(line, / Reason=.*/)) { reason = substr(line, RSTART + 8); line = substr(line, 1, RSTART - 1) }
  sub(/ (Comment|Extra)=.*/, "", line)
  split("", value); m = split(line, part, " ")
  for (i = 1; i <= m; i++) {
    p = index(part[i], "=")
    if (p) { key = substr(part[i], 1, p - 1); if (!(key in value)) value[key] = substr(part[i], p + 1) }
  }
  row = value[want[1]]
  for (i = 2; i <= n; i++) row = row U value[want[i]]
  print row U reason
}""".replace("FIELDS", " ".join(NODE_FIELDS))

_LIMITS = r"""
if [ "$accounting" = yes ] && [ "$rc" = 0 ]; then
  sec assoc $T sacctmgr -P show assoc cluster="$cluster" user="$me"
  if [ "$rc" = 0 ]; then
    accounts=$(printf '%s\n' "$out" | sed 1d | cut -d '|' -f 2 | sort -u | paste -s -d , -)
    sec accounts $T sacctmgr -P show assoc cluster="$cluster" account="$accounts" user=
    sec qos $T sacctmgr -P show qos
    sec user $T sacctmgr -n -P show user "$me" cluster="$cluster" withassoc format=DefaultAccount
  fi
fi
"""
"""Where accounting has just answered: one that hangs must not be waited for five times."""


def probe(*, limits: bool = False) -> str:
    """The probe; with ``limits`` it also asks accounting what this user may have: four queries to its database."""
    return (
        _PREAMBLE
        + rf"""put env 0 "$me$U$uid$U$(id -Gn)$U$(sinfo -V 2>/dev/null)$U$(date +%s)"
conf() {{ c=$($T scontrol show config) || return; printf '%s\n' "$c" | grep -E '^({_CONFIG_LINES}) ' ; }}
nodes() {{ c=$($T scontrol -a -d -o show node) || return; printf '%s\n' "$c" | awk '{_NODES_AWK}
'; }}
{JOBS}sec config conf
if [ "$rc" = 0 ]; then
  case $out in
    *accounting_storage/none*|*"AccountingStorageType   = (null)"*) accounting=no ;;
    *) accounting=yes ;;
  esac
  cluster=$(printf '%s\n' "$out" | sed -n 's/^ClusterName *= *//p')
  sec partitions $T scontrol -a -o show partition
  sec nodes nodes
  {ASK_JOBS}  sec reservations $T scontrol -a -o show reservation
  if [ "$accounting" = yes ]; then
    {TELL_OWN}    sec sacct $T sacct -n -X -P -S now -o JobIDRaw
  fi
{_LIMITS if limits else ""}fi
"""
        + _END
    )


FLAGS = ("squeue --only-job-state", "squeue --json", "sacct --json", "scontrol --json")
"""Options of newer versions, tried with ``--help`` behind them: a command that does not know one says so first."""

TRIAL = (
    _PREAMBLE
    + rf"""flags() {{
  for f in {" ".join(shlex.quote(flag) for flag in FLAGS)}; do
    e=$($T $f --help 2>&1 >/dev/null); s=$?
    printf '%s%s%s%s%.200s\n' "$f" "$U" "$s" "$U" "$(printf '%s' "$e" | tr '\n' ' ')"
  done
}}
relative() {{ $T sacct -S now-90minutes -e >/dev/null; }}
sec flags flags
sec fields $T sacct -e
sec times relative
sec clusters $T sacctmgr -n -P show cluster format=cluster
"""
    + _END
)
"""None of it asks the controller; the names of the clusters are one question to accounting's database."""


class Form(NamedTuple):
    """How ``sacct`` is asked at a site: for which fields, and since which moment."""

    fields: tuple[str, ...] = slurm_jobs.ACCOUNTING_FIELDS
    relative: bool = False
    """By the site's own clock, ``now-90minutes``: what the difference to ours is does not matter then."""

    def options(self, since: datetime, now: datetime) -> str:
        """Both reach an hour further back: by ours in case the clocks differ, by theirs in case ours was set."""
        if since.tzinfo is None:
            raise InvalidRequest("The time since when accounting is asked needs its zone.")
        start = (since.astimezone(timezone.utc) - CLOCK_SKEW).strftime("%Y-%m-%dT%H:%M:%S")
        if self.relative:
            start = f"now-{max(0, math.ceil((now - since + CLOCK_SKEW).total_seconds() / 60))}minutes"
        return f'-n -P --delimiter="$U" -S {start} -o {",".join(self.fields)}'

    @property
    def told(self) -> str:
        """A section with the fields, so that the answer says itself what its columns are."""
        return f'put fields 0 "{" ".join(self.fields)}"\n'


_OLDEST = Form()


def by_cluster(jobs: Sequence[NativeJob]) -> dict[str | None, list[str]]:
    """Job ids of each cluster; None is the site's own (B02: an id that came with a cluster keeps it)."""
    clusters: dict[str | None, list[str]] = {}
    for job in jobs:
        clusters.setdefault(job.cluster, []).append(job.id)
    return clusters


def _on(cluster: str | None) -> tuple[str, str]:
    """(option, section suffix) for a command about another cluster."""
    return (
        ("", "") if cluster is None else (f" -M {quote(cluster, 'the cluster')}", f":{quote(cluster, 'the cluster')}")
    )


def _bases(ids: Sequence[str]) -> list[str]:
    return sorted({job_id.partition("_")[0].partition("+")[0] for job_id in ids})


def _members(ids: Sequence[str]) -> tuple[list[str], dict[str, list[int]]]:
    """Those that are no members of an array, and the places of those that are, by array."""
    others, arrays = [], dict[str, list[int]]()
    for job_id in ids:
        base, _, at = job_id.partition("_")
        place = whole(at)
        if place is not None and at == str(place):
            arrays.setdefault(base, []).append(place)
        else:
            others.append(job_id)
    return others, arrays


def _folded(ids: Sequence[str]) -> list[str]:
    """Each array's members in one word, ``812_[0-99]``: a command line holds no thousand ids."""
    others, arrays = _members(ids)
    return [
        *others, *(f"{base}_{places[0]}" if len(places) == 1 else f"{base}_[{ranges(places)}]"
        for base, places in arrays.items()),
    ]  # fmt: skip


_ONLY_AWK = r"""
BEGIN { n = split(wanted, w, " ")
  for (i = 1; i <= n; i++) {
    split(w[i], a, ":"); all[a[1]]
    m = split(a[2], r, ",")
    for (j = 1; j <= m; j++) { k = split(r[j], e, "-"); for (p = e[1] + 0; p <= e[k] + 0; p++) mine[a[1] "_" p] }
  }
}
NF { id = $at; sub(/\..*/, "", id); split(id, b, "_"); if (!(b[1] in all) || id ~ /\[/ || id in mine) print }"""


def _only(ids: Sequence[str], fields: Sequence[str]) -> str:
    """An awk that passes the rows of these members of arrays on, and all others: ``sacct`` is asked for whole arrays.

    It reads no ranges; and members that were cancelled while they waited it knows only together, by their array.
    """
    _, arrays = _members(ids)
    wanted = " ".join(f"{base}:{ranges(places)}" for base, places in arrays.items())
    return f"awk -F \"$U\" -v wanted={shlex.quote(wanted)} -v at={fields.index('JobID') + 1} '{_ONLY_AWK}'"


def queue(jobs: Sequence[NativeJob]) -> str:
    """One query, filtered at the site: ``squeue -j`` fails for one unknown id, and is silent about several."""
    parts = [_PREAMBLE]
    for cluster, ids in by_cluster(jobs).items():
        option, suffix = _on(cluster)
        wanted = "," + ",".join(_bases(ids)) + ","
        parts.append(
            f'q() {{ $T squeue{option} -a -h "$@" -u "$uid" -t all -o {_shell_text(slurm_jobs.QUEUE_FORMAT)}; }}\n'
            "mine() {\n"
            "  c=$(q) || return\n"
            "  case $c in *...%*|*...]*) c=$(q -r) || return ;; esac\n"  # B15: more tasks than were shown
            # B14: a row that is not as we asked is sent home, where it is counted and shown
            f'  printf \'%s\\n\' "$c" | awk -F "$U" -v ids={shlex.quote(wanted)} '
            f"'NF && $0 !~ /^CLUSTER: / && (NF < {slurm_jobs.QUEUE_FORMAT.count(FIELD) + 1} || "
            'index(ids, "," $1 ",") || index(ids, "," $2 ","))\'\n'
            "}\n"
            f"sec queue{suffix} mine\n"
        )
    return "".join([*parts, _END])


def accounting(jobs: Sequence[NativeJob], *, since: datetime, now: datetime, form: Form = _OLDEST) -> str:
    """Accounting for all jobs with their steps; where it does not answer, what the controller still remembers."""
    parts = [_PREAMBLE, 'put me 0 "$uid"\n', form.told]
    for cluster, ids in by_cluster(jobs).items():
        option, suffix = _on(cluster)
        others, arrays = _members(ids)
        listed = ",".join(quote(job_id, "the job id") for job_id in (*others, *arrays))
        sacct = f"$T sacct{option} {form.options(since, now)} -j {listed}"
        if arrays:
            only = f"printf '%s\\n' \"$c\" | {_only(ids, form.fields)}"
            parts.append(f"told() {{ c=$({sacct}) || return\n{only}; }}\n")
        wanted = "," + ",".join(_bases(ids)) + ","
        parts.append(
            f"sec accounting{suffix} {'told' if arrays else sacct}\n"
            'if [ "$rc" != 0 ]; then\n'
            f"  shown() {{ c=$($T scontrol{option} -a -o show job) || return\n"
            # JobId=12 ArrayJobId=10 ArrayTaskId=3 …
            "  printf '%s\\n' \"$c\" | awk -v ids="
            + shlex.quote(wanted)
            + ' \'{ split($1, j, "="); split($2, a, "=")\n'
            '    if (index(ids, "," j[2] ",") || (a[1] == "ArrayJobId" && index(ids, "," a[2] ","))) print }\'; }\n'
            f"  sec shown{suffix} shown\n"
            "fi\n"
        )
    return "".join([*parts, _END])


def lookup(tokens: Sequence[str], *, since: datetime, now: datetime, form: Form = _OLDEST) -> str:
    """Queue and accounting by job name; each tells by itself whether it answered."""
    names = ",".join(quote(token, "the token") for token in tokens)
    return (
        _PREAMBLE
        + 'put me 0 "$uid"\n'
        + form.told
        + f'sec queue $T squeue -a -h -u "$uid" -t all -n {names} -o {_shell_text(slurm_jobs.QUEUE_FORMAT)}\n'
        + f'sec accounting $T sacct {form.options(since, now)} -u "$uid" --name={names}\n'
        + _END
    )


def cancel(jobs: Sequence[NativeJob], *, waiting_only: bool = False) -> str:
    """One ``scancel`` a cluster. It is silent about jobs that are gone."""
    parts = [_PREAMBLE]
    only = " --state=PENDING" if waiting_only else ""
    for cluster, ids in by_cluster(jobs).items():
        option, suffix = _on(cluster)
        listed = " ".join(quote(word, "the job id") for word in _folded(ids))
        parts.append(f"sec cancel{suffix} $T scancel{option}{only} {listed}\n")
    return "".join([*parts, _END])


def submit(job: JobRequest) -> str:
    """Hand ``job.sh`` in. When a limit refuses it, say how many jobs of the user's are queued (B04).

    SBATCH_* variables would beat the directives of ``job.sh``, so they go.
    """
    return (
        "(\n"
        + _scrub(keep=_kept(job), drop="SQUEUE_*|SBATCH_*|SLURM_*")
        + "{ err=$(sbatch --parsable job.sh 2>&1 >&3 3>&-); rc=$?; } 3>&1\n"
        '[ -z "$err" ] || printf \'%s\\n\' "$err" >&2\n'
        "case $rc:$err in\n"
        "  0:*) ;;\n"
        '  *Limit*|*policy*) n=$(squeue -h -r -u "$(id -u)" -o %i 2>/dev/null | wc -l | tr -d " ") && '
        'echo "diamond: queued=$n" >&2 ;;\n'
        "esac\n"
        'exit "$rc"\n'
        ")"
    )


def _kept(job: JobRequest) -> str:
    """A default account or QOS of the user's stays where the job names none."""
    kept = [name for name, given in (("ACCOUNT", job.account), ("QOS", job.qos)) if given is None]
    return "|".join(["SLURM_CONF", *(f"SBATCH_{name}" for name in kept)])


def estimate(jobs: Sequence[JobRequest], directives: Sequence[str]) -> str:
    """Ask when each job would start; ``sbatch --test-only`` says it on standard error, by the site's clock."""
    parts = [_PREAMBLE]
    for at, (job, script) in enumerate(zip(jobs, directives, strict=True)):
        scrub = _scrub(keep=_kept(job), drop="SBATCH_*")
        parts.append(
            f"ask() {{ (\n{scrub}printf '%s' {shlex.quote(script)} | $T sbatch --test-only 2>&1\n); }}\n"
            f'put clock:{at} 0 "$(date +%s)"\nsec estimate:{at} ask\n'
        )
    return "".join([*parts, _END])


def _shell_text(text: str) -> str:
    """The format in double quotes, its separators as ``$U``: no control character stands in a script."""
    return '"' + text.replace(FIELD, "$U") + '"'
