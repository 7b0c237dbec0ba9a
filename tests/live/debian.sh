#!/usr/bin/env bash
# Debian packages that the live tests need: debian.sh [tests|slurm|python|packages]
#
# Installs what is missing where root or sudo is to be had, and prints on stdout the markers of the tests that cannot
# run on this machine ("slurm browser", or nothing). Says why on stderr. With CI set, something missing is an error.
# `python` and `packages` only install: what makes .venv, and what `tests` needs, before there is a .venv.
set -euo pipefail

slurm=(slurm-wlm slurmctld slurmd slurm-client slurmdbd slurm-wlm-basic-plugins slurm-wlm-mysql-plugin munge mariadb-server)
ssh=(openssh-server openssh-client rsync tcsh zsh fish)  # the shells are login shells of test users
browser=(chromium fonts-dejavu-core)
python=(python3-venv)
case "${1:-tests}" in
  tests | packages) wanted=("${slurm[@]}" "${ssh[@]}" "${browser[@]}") ;;
  slurm) wanted=("${slurm[@]}") ;;
  python) wanted=("${python[@]}") ;;
  *) echo "usage: debian.sh [tests|slurm|python|packages]" >&2; exit 2 ;;
esac

say() { echo "debian.sh: $*" >&2; }
has() { PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1; }
installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
can_install() { has apt-get && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; }

install_missing() {
  local missing=() known=() name
  for name in "${wanted[@]}"; do installed "$name" || missing+=("$name"); done
  [ ${#missing[@]} = 0 ] && return
  if ! can_install; then
    say "not installed, and neither root nor sudo without a password is to be had: ${missing[*]}"
    return
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=300 -qq update >&2
  for name in "${missing[@]}"; do  # some plugins are packages of their own in one release only
    if apt-cache show "$name" >/dev/null 2>&1; then known+=("$name"); fi
  done
  [ ${#known[@]} = 0 ] && return
  # The packages shall bring programs, not start services: the tests start their own.
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
    "${as_root[@]}" chmod 755 $policy
    made=yes
  fi
  local status=0
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -qq install -y \
    --no-install-recommends "${known[@]}" >&2 || status=$?
  [ -z "$made" ] || "${as_root[@]}" rm -f $policy
  return $status
}

install_missing
case "${1:-tests}" in python | packages) exit 0 ;; esac

without=()
if [ "$(id -u)" != 0 ]; then
  say "left out: tests on real Slurm clusters, which need root (run make test as root)"
  without+=(slurm)
  if [ "${1:-tests}" = tests ]; then
    say "left out: tests with users of their own, which need root"
    without+=(users)
  fi
elif ! { has slurmctld || has slurmctld-wlm; } || ! has mariadbd; then
  say "left out: tests on real Slurm clusters, which are not installed"
  without+=(slurm)
fi
if [ "${1:-tests}" = tests ] && ! { has sshd && has ssh && has rsync; }; then
  say "left out: tests over ssh, OpenSSH or rsync is not installed"
  without+=(sshd)
fi
if [ "${1:-tests}" = tests ] && ! has chromium; then
  say "left out: tests in a browser, Chromium is not installed"
  without+=(browser)
fi
if [ "${1:-tests}" = tests ] && ! "${PY:-python3}" -c 'import globus_compute_endpoint, globus_sdk' 2>/dev/null; then
  say "left out: tests with the Globus SDKs and agent, which are not installed (pip install globus-compute-endpoint globus-sdk)"
  without+=(globus)
fi
if [ ${#without[@]} != 0 ] && { [ -n "${CI:-}" ] || [ "${1:-tests}" = slurm ]; }; then
  say "nothing may be missing here"
  exit 1
fi
echo "${without[*]-}"
