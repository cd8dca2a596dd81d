"""What one launch of a job is on its nodes: container arguments, environment and scripts. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.render import mpi

CONTAINER = "trainrig-job"
UNIT = "trainrig-job.service"
DATA = "/usr/local/lib/trainrig/data"  # of the role `data`
NODE_DIR = PurePosixPath("/srv/trainrig")  # on the node: workdir, checkpoints, outputs, mounts
SECRET_DIR = PurePosixPath("/run/trainrig/job")  # on the node, tmpfs: env file and scripts of the launch
WORKDIR = "/workdir"
CHECKPOINTS = "/checkpoints"
OUTPUTS = "/outputs"
NCCL_CONF = PurePosixPath("/etc/nccl.conf")  # written by the role `fabric`, read by NCCL
MASTER_PORT = 29500
GRACE_SECONDS = 30  # from the save signal to the kill, when the cloud's notice is not shorter


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """One launch of a job on all nodes of a rig. `generation` rises with every recovery."""

    job: Job
    nodes: tuple[Node, ...]
    offer: Offer
    image: str
    rig: str
    run_id: str
    generation: int = 0
    grace_seconds: int = GRACE_SECONDS

    @property
    def master(self) -> Node:
        return min(self.nodes, key=lambda n: n.rank)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bind:
    """A path of the node seen at a path of the container."""

    source: PurePosixPath
    target: str
    read_only: bool = False


def checkpoint_path(job: Job) -> str:
    return job.checkpoints.path if job.checkpoints else CHECKPOINTS


def container_path(path: str) -> str:
    """`~` is the home of the container's root; what is relative is under the working directory."""
    if path == "~" or path.startswith("~/"):
        return "/root" + path[1:]
    return str(PurePosixPath(WORKDIR) / path)


def mount_source(index: int) -> PurePosixPath:
    """Where the node keeps the job's mount of that index: a directory, or a file when the source is one."""
    return NODE_DIR / "mounts" / str(index)


def binds(job: Job) -> tuple[Bind, ...]:
    """All paths that outlive the container, outer before inner; a mount of the job replaces one of ours."""
    ours: tuple[Bind, ...] = (
        Bind(source=NODE_DIR / "workdir", target=WORKDIR),
        Bind(source=NODE_DIR / "workdir", target="/root/sky_workdir"),
        Bind(source=NODE_DIR / "checkpoints", target=container_path(checkpoint_path(job))),
        Bind(source=NODE_DIR / "outputs", target=OUTPUTS),
        Bind(source=SECRET_DIR / "scripts", target="/trainrig", read_only=True),
    )
    if job.launch == "mpi":
        ours = (*ours, Bind(source=SECRET_DIR / "gang", target=mpi.GANG))
    theirs = (
        Bind(source=mount_source(i), target=container_path(m.target), read_only=m.read_only)
        for i, m in enumerate(job.mounts)
    )
    by_target = {b.target: b for b in (*ours, *theirs)}
    return tuple(sorted(by_target.values(), key=lambda b: b.target.count("/")))


def node_path(job: Job, path: str) -> PurePosixPath | None:
    """Where the node has a container's path, None when only the container has it."""
    target = PurePosixPath(container_path(path))
    holders = [b for b in binds(job) if target.is_relative_to(b.target)]
    if not holders:
        return None
    holder = max(holders, key=lambda b: len(b.target))
    return holder.source / target.relative_to(holder.target)


def docker_arguments(job: Job, offer: Offer, image: str, fabric: Fabric = ETHERNET) -> list[str]:
    """What follows `docker run`. The environment is not here: it may hold secrets."""
    shm_gib = max(1, int(offer.memory_gib // 2))
    arguments = [
        f"--name={CONTAINER}",
        "--init",
        "--env=TINI_KILL_PROCESS_GROUP=1",
        f"--env-file={SECRET_DIR / 'job.env'}",
        "--network=host",
        f"--shm-size={shm_gib}g",
        "--log-driver=none",  # the journal has the lines: it is attached to the client's stdout
        "--pull=never",
        f"--workdir={job.start_in or WORKDIR}",
        "--entrypoint=/bin/sh",
    ]
    arguments += [f"--volume={b.source}:{b.target}{':ro' if b.read_only else ''}" for b in binds(job)]
    if offer.gpu_count:
        arguments += ["--gpus=all", "--ulimit=memlock=-1", "--ulimit=stack=67108864"]
    if fabric.kind != "none":
        arguments.append(f"--volume={NCCL_CONF}:{NCCL_CONF}:ro")
    if fabric.verbs:
        arguments += ["--device=/dev/infiniband", "--cap-add=IPC_LOCK"]
    return [*arguments, *job.container_options, image, "/trainrig/job.sh"]


def environment(launch: Launch, node: Node) -> dict[str, str]:
    """The container's variables; the job's own win over ours. Holds secrets."""
    job, offer = launch.job, launch.offer
    count, gpus = str(len(launch.nodes)), str(offer.gpu_count)
    addresses = "\n".join(n.private_ip for n in sorted(launch.nodes, key=lambda n: n.rank))
    place = {"cluster_name": launch.rig, "cloud": offer.cloud, "region": offer.region, "zone": offer.zone}
    rank, master = str(node.rank), launch.master.private_ip
    ours = {
        "PYTHONUNBUFFERED": "1",
        "TRAINRIG_RIG": launch.rig,
        "TRAINRIG_RUN_ID": launch.run_id,
        "TRAINRIG_JOB": job.name,
        "TRAINRIG_GENERATION": str(launch.generation),
        "TRAINRIG_RANK": rank,
        "TRAINRIG_NODES": count,
        "TRAINRIG_NODE_IPS": addresses,
        "TRAINRIG_GPUS_PER_NODE": gpus,
        "TRAINRIG_CHECKPOINT_DIR": container_path(checkpoint_path(job)),
        "TRAINRIG_OUTPUT_DIR": OUTPUTS,
        "TRAINRIG_CLOUD": offer.cloud,
        "TRAINRIG_REGION": offer.region,
        "SKYPILOT_NODE_RANK": rank,
        "SKYPILOT_NODE_IPS": addresses,
        "SKYPILOT_NUM_NODES": count,
        "SKYPILOT_NUM_GPUS_PER_NODE": gpus,
        "SKYPILOT_SETUP_NODE_RANK": rank,
        "SKYPILOT_SETUP_NODE_IPS": addresses,
        "SKYPILOT_SETUP_NUM_GPUS_PER_NODE": gpus,
        "SKYPILOT_TASK_ID": f"trainrig-{launch.rig}-{launch.run_id}",
        "SKYPILOT_CLUSTER_INFO": json.dumps(place),
        "SKYPILOT_USER": "trainrig",
        "MASTER_ADDR": master,
        "MASTER_PORT": str(MASTER_PORT),
        # torchrun reads its options from PET_*, so a plain `torchrun train.py` spans the rig
        "PET_NNODES": count,
        "PET_NODE_RANK": rank,
        "PET_NPROC_PER_NODE": str(_slots(offer)),
        "PET_MASTER_ADDR": master,
        "PET_MASTER_PORT": str(MASTER_PORT),
    }
    return {**ours, **mpi.environment(job, launch.nodes), **job.env, **job.secrets}


def env_file(variables: Mapping[str, str]) -> str:
    """Docker's --env-file has no newlines in values, so they travel escaped and job.sh undoes it."""
    lines, escaped = [], []
    for name, value in variables.items():
        if "\n" in value or "\r" in value:
            escaped.append(name)
            value = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        lines.append(f"{name}={value}")
    return "\n".join([*lines, f"TRAINRIG_ESCAPED={' '.join(escaped)}"]) + "\n"


def scripts(launch: Launch, node: Node) -> dict[str, str]:
    """File name -> text, for /trainrig in the container. Equal on all nodes but for what `launch:` asks for."""
    job = launch.job
    files = {"job.sh": _UNESCAPE + _JOB_SH, "run.sh": _TRAP + (job.run or "")}
    if job.setup:
        files["setup.sh"] = job.setup
    if job.launch == "mpi":
        head = environment(launch, launch.master)
        files |= mpi.scripts(
            launch.nodes,
            node,
            slots=_slots(launch.offer),
            grace_seconds=launch.grace_seconds,
            own={k: v for k, v in environment(launch, node).items() if v != head[k]},
            unescape=_UNESCAPE,
        )
    else:
        files["command"] = _command(launch, node)
    return {name: text if text.endswith("\n") else text + "\n" for name, text in files.items()}


def _slots(offer: Offer) -> int:
    """Processes of a node: one a GPU."""
    return max(1, offer.gpu_count)


def _command(launch: Launch, node: Node) -> str:
    """How run.sh is started on this node; `$shell` is bash where the image has it."""
    run = '"$shell" /trainrig/run.sh'
    match launch.job.launch:
        case None:
            return f"exec {run}"
        case "torchrun":
            return f"exec torchrun --no-python {run}"
        case "ray":
            address = shlex.quote(f"{launch.master.private_ip}:6379")
            if node.rank != launch.master.rank:
                # It may be here before the head is, and it lasts as long as the head does.
                alive = f"ray status --address={address} >/dev/null 2>&1"
                return f"until ray start --address={address}; do sleep 2; done; while {alive}; do sleep 5; done"
            return f'ray start --head --port=6379 && {run}; code=$?; ray stop; exit "$code"'
        case launcher:
            raise ValueError(launcher)  # the job file's reader knows no other


# A shell dies at once of a signal for its whole group, before the training process has saved. With this trap it
# waits for the command in the foreground and then ends with that command's code.
_TRAP = """trap 'exit $?' TERM INT USR1 USR2
if command -v conda >/dev/null 2>&1; then eval "$(conda shell.posix hook 2>/dev/null)"; fi
"""

_UNESCAPE = r"""# Docker's env file has no newlines in values; here they are put back.
for name in $TRAINRIG_ESCAPED; do
  eval "value=\$$name"
  value=$(printf '%b_' "$value")
  eval "$name=\${value%_}; export $name"
done
unset TRAINRIG_ESCAPED
"""

_JOB_SH = r"""# Entry point of the container: runs setup once, then the job.
if command -v bash >/dev/null 2>&1; then shell=bash; else shell=sh; fi
if [ -f /trainrig/setup.sh ]; then
  "$shell" /trainrig/setup.sh || { code=$?; echo "trainrig: setup failed with exit code $code" >&2; exit "$code"; }
fi
. /trainrig/command
"""
