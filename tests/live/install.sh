#!/usr/bin/env bash
# Installs what the tests need into .venv. In CI, where every run installs all of it, by uv, which needs a quarter of the
# CPU that pip does and compiles on all cores. uv is told the index that pip has; where it finds no packages, pip does it.
set -euo pipefail
cd "$(dirname "$0")/../.."
wanted=(-c tests/constraints.txt -e '.[test]')
pip=("$PY" -m pip --disable-pip-version-check)

by_uv() {
  local index apart=.venv/installer  # not on PATH: tests tell a machine with uv from one without
  "${pip[@]}" install --quiet --target "$apart" uv || return
  index="$("${pip[@]}" config list | sed -n "s/^[:a-z]*\.index-url='\(.*\)'$/\1/p" | tail -n 1)"
  UV_HTTP_TIMEOUT=30 UV_NO_CONFIG=1 "$apart/bin/uv" pip install --quiet --system-certs --compile-bytecode --python "$PY" \
    ${index:+--default-index "$index"} "${wanted[@]}"
}

{ [ -n "${CI:-}" ] && by_uv; } || "${pip[@]}" install --quiet "${wanted[@]}"
