"""The Ansible inventory of a rig: nodes as hosts, what the roles need as variables. Holds no secret."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.render import launch


def inventory(nodes: Sequence[Node], variables: Mapping[str, Any], *, ssh_config: Path) -> dict[str, Any]:
    """In the shape of a YAML inventory. Addresses and keys are in the ssh_config, which knows hosts by node name."""
    hosts = {node.name: {"trainrig_rank": node.rank, "ansible_become": node.ssh_user != "root"} for node in nodes}
    connection = {"ansible_ssh_common_args": f'-F "{ssh_config}"', "ansible_python_interpreter": "/usr/bin/python3"}
    return {"all": {"hosts": hosts, "vars": {**connection, **variables}}}


def role_variables(job: Job, offer: Offer, image: str, *, grace_seconds: int) -> dict[str, Any]:
    """What the roles' argument_specs ask for."""
    stop = job.checkpoints.save_signal if job.checkpoints else None
    return {
        "job_docker_arguments": launch.docker_arguments(job, offer, image),
        "job_save_signal": stop or "",
        "job_grace_seconds": grace_seconds,
    }


def converge_digest(roles: Mapping[str, bytes], variables: Mapping[str, Any]) -> str:
    """What a node is converged from: the files of the roles (path -> content) and their variables. A node that records
    this digest, and on which nothing moved since, needs no second look."""
    digest = hashlib.sha256(json.dumps(variables, sort_keys=True).encode())
    for path, content in sorted(roles.items()):
        digest.update(b"\0" + path.encode() + b"\0" + content)
    return digest.hexdigest()
