"""SSH host keys of VMs, from the guest attributes where Google's agent publishes them."""

from __future__ import annotations

from trainrig.clouds.base import Account
from trainrig.clouds.gcp.session import TIMEOUT_SECONDS, compute, project, translated
from trainrig.errors import CommandFailed
from trainrig.model.node import Node

NOT_FOUND = 404  # until the agent has written something


def host_key(account: Account, node: Node, *, region: str, zone: str | None) -> str | None:  # noqa: ARG001
    request = {"project": project(account), "zone": zone, "instance": node.name, "query_path": "hostkeys/"}
    try:
        with translated():
            answer = compute(account, "Instances").get_guest_attributes(request=request, timeout=TIMEOUT_SECONDS)
    except CommandFailed as error:
        if error.details.get("code") != NOT_FOUND:
            raise
        return None
    keys = {item.key: item.value for item in answer.query_value.items}
    return f"ssh-ed25519 {keys['ssh-ed25519']}" if "ssh-ed25519" in keys else None
