#!/usr/bin/env bash
# Types of the labextension. Installs its packages once, as its lock file says.
set -euo pipefail
cd "$(dirname "$0")/../../labextension"
export PATH="$(cd .. && pwd)/.venv/bin:$PATH"
if [ ! -e node_modules/.yarn-state.yml ] || [ yarn.lock -nt node_modules/.yarn-state.yml ]; then
  jlpm install --immutable
fi
jlpm check
