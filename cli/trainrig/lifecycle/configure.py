"""Makes nodes what the job needs: SSH up, roles converged."""

from __future__ import annotations

from pathlib import Path

from trainrig import assets
from trainrig.model.events import Observer, Progress
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.render import launch
from trainrig.render.inventory import inventory, role_variables
from trainrig.tools import ansible
from trainrig.tools.ssh import Ssh, connect, wait_ready

READY_SECONDS = 300


def configure(
    rig: Path,
    job: Job,
    offer: Offer,
    nodes: tuple[Node, ...],
    image: str,
    observe: Observer,
    *,
    grace_seconds: int = launch.GRACE_SECONDS,
    ready_seconds: float = READY_SECONDS,
) -> Ssh:
    """Waits for SSH and converges the roles on all nodes at once. Running it again changes nothing.

    Args:
        rig: the rig's folder, with the key that `tools.ssh.make_key` made before apply.
        image: the container that the job's unit will run.

    Returns:
        The open way to the nodes; the caller closes it.

    Raises:
        ConfigureFailed: a node did not answer in time, or a task failed.
    """
    ssh = connect(rig, nodes)
    wait_ready(
        ssh,
        timeout_seconds=ready_seconds,
        on_ready=lambda node: observe(Progress(phase="configure", message="SSH is up", node=node.name)),
    )
    variables = role_variables(job, offer, image, grace_seconds=grace_seconds)
    recap = ansible.run_playbook(
        assets.path("ansible") / "playbooks" / "configure.yml",
        inventory(ssh.nodes, variables, ssh_config=ssh.config),
        directory=rig / "ansible",
        observe=observe,
    )
    observe(Progress(phase="configure", message=f"{len(recap.changed)} changes on {len(nodes)} nodes", done=1, total=1))
    return ssh
