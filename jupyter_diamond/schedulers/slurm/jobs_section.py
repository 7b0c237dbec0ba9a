r"""One ``squeue`` for three questions: how many jobs there are, what one's own hold, and what a forecast needs of each.

``squeue -O`` is the only form that tells GPUs asked for in every way, and it prints columns of fixed width. The site's
own awk parts and trims them as they come, counts every job, sums up one's own (a user may have ten thousand of them),
and passes on ``MOST_RUNNING`` that run and the first ``MOST_ROWS`` that wait, by priority.
"""

from __future__ import annotations

from jupyter_diamond.parsing.slurm_queue import MOST_ROWS, MOST_RUNNING, QUEUE_FIELDS

_OWN_FIELDS = ("QOS:80", "Account:80")
"""Asked of every job, told of one's own alone."""
_FIELDS = (*QUEUE_FIELDS, *_OWN_FIELDS)
_WIDTHS = [int(field.partition(":")[2]) for field in _FIELDS]
_NAMES = [field.partition(":")[0] for field in _FIELDS]
_NUMBERS = {
    "USER": _NAMES.index("UserID") + 1, "PARTS": _NAMES.index("Partition") + 1, "STATE": _NAMES.index("State") + 1,
    "HELD": _NAMES.index("tres-alloc") + 1, "QOS": _NAMES.index("QOS") + 1, "ACCOUNT": _NAMES.index("Account") + 1,
    "TOLD": len(QUEUE_FIELDS), "MOST": MOST_ROWS,
    "AT_WORK": MOST_RUNNING, "LEAST": sum(_WIDTHS[:-1]),
}  # fmt: skip

# Its last line is the status of squeue, which a pipe would lose: ten thousand wide rows are no shell variable.
_AWK = r"""
BEGIN { n = split("WIDTHS", width, " "); rc = 1 }
/^rc=[0-9]+$/ { rc = substr($0, 4); next }
length($0) >= LEAST {
  at = 1; row = ""
  for (i = 1; i <= n; i++) {
    c = substr($0, at, width[i]); at += width[i]
    gsub(/^ +| +$/, "", c); cell[i] = c
    if (i == HELD) {
      memory = match(c, /mem=[^,]*/) ? substr(c, RSTART, RLENGTH) : ""
      c = memory (match(c, /gres\/gpu/) ? "," substr(c, RSTART) : "")
    }
    if (i <= TOLD) row = row U c
  }
  mine = (cell[USER] == uid) ? 1 : 0; state = cell[STATE]
  count[mine U cell[PARTS] U state]++
  if (mine && state ~ /^(PENDING|RUNNING|CONFIGURING|SUSPENDED)$/)
    own[cell[QOS] U cell[ACCOUNT] U state U cell[PARTS] U cell[HELD]]++
  if (state == "PENDING") { if (++waiting <= MOST) print "j" row }
  else if (state ~ /^(RUNNING|COMPLETING|CONFIGURING|SUSPENDED)$/) { if (++busy <= AT_WORK) print "j" row }
}
END {
  for (key in count) print "c" U count[key] U key
  for (key in own) print "o" U own[key] U key
  exit rc + 0
}"""


def _awk() -> str:
    text = _AWK.strip().replace("WIDTHS", " ".join(map(str, _WIDTHS)))
    for name, number in _NUMBERS.items():
        text = text.replace(name, str(number))
    return text


JOBS = f"""jobs() {{ {{ $T squeue -a -r -h -S -p -O "{",".join(_FIELDS)}"; printf 'rc=%s\\n' "$?"; }} |
  awk -v U="$U" -v uid="$uid" '{_awk()}
'; }}
of() {{ printf '%s\\n' "$queue" | sed -n "s/^$1$U//p"; }}
"""
"""Shell functions: ``jobs`` prints rows ``j US …`` about jobs, ``c US …`` with counts, ``o US …`` with one's own;
``of`` gives those of one kind that are in ``$queue``."""

ASK_JOBS = """printf '@@counts\\n' >&2; queue=$(jobs); asked=$?
  put counts "$asked" "$(of c)"
  put jobs "$asked" "$(of j)"
"""
TELL_OWN = """put own "$asked" "$(of o)"
"""
