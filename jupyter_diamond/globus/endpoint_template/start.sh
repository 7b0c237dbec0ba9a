#!/bin/sh
# Starts the agent of jupyter_diamond on this login node and leaves it running, for instance after maintenance:
#   sh ~/.globus_compute/jupyter-diamond/start.sh
# endpoint-setup keeps this file up to date.
folder=$(cd -- "$(dirname -- "$0")" && pwd) || exit 1
name=$(basename -- "$folder")
venv='@VENV@'
pidfile=$folder/daemon.pid
umask 077

# The agent finds its worker process on PATH, and every task its commands.
PATH=$venv/bin:$PATH
GLOBUS_COMPUTE_USER_DIR=$(dirname -- "$folder")
export PATH GLOBUS_COMPUTE_USER_DIR
# The agent itself gets the same thread caps as its worker.
caps=$(sed -n 's/^\([A-Z_][A-Z_]*\): "\([0-9][0-9]*\)"$/\1=\2/p' "$folder/user_environment.yaml")
for cap in $caps; do export "$cap"; done
# Where the user chose that an application of theirs owns this endpoint, and not they themselves.
[ -r "$folder/client.env" ] && . "$folder/client.env"

# A pid file that a crash or a reboot left behind would keep the agent from starting for a minute and a half.
if [ -s "$pidfile" ] && [ "$(cat "$folder/started_on" 2>/dev/null)" = "$(uname -n)" ]; then
  old=$(cat "$pidfile")
  case $(ps -o stat= -p "$old" 2>/dev/null) in
    '' | Z*) rm -f "$pidfile" ;;
    *) ps -o args= -p "$old" 2>/dev/null | grep -qi 'globus.compute' || rm -f "$pidfile" ;;
  esac
fi

# Written before it starts: whoever finds the pid file of an agent that was killed at once knows that it was here.
[ -s "$pidfile" ] || uname -n > "$folder/started_on"
cd / || exit 1
logged=$(wc -l < "$folder/endpoint.log" 2>/dev/null || echo 0)
globus-compute-endpoint start "$name" --detach </dev/null || {
  code=$?
  # what it says of another instance stands in its log only
  tail -n +"$((logged + 1))" "$folder/endpoint.log" 2>/dev/null | tail -n 20 >&2
  exit $code
}
waited=0
until [ -s "$pidfile" ]; do
  [ $waited -lt 30 ] || { echo "The agent did not come up; $folder/endpoint.log says why." >&2; exit 75; }
  waited=$((waited + 1))
  sleep 1
done
echo "Agent $name runs on $(uname -n) as process $(cat "$pidfile")."
