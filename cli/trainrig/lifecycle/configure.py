"""Makes nodes what the job needs: SSH up, roles converged."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from trainrig import assets
from trainrig.errors import CommandFailed, ConfigureFailed
from trainrig.model.events import Observer, Progress
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.recovery.node_advice import advice
from trainrig.render import launch
from trainrig.render.inventory import converge_digest, inventory, role_variables
from trainrig.tools import ansible
from trainrig.tools.ssh import Ssh, connect, in_parallel, wait_ready

CONVERGED, CHECKED = "ansible", "ansible-check"  # in the folder of the rig; one Ansible at a time in each
READY_SECONDS = 300
STORE_SECRETS = PurePosixPath("/run/trainrig/data.json")  # read by the role `data`
STATE = "/usr/local/lib/trainrig/node-state"


def configure(
    rig: Path,
    job: Job,
    offer: Offer,
    nodes: Sequence[Node],
    image: str,
    observe: Observer,
    *,
    driver: str | None = None,
    fabric: Fabric = ETHERNET,
    bucket: str | None = None,
    secrets: Mapping[str, str] | None = None,
    grace_seconds: int = launch.GRACE_SECONDS,
    ready_seconds: float = READY_SECONDS,
    always: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    gone: Callable[[], bool | None] = lambda: None,
    on_ready: Callable[[Ssh], None] = lambda _: None,
) -> Ssh:
    """Waits for SSH and converges the roles on all nodes at once. Running it again changes nothing.

    Args:
        rig: the rig's folder, with the key that `tools.ssh.make_key` made before apply.
        image: the container that the job's unit will run.
        driver: the version in the pinned machine image; the job's own pin wins.
        fabric: the network between the nodes.
        bucket: URL of a store that the nodes themselves write to.
        secrets: the job's variables that open its stores, see secret_values.store_variables.
        always: also where a node says that nothing has moved since it was last converged.
        stopped: True ends the work where it is.
        gone: whether the cloud says that a node is gone; asked while one does not answer.
        on_ready: told once, when all nodes answer and before the roles.

    Returns:
        The open way to the nodes; the caller closes it.

    Raises:
        ConfigureFailed: a node did not answer within `ready_seconds` or is gone, or a task failed.
    """
    ssh = open_ssh(rig, nodes, observe, ready_seconds=ready_seconds, gone=gone, stopped=stopped)
    on_ready(ssh)
    if secrets:
        lay_secrets(ssh, ssh.nodes, secrets)
    variables = role_variables(
        job, offer, image, driver=driver, fabric=fabric, bucket=bucket, grace_seconds=grace_seconds
    )
    digest = converge_digest(_role_files(), variables)
    same = ssh.each(lambda node: not always and is_converged(ssh, node, digest))
    moved = [node for node, unmoved in zip(ssh.nodes, same, strict=True) if not unmoved]
    changes = 0
    if moved:
        recap = _converge_with(ssh, moved, variables, secrets, observe, stopped)
        changes = len(recap.changed)
        in_parallel(moved, lambda node: _record(ssh, node, digest, recap.log))
    message = f"{changes} changes on {len(moved)} of {len(ssh.nodes)} nodes"
    observe(Progress(phase="configure", message=message, done=1, total=1))
    return ssh


def open_ssh(
    rig: Path,
    nodes: Sequence[Node],
    observe: Observer,
    *,
    ready_seconds: float = READY_SECONDS,
    gone: Callable[[], bool | None] = lambda: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Ssh:
    """The way to the nodes, once all of them answer. Raises ConfigureFailed."""
    ssh = connect(rig, nodes)
    wait_ready(
        ssh,
        timeout_seconds=ready_seconds,
        on_ready=lambda node: observe(Progress(phase="configure", message="SSH is up", node=node.name)),
        gone=gone,
        stopped=stopped,
    )
    return ssh


def _converge_with(
    ssh: Ssh,
    nodes: Sequence[Node],
    variables: dict[str, Any],
    secrets: Mapping[str, str] | None,
    observe: Observer,
    stopped: Callable[[], bool],
) -> ansible.Recap:
    """`converge`, and the secrets laid again on a node that a new driver made boot: they were in its memory."""

    def lay_again(name: str) -> None:
        with suppress(CommandFailed):  # the role that waits for them tells of it
            lay_secrets(ssh, [node for node in nodes if node.name == name], secrets or {})

    if not secrets:
        return converge(ssh, nodes, variables, observe, stopped=stopped)
    variables = {**variables, "nvidia_driver_secrets": True}
    return converge(ssh, nodes, variables, observe, stopped=stopped, on_reboot=lay_again)


def lay_secrets(ssh: Ssh, nodes: Sequence[Node], secrets: Mapping[str, str]) -> None:
    """What opens the job's stores, on each node's tmpfs for root alone; it goes with the job, or the node."""
    new = f"{STORE_SECRETS}.new"
    line = f"umask 077 && mkdir -p {STORE_SECRETS.parent} && cat >{new} && mv {new} {STORE_SECRETS}"
    text = json.dumps(dict(secrets)).encode()
    in_parallel(nodes, lambda node: ssh.run(node, ["sh", "-c", line], stdin=text, secrets=[*secrets.values()]))


def converge(
    ssh: Ssh,
    nodes: Sequence[Node],
    variables: dict[str, Any],
    observe: Observer,
    *,
    check: bool = False,
    stopped: Callable[[], bool] = lambda: False,
    on_reboot: Callable[[str], None] = lambda _node: None,
) -> ansible.Recap:
    """One run of all roles; with `check` it changes nothing and the recap lists what is not as the roles want it.

    The former is for who holds the rig's lock; the latter, in a folder of its own, may go on beside it."""
    return ansible.run_playbook(
        assets.path("ansible") / "playbooks" / "configure.yml",
        inventory(nodes, variables, ssh_config=ssh.config),
        directory=ssh.rig / (CHECKED if check else CONVERGED),
        observe=observe,
        check=check,
        stopped=stopped,
        on_reboot=on_reboot,
    )


def _record(ssh: Ssh, node: Node, digest: str, log: Path) -> None:
    try:
        ssh.run(node, [STATE, digest])
    except CommandFailed as error:
        said = f"{node.name} does not say what it is now: {error.message}"
        raise ConfigureFailed(said, hint=f"{advice(error.message)}; log: {log}") from error


def is_converged(ssh: Ssh, node: Node, digest: str) -> bool:
    """Whether the node was converged from `digest` and nothing that a role owns there has moved since."""
    outcome = ssh.run(node, [STATE], check=False)
    try:
        return outcome.ok and bool(json.loads(outcome.stdout)["inputs"] == digest)
    except (ValueError, KeyError, TypeError):
        return False  # the program itself was changed


@cache
def _role_files() -> dict[str, bytes]:
    root = assets.path("ansible")
    files = [p for p in sorted(root.rglob("*")) if p.is_file() and "__pycache__" not in p.parts]
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in files}
