# The steps that make an agent of jupyter_diamond on a login node. Each can be run again at any time, also after one that
# was cut short. Set before: NAME, VENV, SPEC (what is installed), PYTHON (may be empty), MOVE (yes: also from another login
# node), HAND (yes: a person reads this in a terminal), LOCK_WAIT (seconds), CREDENTIALS (lines for client.env, or empty);
# and a function that prints the files of the template: template_file NAME.

set -u
umask 077
LC_ALL=C
export LC_ALL
DIR=${GLOBUS_COMPUTE_USER_DIR:-$HOME/.globus_compute}
FOLDER=$DIR/$NAME
LOCK=$DIR/.$NAME.lock
PIDFILE=$FOLDER/daemon.pid
NODE=$(uname -n)
case $VENV in '~/'*) VENV=$HOME/${VENV#'~/'} ;; esac
AGENT=$VENV/bin/globus-compute-endpoint
# Login nodes are shared: also while installing.
UV_CONCURRENT_DOWNLOADS=2 UV_CONCURRENT_BUILDS=2 UV_CONCURRENT_INSTALLS=2 RAYON_NUM_THREADS=2 TOKIO_WORKER_THREADS=2
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMEXPR_NUM_THREADS=1
export UV_CONCURRENT_DOWNLOADS UV_CONCURRENT_BUILDS UV_CONCURRENT_INSTALLS RAYON_NUM_THREADS TOKIO_WORKER_THREADS
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS MKL_NUM_THREADS NUMEXPR_NUM_THREADS

say() {
  if [ "$HAND" != yes ]; then printf '%s\037%s\n' "$1" "$2"; return; fi
  case $1 in did | note | problem) printf '%s\n' "$2" ;; esac
}

give_up() { # KIND SENTENCE
  say kind "$1"
  say problem "$2"
  exit 1
}

last_line() { sed -n 's/[[:space:]]*$//; /./p' "$1" 2>/dev/null | tail -n 1 | cut -c 1-300; }

# ---- one set-up at a time ----

holder_is_gone() {
  [ -n "$(find "$LOCK" -prune -mmin +60 2>/dev/null)" ] && return 0
  holder=$(cat "$LOCK/holder" 2>/dev/null)
  [ -n "$holder" ] || { [ -n "$(find "$LOCK" -prune -mmin +1 2>/dev/null)" ]; return; }
  [ "${holder% *}" = "$NODE" ] && ! kill -0 "${holder##* }" 2>/dev/null
}

take_lock() {
  [ -z "${LOCKED:-}" ] || return 0
  { mkdir -p "$DIR" && chmod 700 "$DIR"; } 2>/dev/null ||
    give_up folder "$DIR cannot be made or is not yours on $NODE: look with ls -ld '$DIR'."
  waited=0
  until mkdir "$LOCK" 2>/dev/null; do
    if holder_is_gone; then
      gone=$(cat "$LOCK/holder" 2>/dev/null)
      mv "$LOCK" "$LOCK.$$" 2>/dev/null || continue
      # somebody else may have taken the place of the one that is gone meanwhile
      [ "$(cat "$LOCK.$$/holder" 2>/dev/null)" = "$gone" ] || { mv "$LOCK.$$" "$LOCK" 2>/dev/null; continue; }
      rm -rf "$LOCK.$$"
      continue
    fi
    [ "$waited" -lt "$LOCK_WAIT" ] || give_up busy "Another set-up is at work ($(cat "$LOCK/holder" 2>/dev/null || echo \
      'it has just begun')): wait for its end, then run this again. If there is none, remove $LOCK."
    waited=$((waited + 1))
    sleep 1
  done
  LOCKED=yes
  trap 'rm -rf "$LOCK"' EXIT
  trap 'exit 1' HUP INT TERM PIPE
  sh -c 'echo "$1 $PPID"' - "$NODE" > "$LOCK/holder"
}

# ---- what is there ----

processes_allowed() {
  soft=$(awk '/^Max processes/ { print $3 }' /proc/self/limits 2>/dev/null)
  group=$(cat "/sys/fs/cgroup/user.slice/user-$(id -u).slice/pids.max" 2>/dev/null)
  least=unlimited
  for limit in $soft $group; do
    case $limit in
      *[!0-9]*) ;;
      *) if [ "$least" = unlimited ] || [ "$limit" -lt "$least" ]; then least=$limit; fi ;;
    esac
  done
  echo "$least"
}

agent_version() { # nothing when it cannot run
  [ -x "$AGENT" ] && "$AGENT" version </dev/null 2>/dev/null | sed -n 's/^Globus Compute endpoint version: *//p'
}

good_version() { # 4.19 and newer 4.x: what the template is written for
  case ${1:-} in
    4.*) minor=${1#4.}; minor=${minor%%.*}; [ "${minor%%[!0-9]*}" -ge 19 ] 2>/dev/null ;;
    *) return 1 ;;
  esac
}

endpoint_id() { sed -n 's/.*"endpoint_id": *"\([0-9a-f-]*\)".*/\1/p' "$FOLDER/endpoint.json" 2>/dev/null; }

is_agent() { ps -o args= -p "$1" 2>/dev/null | grep -qi 'globus.compute'; }

where_it_runs() { # here | elsewhere | nowhere; sets PID and RUNS_ON
  PID=$(cat "$PIDFILE" 2>/dev/null)
  RUNS_ON=$(cat "$FOLDER/started_on" 2>/dev/null)
  RUNS=nowhere
  [ -n "$PID" ] || return 0
  if [ -z "$RUNS_ON" ] || [ "$RUNS_ON" = "$NODE" ]; then
    if is_agent "$PID"; then RUNS=here RUNS_ON=$NODE; return 0; fi
    [ "$RUNS_ON" = "$NODE" ] && return 0
  fi
  # its agent touches the pid file every 15 s
  [ -z "$(find "$PIDFILE" -mmin +2 2>/dev/null)" ] && RUNS=elsewhere
  return 0
}

wanted() { template_file "$1" | sed "s|@VENV@|$VENV|"; }

differing() { # the files of the template that are not as they should be
  for file in user_config_template.yaml.j2 user_config_schema.json user_environment.yaml start.sh; do
    wanted "$file" | cmp -s - "$FOLDER/$file" || printf '%s ' "$file"
  done
}

has_engine() { grep -q '^engine[[:space:]]*:' "$FOLDER/config.yaml" 2>/dev/null; }

look() {
  say node "$NODE"
  say host "$(hostname -f 2>/dev/null || echo "$NODE")"
  say user "$(id -un)"
  say venv "$VENV"
  say folder "$FOLDER"
  version=$(agent_version)
  say version "$version"
  say python "$("$VENV/bin/python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)"
  if [ -f "$FOLDER/config.yaml" ]; then say configured yes; fi
  if has_engine; then say engine yes; fi
  say differing "$(differing)"
  say endpoint "$(endpoint_id)"
  where_it_runs
  say runs "$RUNS"
  if [ "$RUNS" != nowhere ]; then say pid "$PID"; say runs_on "${RUNS_ON:-another login node}"; fi
  say threads_allowed "$(processes_allowed)"
  say threads_used "$(ps -L -u "$(id -u)" -o lwp= 2>/dev/null | wc -l | tr -d ' ')"
  if grep -qs '^[[:space:]]*KillUserProcesses=\(yes\|true\|1\|on\)' /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf; then
    say ends_with_session yes
  fi
  say looked yes
}

# ---- the program ----

find_uv() { command -v uv || for uv in "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv"; do [ -x "$uv" ] && echo "$uv" && return; done; }

new_enough() { "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' </dev/null >/dev/null 2>&1; }

find_python() {
  if [ -n "$PYTHON" ]; then
    case $PYTHON in '~/'*) PYTHON=$HOME/${PYTHON#'~/'} ;; esac
    new_enough "$PYTHON" && command -v "$PYTHON"
    return
  fi
  for each in python3 python3.13 python3.12 python3.11 python3.10; do
    if command -v "$each" >/dev/null && new_enough "$each"; then command -v "$each"; return; fi
  done
  return 1
}

make_venv() { # with uv, else with a Python that is there
  [ -x "$VENV/bin/python" ] && new_enough "$VENV/bin/python" && { [ -n "$1" ] || "$VENV/bin/python" -m pip --version; } \
    >/dev/null 2>&1 && return
  python=$(find_python)
  if [ -n "$1" ]; then
    if [ -n "$PYTHON" ] && [ -z "$python" ]; then no_python; fi
    "$1" venv --quiet --allow-existing --python "${python:->=3.10}" "$VENV" </dev/null >>"$LOG" 2>&1
  else
    [ -n "$python" ] || no_python
    "$python" -m venv "$VENV" </dev/null >>"$LOG" 2>&1
  fi || give_up venv "$VENV could not be made on $NODE: $(last_line "$LOG") ($LOG holds all of it.)"
}

no_python() {
  if [ -n "$PYTHON" ]; then give_up python "$PYTHON is no Python 3.10 or newer on $NODE: name another one."; fi
  give_up python "$NODE has no Python 3.10 or newer on its PATH: name one with --python (where Python comes as a module: \
module load python; command -v python3)."
}

install() {
  version=$(agent_version)
  if good_version "$version"; then say version "$version"; return; fi
  take_lock
  LOG=$DIR/$NAME-install.log
  : > "$LOG"
  uv=$(find_uv)
  make_venv "$uv"
  if [ -n "$uv" ]; then
    "$uv" pip install --quiet --python "$VENV/bin/python" "$SPEC"
  else
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$SPEC"
  fi </dev/null >>"$LOG" 2>&1 || give_up install "$SPEC could not be installed on $NODE: $(last_line "$LOG") ($LOG holds \
all of it.) If nothing there reaches the internet, ask the site for its proxy and set https_proxy in ~/.bashrc there: the \
agent itself must reach compute.api.globus.org and port 443 of its message broker. Without a way out use transport: ssh. If \
only packages are out of reach, install it into $VENV by hand. Then run this again."
  version=$(agent_version)
  good_version "$version" || give_up install "$AGENT does not run on $NODE after its installation (${version:-no version}): \
remove $VENV and run this again."
  say version "$version"
  say did "globus-compute-endpoint $version is installed in $VENV."
}

# ---- its configuration ----

put() { # NAME: from standard input, whole or not at all
  cat > "$FOLDER/.$1.$$" && mv -f "$FOLDER/.$1.$$" "$FOLDER/$1" ||
    give_up folder "$FOLDER/$1 cannot be written on $NODE: look at its rights and at the quota of your home."
}

configure() {
  take_lock
  mkdir -p "$FOLDER" 2>/dev/null || give_up folder "$FOLDER cannot be made on $NODE."
  chmod 700 "$FOLDER"
  changed=$(differing)
  for file in $changed; do
    if [ -f "$FOLDER/$file" ]; then cp -p "$FOLDER/$file" "$FOLDER/$file.before"; fi
    wanted "$file" | put "$file" || exit 1
  done
  if [ -n "$CREDENTIALS" ]; then
    printf '%s\n' "$CREDENTIALS" | cmp -s - "$FOLDER/client.env" || {
      printf '%s\n' "$CREDENTIALS" | put client.env || exit 1
      changed="${changed}client.env "
    }
  fi
  if [ ! -f "$FOLDER/config.yaml" ]; then
    wanted config.yaml | sed "s|^display_name: .*|display_name: $NAME|" | put config.yaml || exit 1
    changed="${changed}config.yaml "
  elif has_engine; then
    give_up engine "$FOLDER/config.yaml on $NODE holds an engine block, with which no agent starts; it is yours, so it was not \
touched: move the block away (the engine is in user_config_template.yaml.j2 now), then run this again."
  fi
  say changed "$changed"
  if [ -n "$changed" ]; then say did "Written in $FOLDER: ${changed% }."; fi
}

# ---- who it is, and its life ----

as_the_agent() { # Python that is given on standard input, with what the agent itself would be started with
  (
    if [ -r "$FOLDER/client.env" ]; then . "$FOLDER/client.env"; fi
    cd / && "$VENV/bin/python" -W ignore - "$FOLDER" 2>"$DIR/.$NAME-ask.$$"
    code=$?
    last_line "$DIR/.$NAME-ask.$$" > "$DIR/.$NAME-said"
    rm -f "$DIR/.$NAME-ask.$$"
    exit $code
  )
}

who() {
  identity=$(as_the_agent <<'PYTHON'
import sys
from globus_compute_endpoint.auth import get_globus_app_with_scopes
from globus_compute_sdk.sdk.auth.auth_client import ComputeAuthClient
from globus_sdk import AuthAPIError, ClientApp
app = get_globus_app_with_scopes()
if app.login_required():
    if not isinstance(app, ClientApp):
        sys.exit(3)
    app.login()
try:
    said = ComputeAuthClient(app=app).userinfo()
except AuthAPIError as problem:
    if problem.http_status in (400, 401, 403):
        sys.exit(3)
    raise
print(said.get("preferred_username") or said["sub"])
PYTHON
  )
  case $? in
    0) say identity "$identity" ;;
    3) give_up needs_login "The agent on $NODE is not signed in to Globus yet, and only you can do that. Type there: \
$AGENT login" ;;
    *) give_up globus "Globus Auth did not answer the agent on $NODE: $(cat "$DIR/.$NAME-said"). If nothing there reaches the \
internet, no agent can run there: ask the site for its proxy, or use transport: ssh." ;;
  esac
}

stop() {
  where_it_runs
  case $RUNS in
    elsewhere)
      [ "$MOVE" = yes ] || give_up elsewhere "The agent runs on ${RUNS_ON:-another login node} as process $PID, and $NODE \
cannot restart it there: run this again for that node, or with --move to have it on $NODE from now on."
      rm -f "$PIDFILE" # the agent's own way to be told from another node: it looks every 15 s
      say did "The agent on ${RUNS_ON:-another login node} is told to end."
      sleep 20
      return ;;
    nowhere) return ;;
  esac
  kill "$PID" 2>/dev/null
  waited=0
  while is_agent "$PID"; do
    [ "$waited" -ne 15 ] || kill -9 "$PID" 2>/dev/null
    [ "$waited" -lt 20 ] || give_up stop "The agent (process $PID on $NODE) does not end: kill it there by hand."
    waited=$((waited + 1))
    sleep 1
  done
  rm -f "$PIDFILE"
  say did "The agent (process $PID) was ended, to start with what has changed."
}

start() {
  take_lock
  if [ "${1:-}" = again ]; then stop; fi
  where_it_runs
  if [ "$RUNS" = nowhere ]; then
    said=$(sh "$FOLDER/start.sh" 2>&1) || give_up start "The agent does not start on $NODE: \
$(printf '%s\n' "$said" | sed -n 's/[[:space:]]*$//; /./p' | tail -n 1 | cut -c 1-300) ($FOLDER/endpoint.log holds more.)"
    where_it_runs
    say did "The agent is started."
  fi
  say runs "$RUNS"
  say pid "$PID"
  say runs_on "${RUNS_ON:-another login node}"
  say endpoint "$(endpoint_id)"
}

online() { # until the services know it
  as_the_agent <<'PYTHON'
import json, pathlib, sys, time
import yaml
from globus_compute_endpoint.auth import get_globus_app_with_scopes
from globus_compute_sdk import Client
folder = pathlib.Path(sys.argv[1])
config = yaml.safe_load((folder / "config.yaml").read_text()) or {}
client = Client(do_version_check=False, app=get_globus_app_with_scopes(),
                local_compute_services=config.get("local_compute_services") is True)
endpoint = json.loads((folder / "endpoint.json").read_text())["endpoint_id"]
for _ in range(20):
    status = client.get_endpoint_status(endpoint).get("status")
    if status == "online":
        break
    time.sleep(2)
else:
    sys.exit(f"its status is {status}")
PYTHON
  [ $? = 0 ] || give_up offline "The agent runs on $NODE, but Globus Compute does not call it online \
($(cat "$DIR/.$NAME-said")): $FOLDER/endpoint.log says more. Run this again once that is mended."
  say endpoint "$(endpoint_id)"
  say online yes
}

by_hand() { # all of it, in a terminal
  install
  configure
  again=
  if [ -n "$changed" ]; then again=again; fi
  (who) || {
    [ -t 0 ] || exit 1
    "$AGENT" login && (who) || exit 1
  }
  start $again
  online
  say did "Endpoint $(endpoint_id) is online: process $PID on $RUNS_ON."
}
