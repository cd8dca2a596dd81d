"""How `launch: mpi` runs: mpirun in the container of the lowest rank, its daemons in those of the other nodes. Pure.

mpirun starts its daemons with a remote shell, and a container has none. Ours (`reach`) hands the command to the node,
the node carries it over SSH to the other one, and there it enters the job's container: so an image needs no more than
an MPI. Keys are made for one launch, open nothing but that door, and go with the job.

A signal of ours reaches the ranks from the container that they are in, and never mpirun, which would kill them within a
second or two. A rank that has ended after such a signal is held back until all have, for the same reason.
"""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainrig.model.job import Job
from trainrig.model.node import Node

PORT = 29522  # of the sshd that lives as long as the job, beside MASTER_PORT
GANG = "/trainrig-gang"  # in the container, shared with its node: who is ready, which ranks run, what is asked for
ENTER = PurePosixPath("/usr/local/lib/trainrig/mpi-enter")  # on the node, see roles/job


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    private: str  # OpenSSH format
    public: str  # "ssh-ed25519 AAAA..."


def environment(job: Job, nodes: Sequence[Node]) -> dict[str, str]:
    """What Open MPI 4 (OMPI_MCA), Open MPI 5 (PRTE_MCA) and the Hydra of MPICH and Intel MPI read."""
    if job.launch != "mpi":
        return {}
    variables = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",  # whom the image runs as is not for mpirun to judge
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        # A rank has threads that load data: on one core they would wait for each other.
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_rmaps_base_mapping_policy": "slot",
        "PRTE_MCA_rmaps_default_mapping_policy": "slot",
        # Also on one node: some builds refuse to start where they find no remote shell.
        "OMPI_MCA_plm_rsh_agent": _AGENT,
        "PRTE_MCA_plm_ssh_agent": _AGENT,
    }
    if len(nodes) == 1:
        return variables
    network = _network(nodes)
    return variables | {
        "OMPI_MCA_plm_rsh_no_tree_spawn": "1",  # only the head may enter other nodes
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        # Every node has a docker0 of the same address, and who talks to that talks to itself.
        "OMPI_MCA_oob_tcp_if_include": network,
        "OMPI_MCA_btl_tcp_if_include": network,
        "PRTE_MCA_prte_if_include": network,
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": _HYDRA_AGENT,
        "I_MPI_HYDRA_BOOTSTRAP": "rsh",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC": _HYDRA_AGENT,
    }


def scripts(
    nodes: Sequence[Node], node: Node, *, slots: int, grace_seconds: int, own: Mapping[str, str], unescape: str
) -> dict[str, str]:
    """File name -> text, for /trainrig.

    Args:
        own: variables that differ from node to node; Hydra gives all ranks those of the head.
        unescape: the lines of job.sh that restore variables with newlines.
    """
    head, *others = sorted(nodes, key=lambda n: n.rank)
    variables = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in own.items())
    files = {"gang.sh": _GANG, "rank.sh": variables + _RANK.replace("@GRACE@", str(grace_seconds))}
    if node.rank != head.rank:
        return {**files, "enter.sh": unescape + _ENTER, "command": _WAIT}
    command = (
        _HEAD.replace("@OTHERS@", " ".join(n.private_ip for n in others))
        .replace("@RANKS@", str(slots * len(nodes)))
        .replace("@HOSTS@", ",".join(f"{n.private_ip}:{slots}" for n in (head, *others)))
    )
    return {**files, **({"reach": _REACH} if others else {}), "command": command}


def private_files(nodes: Sequence[Node], node: Node, *, head_key: Key, host_keys: Mapping[int, Key]) -> dict[str, str]:
    """File name -> text, for root of the node alone, of a job on several nodes; `host_keys`: rank -> key."""
    head, *others = sorted(nodes, key=lambda n: n.rank)
    if node.rank == head.rank:
        known = [f"[{n.private_ip}]:{PORT} {host_keys[n.rank].public}" for n in others]
        return {"id_ed25519": head_key.private, "known_hosts": "\n".join(known) + "\n", "address": head.private_ip}
    options = f'restrict,from="{head.private_ip}",command="{ENTER}"'
    return {
        "host_key": host_keys[node.rank].private,
        "authorized_keys": f"{options} {head_key.public}\n",
        "sshd_config": _SSHD.replace("@ADDRESS@", node.private_ip),
    }


def _network(nodes: Sequence[Node]) -> str:
    """The smallest network that all nodes' addresses are in."""
    addresses = [ipaddress.ip_address(n.private_ip) for n in nodes]
    network = ipaddress.ip_network(addresses[0])
    while not all(address in network for address in addresses):
        network = network.supernet()
    return str(network)


_AGENT = "/bin/sh /trainrig/reach"
_HYDRA_AGENT = "/tmp/trainrig-reach"  # noqa: S108 - Hydra wants one word that can be executed, and /run cannot

_SSHD = f"""# Lives as long as the job. One key opens it, from one address, into the job's container and nowhere else.
Port {PORT}
ListenAddress @ADDRESS@
HostKey /run/trainrig/job/mpi/host_key
AuthorizedKeysFile /run/trainrig/job/mpi/authorized_keys
AuthenticationMethods publickey
PermitRootLogin forced-commands-only
AllowUsers root
ForceCommand {ENTER}
DisableForwarding yes
PermitTTY no
PermitUserRC no
PermitUserEnvironment no
UseDNS no
UsePAM yes
MaxStartups 64
PidFile none
"""

_GANG = rf"""# Sourced by the head and by those who wait: hands signals of ours to the ranks of this container.
gang={GANG}
tell() {{
  : >"$gang/told"
  for rank in "$gang"/ranks/*; do kill -s "$1" -- "-${{rank##*/}}" 2>/dev/null; done
}}
# `running`, or how it ended: the first code that is not 0, and that of SIGTERM where no rank has begun.
state() {{
  worst=''
  for rank in "$gang"/ranks/*; do
    [ -e "$rank" ] || break
    code=137
    if [ -s "$gang/codes/${{rank##*/}}" ]; then
      read -r code <"$gang/codes/${{rank##*/}}"
    elif kill -s 0 "${{rank##*/}}" 2>/dev/null; then
      echo running
      return
    fi
    case $worst in '' | 0) worst=$code ;; esac
  done
  echo "${{worst:-143}}"
}}
# A rank that has failed, once it is clear that mpirun lets the others go on: Hydra leaves that to MPI_Abort.
patience=20
failed=''
look() {{
  [ -e "$gang/told" ] && return
  for code in "$gang"/codes/*; do
    if [ -s "$code" ]; then read -r code <"$code"; else code=0; fi
    [ "$code" = 0 ] && continue
    patience=$((patience - 1))
    [ "$patience" -gt 0 ] || failed=$code
    return
  done
}}
for name in TERM INT HUP USR1 USR2; do trap "tell $name" "$name"; done
need() {{
  command -v "$1" >/dev/null 2>&1 && return
  echo "trainrig: launch: mpi needs $1 on the image's PATH; $2" >&2
  exit 127
}}
need setsid "it is in the package util-linux"
# What waits here is in a session of its own: a signal for the container must not end it, nor be spoken of.
pause() {{ setsid sleep 0.5; }}
reach() {{ setsid /bin/sh /trainrig/reach "$@"; }}
"""

_RANK = rf"""# One rank, started by mpirun; the leader of a process group, in which mpirun and we find all of it.
read -r stat </proc/$$/stat
set -- $stat
[ "$5" = "$1" ] || exec setsid /bin/sh /trainrig/rank.sh
gang={GANG}
: >"$gang/ranks/$$"
trap : TERM INT HUP USR1 USR2
if command -v bash >/dev/null 2>&1; then shell=bash; else shell=sh; fi
"$shell" /trainrig/run.sh
code=$?
echo "$code" >"$gang/codes/$$"
left=@GRACE@
while [ -e "$gang/told" ] && [ "$left" -gt 0 ]; do
  setsid sleep 1
  left=$((left - 1))
done
exit "$code"
"""

_ENTER = """exec /bin/sh -c "$1"
"""

_WAIT = """. /trainrig/gang.sh
: >"$gang/ready"
until [ -s "$gang/end" ]; do
  pause
  look
  if [ -n "$failed" ]; then exit "$failed"; fi
done
read -r code <"$gang/end"
exit "$code"
"""

_REACH = rf"""# reach ADDRESS COMMAND...: runs it in the job's container on the node of that address, as ssh would.
node=$1
shift
asked=$(mktemp {GANG}/asked/XXXXXXXX) || exit 255
printf '%s\n%s' "$node" "$*" >"$asked.new" && mv "$asked.new" "$asked.ask" || exit 255
looks=0
until [ -e "$asked.code" ]; do
  looks=$((looks + 1))
  if [ "$looks" -lt 50 ]; then sleep 0.1; else sleep 1; fi
done
cat "$asked.out"
cat "$asked.err" >&2
read -r code <"$asked.code"
rm -f "$asked" "$asked.out" "$asked.err" "$asked.code"
exit "$code"
"""

_HEAD = rf""". /trainrig/gang.sh
others="@OTHERS@"
need mpirun "take an image with Open MPI 4 or 5, MPICH or Intel MPI, or another launch"
if [ -n "$others" ]; then cp /trainrig/reach {_HYDRA_AGENT} && chmod 755 {_HYDRA_AGENT}; fi
for node in $others; do
  until reach "$node" "test -e $gang/ready" >/dev/null 2>&1; do
    [ -e "$gang/told" ] && exit 143
    pause
  done
done
# The worst code, once no rank runs any more on any node. A node that does not answer has none that runs.
over() {{
  found=$(state)
  [ "$found" = running ] && return 1
  for node in $others; do
    theirs=$(reach "$node" '. /trainrig/gang.sh; state' 2>/dev/null) || theirs=255
    [ "$theirs" = running ] && return 1
    [ "$found" = 0 ] && found=$theirs
  done
  echo "$found"
}}
setsid mpirun -np @RANKS@ --host @HOSTS@ /bin/sh /trainrig/rank.sh &
mpirun=$!
ends=''
while [ -z "$ends" ] && kill -s 0 "$mpirun" 2>/dev/null; do
  pause
  look
  if [ -e "$gang/told" ]; then ends=$(over); else ends=$failed; fi
done
if [ -n "$ends" ]; then kill -s KILL "$mpirun" 2>/dev/null; fi
wait "$mpirun" 2>/dev/null # which would say that it was killed
code=${{ends:-$?}}
for node in $others; do
  reach "$node" "echo $code >$gang/end.new && mv $gang/end.new $gang/end" >/dev/null 2>&1 &
done
wait
exit "$code"
"""
