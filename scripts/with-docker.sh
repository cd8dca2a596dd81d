#!/usr/bin/env bash
# Runs a command with the right to use Docker, also in a shell that is older than this user's membership in `docker`.
#
#   scripts/with-docker.sh COMMAND...
set -euo pipefail
if ! docker info >/dev/null 2>&1 && id -nG "$(id -un)" | grep -qw docker; then
  printf -v line '%q ' "$@"
  exec sg docker -c "exec $line"
fi
exec "$@"
