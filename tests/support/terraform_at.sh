#!/bin/sh
# Stands before the real terraform on PATH. At the step $AT (`plan`, or `after-plan` for its end) it writes a mark, runs
# $AT_DO, and waits a moment to be shot at; everything else it passes on.
at() {
  touch "$STUB_CLOUD/at-step"
  sh -c "${AT_DO:-true}"
  sleep "${AT_SECONDS:-0.5}"
}
if [ "$1" = "$AT" ] && [ ! -e "$STUB_CLOUD/at-step" ]; then at; fi
if [ "after-$1" = "$AT" ] && [ ! -e "$STUB_CLOUD/at-step" ]; then
  "$REAL_TERRAFORM" "$@"
  code=$?
  at
  exit $code
fi
exec "$REAL_TERRAFORM" "$@"
