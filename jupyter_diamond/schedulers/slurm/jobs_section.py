r"""One ``squeue`` for two questions: how many jobs there are, and what a forecast needs to know of each.

``squeue -O`` is the only form that tells GPUs asked for in every way, and it prints columns of fixed width. The site's
own awk parts and trims them, counts every job, and passes on those that run and the first ``MOST_ROWS`` that wait, by
priority.
"""

from __future__ import annotations

from jupyter_diamond.parsing.slurm_queue import MOST_ROWS, QUEUE_FIELDS

_WIDTHS = " ".join(field.partition(":")[2] for field in QUEUE_FIELDS)

_AWK = r"""
BEGIN { n = split("WIDTHS", width, " ") }
{
  at = 1; row = ""
  for (i = 1; i <= n; i++) {
    cell = substr($0, at, width[i]); at += width[i]
    gsub(/^ +| +$/, "", cell)
    row = row (i > 1 ? U : "") cell
    if (i == 2) mine = (cell == me) ? 1 : 0
    if (i == 3) parts = cell
    if (i == 4) state = cell
  }
  count[mine U parts U state]++
  if (state == "PENDING") { if (++waiting <= MOST) print "j" U row }
  else if (state ~ /^(RUNNING|COMPLETING|CONFIGURING|SUSPENDED)$/) print "j" U row
}
END { for (key in count) print "c" U count[key] U key }""".replace("WIDTHS", _WIDTHS).replace("MOST", str(MOST_ROWS))

JOBS = f"""jobs() {{ c=$($T squeue -a -r -h -S -p -O "{",".join(QUEUE_FIELDS)}") || return
  printf '%s\\n' "$c" | awk -v U="$U" -v me="$me" '{_AWK.strip()}
'; }}
"""
"""The shell function ``jobs``: rows ``j US …`` about jobs, then rows ``c US …`` with counts."""
