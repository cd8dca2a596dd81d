#!/usr/bin/env bash
# Removes what `make demo` and `make test` made in this folder and in Docker. Packages of the distribution stay.
set -euo pipefail
cd "$(dirname "$0")/.."

DOCKERD_PID=/run/trainrig-dockerd.pid

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if docker info >/dev/null 2>&1; then
  left=$(docker ps --all --quiet --filter label=managed-by=trainrig)
  if [ -n "$left" ]; then
    echo "error: nodes are still there: destroy the rigs first (trainrig status, trainrig destroy)" >&2
    exit 12
  fi
  docker image ls --format '{{.Repository}}:{{.Tag}}' 'trainrig-*' | xargs --no-run-if-empty docker image rm >/dev/null
fi
if [ -e "$DOCKERD_PID" ]; then
  as_root kill "$(cat "$DOCKERD_PID")"
fi
rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
