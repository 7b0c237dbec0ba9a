"""Building an environment on a site's login side: one script that looks, and starts what is to be started.

Every try has a folder of its own, ``<folder>/<n>``, and is made by who makes that folder: two servers never build into
one place, and a builder that was taken for dead may go on without harm. ``<folder>/ready`` leads to the try that
succeeded. A virtual environment cannot be moved, so it is built where it stays. The builder runs on by itself: the
session, the server and the way to the site may end meanwhile.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

from jupyter_diamond.parsing.numbers import whole
from jupyter_diamond.parsing.quoting import quote
from jupyter_diamond.transport.base import Completed

LONGEST_S = 3600
"""A build that takes longer is ended."""
_US, _LOG = "\x1f", "\x1e"
_LOG_LINES = 20

Fate = Literal["ready", "building", "failed", "started", "none", "no_uv", "no_folder"]

PACKAGES = r"""
import json, sys
from importlib.metadata import distributions
found = {}
for each in distributions():
    name = each.metadata["Name"]
    if name:
        found[name] = each.version
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "packages": found}))
"""

SOUND = r"""
import json, os, sys
from importlib.metadata import distributions
with open(sys.argv[1]) as file:
    wanted = json.load(file)["packages"]
found = {}
for each in distributions():
    found[each.metadata["Name"]] = each.version
    root = str(each.locate_file(""))
    for line in (each.read_text("RECORD") or "").splitlines():
        name = line.split(",")[0]
        if name and name[0] != '"' and name[-4:] != ".pyc" and not os.path.lexists(os.path.join(root, name)):
            sys.exit(7)
sys.exit(0 if all(found.get(name) == version for name, version in wanted.items()) else 7)
"""
"""A scratch file system forgets what nobody reads: each file that was installed must still be there."""

_BUILDER = r"""cd "$1" || exit 73
exec >log 2>&1 </dev/null
uname -n >host; echo $$ >pid; : >beat
( trap 'kill "$nap" 2>/dev/null; exit' TERM
  while kill -0 $$ 2>/dev/null; do : >beat; sleep 20 & nap=$!; wait "$nap"; done ) &
beat=$!
# nothing that belongs to another environment may be found, or written to
unset VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYTHONPATH PYTHONHOME PYTHONUSERBASE PIP_TARGET PIP_PREFIX PIP_USER \
  PIP_REQUIRE_VIRTUALENV UV_SYSTEM_PYTHON UV_PROJECT UV_PROJECT_ENVIRONMENT UV_PYTHON UV_WORKING_DIRECTORY
# a login node is for many
export UV_CONCURRENT_DOWNLOADS="${UV_CONCURRENT_DOWNLOADS:-4}" UV_CONCURRENT_BUILDS="${UV_CONCURRENT_BUILDS:-1}" \
  UV_CONCURRENT_INSTALLS="${UV_CONCURRENT_INSTALLS:-4}" RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-2}" UV_NO_PROGRESS=1
limit=; command -v timeout >/dev/null 2>&1 && limit="timeout $4"
began=$(date +%s)
python=$3 # the site's own interpreter is known to its nodes, where it is of that version
[ -n "$6" ] && [ "$("$6" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$3" ] && python=$6
$limit "$2" venv --no-project --python "$python" venv &&
  $limit "$2" pip install --python venv/bin/python -r requirements.txt &&
  venv/bin/python -c "$5" >packages.json
rc=$?
[ "$rc" != 124 ] || echo "It was ended after $4 s."
echo $(( $(date +%s) - began )) >seconds
if [ "$rc" = 0 ]; then ln -sfn "${PWD##*/}" ../ready; else rm -rf venv; fi
echo "$rc" >exit.new && mv exit.new exit
kill "$beat" 2>/dev/null
"""

_SCRIPT = r"""LC_ALL=C; export LC_ALL
umask 077
say() {{ printf '%s\037%s\n' "$1" "$2"; }}
alive() {{
  host=$(cat "$1/host" 2>/dev/null); pid=$(cat "$1/pid" 2>/dev/null)
  if [ -n "$pid" ] && [ "$host" = "$(uname -n)" ] && ! kill -0 "$pid" 2>/dev/null; then return 1; fi
  beat=$1/beat; [ -e "$beat" ] || beat=$1
  [ -n "$(find "$beat" -prune -mmin -2 2>/dev/null)" ]
}}
newest() {{ ls "$d" 2>/dev/null | sed -n '/^[0-9][0-9]*$/p' | sort -n | tail -n 1; }}
d={folder}-$(uname -m)
say folder "$d"
n=$(newest); n=${{n:-0}}; fate=none
if [ -x "$d/ready/venv/bin/python" ] && [ -r "$d/ready/packages.json" ]; then
  fate=ready
  {check}
elif [ "$n" = 0 ]; then fate=none
elif [ -e "$d/$n/exit" ]; then fate=failed
elif alive "$d/$n"; then fate=building
fi
uv=
if [ "$fate" = none ] || {{ [ "$fate" = failed ] && [ "$n" -le {seen} ]; }}; then
  for each in "$(command -v uv 2>/dev/null)" {further} "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv"; do
    [ -x "$each" ] && {{ uv=$each; break; }}
  done
  say uv "${{uv:-no}}"
  if [ {may} != yes ]; then :
  elif [ -z "$uv" ]; then fate=no_uv
  elif ! mkdir -p "$d"; then fate=no_folder
  else
    n=$((n + 1)); fate=building
    if mkdir "$d/$n" 2>/dev/null; then
      cat >"$d/$n/requirements.txt" && {{
        how=nohup; command -v setsid >/dev/null 2>&1 && how='nohup setsid'
        $how nice -n 10 sh -c {builder} diamond-build "$d/$n" "$uv" {python} {longest} {packages} {own} \
          </dev/null >/dev/null 2>&1 &
      }} && fate=started
    fi
  fi
fi
say fate "$fate"
say n "$n"
if [ "$fate" = ready ]; then
  r=$(readlink "$d/ready"); say prefix "$d/$r/venv"; say seconds "$(cat "$d/$r/seconds" 2>/dev/null)"
  say packages "$(cat "$d/$r/packages.json")"
fi
[ "$fate" != failed ] || {{ printf '\036\n'; tail -n {lines} "$d/$n/log" 2>/dev/null; }}
"""


class Told(NamedTuple):
    """What the script said. ``n`` is the newest try; ``log`` its last lines, where it failed."""

    fate: Fate
    n: int
    folder: str
    prefix: str = ""
    version: str = ""
    packages: dict[str, str] = {}  # noqa: RUF012 - a default of a tuple, never changed
    seconds: float | None = None
    uv: bool | None = None
    """Whether the site has it; None: nobody looked."""
    log: tuple[str, ...] = ()


def script(
    folder: str, python: str, *, own: str = "", beside: str = "", seen: int = 0, may_start: bool = True,
    check: bool = False,
) -> str:  # fmt: skip
    """Look at ``<folder>-<architecture>``, and start a build where none is; requirements come as standard input.

    ``seen`` is the newest try of which is known that it failed before: after it another one may be made. ``check`` each
    file of what is ready; ``own`` is the site's interpreter, ``beside`` one more place where ``uv`` may be.
    """
    sound = (
        f'"$d/ready/venv/bin/python" -c {_word(SOUND)} "$d/ready/packages.json" >/dev/null 2>&1 || '
        '{ fate=none; rm -f "$d/ready"; }'
        if check
        else ":"
    )  # fmt: skip
    return _SCRIPT.format(
        folder=quote(folder, "the folder of environments"), seen=seen, may="yes" if may_start else "no", check=sound,
        further=quote(beside) if beside else "", python=quote(python, "the version of Python"), longest=LONGEST_S,
        own=quote(own, "the interpreter"),
        builder=_word(_BUILDER), packages=_word(PACKAGES), lines=_LOG_LINES,
    )  # fmt: skip


def read(done: Completed) -> Told | None:
    """The answer; None where it is none."""
    text, _, log = done.out.partition(f"{_LOG}\n")
    said = dict(line.split(_US, 1) for line in text.splitlines() if _US in line)
    fate: Any = said.get("fate")
    n = whole(said.get("n"))
    if fate not in ("ready", "building", "failed", "started", "none", "no_uv", "no_folder") or n is None:
        return None
    version, packages = _packages(said.get("packages", ""))
    seconds, uv = whole(said.get("seconds")), said.get("uv")
    return Told(
        fate=fate, n=n, folder=said.get("folder", ""), prefix=said.get("prefix", ""), version=version,
        packages=packages, seconds=None if seconds is None else float(seconds), uv=None if uv is None else uv != "no",
        log=tuple(line[:500] for line in log.splitlines() if line.strip()),
    )  # fmt: skip


def _packages(text: str) -> tuple[str, dict[str, str]]:
    try:
        found = json.loads(text)
        return str(found["version"]), {str(name): str(version) for name, version in found["packages"].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", {}


def _word(text: str) -> str:
    """A program of our own, with its newlines, as one shell word."""
    return "'" + text.replace("'", "'\\''") + "'"
