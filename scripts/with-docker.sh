#!/usr/bin/env bash
# Runs a command with the right to use Docker, also in a shell that is older than this user's membership in `docker`.
#
#   scripts/with-docker.sh COMMAND...
set -euo pipefail
me=$(id -un)
if ! docker info >/dev/null 2>&1 && id -nG "$me" | grep -qw docker; then
  # Not `sg docker`: it changes the primary group, and then newuidmap, which image builds need, refuses.
  exec sudo --preserve-env --user "$me" -- env "PATH=$PATH" "$@"
fi
exec "$@"
