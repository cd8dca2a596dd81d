"""The Ansible inventory of a rig: nodes as hosts, what the roles need as variables. Holds no secret."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.render import launch


def inventory(nodes: Sequence[Node], variables: Mapping[str, Any], *, ssh_config: Path) -> dict[str, Any]:
    """In the shape of a YAML inventory. Addresses and keys are in the ssh_config, which knows hosts by node name."""
    hosts = {node.name: {"trainrig_rank": node.rank, "ansible_become": node.ssh_user != "root"} for node in nodes}
    connection = {
        "ansible_ssh_common_args": f'-F "{ssh_config}"',
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_become_exe": "/usr/bin/sudo",
    }
    return {"all": {"hosts": hosts, "vars": {**connection, **variables}}}


# Machines whose GPUs are joined by NVSwitch; their driver needs a fabric manager.
_NVSWITCH = ("A100", "H100", "H200", "B200", "B300")


def role_variables(
    job: Job,
    offer: Offer,
    image: str,
    *,
    driver: str | None = None,
    fabric: Fabric = ETHERNET,
    bucket: str | None = None,
    grace_seconds: int = launch.GRACE_SECONDS,
) -> dict[str, Any]:
    """What the roles' argument_specs ask for.

    Args:
        driver: the one that the machine image was chosen for. A node of the local cloud has its host's driver, and
            no role can change that.
        fabric: the network between the nodes, see clouds/<cloud>/fabric.py.
        bucket: URL of a store that the nodes themselves write to.
    """
    gpus = offer.gpu_count
    pin = "" if offer.cloud == "local" else job.pins.driver or driver or ""
    mounts = [
        {"index": index, "source": mount.source, "mode": mount.mode.value, "read_only": mount.read_only}
        for index, mount in enumerate(job.mounts)
        if mount.source and "://" in mount.source
    ]
    signal = (job.checkpoints.save_signal if job.checkpoints else None) or ""
    return {
        "trainrig_gpus": gpus,
        "trainrig_multi_node": job.nodes > 1,
        "agent_cloud": offer.cloud,
        "agent_save_signal": signal,
        "trainrig_data": bool(mounts or bucket),
        "data_mounts": mounts,
        "trainrig_metrics": job.metrics,
        "metrics_gpus": gpus > 0,
        "data_s3_endpoint": job.s3_endpoint or "",
        # Nodes of the local cloud are made from this machine's distribution, whose mirror is all that they need.
        "data_rclone_source": "distribution" if offer.cloud == "local" else "upstream",
        "fabric_kind": fabric.kind,
        "fabric_cards": fabric.cards,
        "nvidia_driver_version": pin,
        "nvidia_driver_gpu_count": gpus,
        "nvidia_driver_module": "proprietary"
        if (offer.gpu or "").startswith(("V100", "P100", "P4", "K80"))
        else "open",
        "nvidia_driver_fabric_manager": gpus >= 8 and (offer.gpu or "").startswith(_NVSWITCH),
        "container_runtime_gpus": gpus > 0,
        "job_docker_arguments": launch.docker_arguments(job, offer, image, fabric),
        "job_mpi": job.launch == "mpi" and job.nodes > 1,
        "job_save_signal": signal,
        "job_grace_seconds": grace_seconds,
    }


def converge_digest(roles: Mapping[str, bytes], variables: Mapping[str, Any]) -> str:
    """What a node is converged from: the files of the roles (path -> content) and their variables. A node that records
    this digest, and on which nothing moved since, needs no second look."""
    digest = hashlib.sha256(json.dumps(variables, sort_keys=True).encode())
    for path, content in sorted(roles.items()):
        digest.update(b"\0" + path.encode() + b"\0" + content)
    return digest.hexdigest()
