"""SSH host keys of instances, from their console output."""

from __future__ import annotations

from trainrig.clouds import console_keys
from trainrig.clouds.aws.session import client, translated
from trainrig.clouds.base import Account
from trainrig.errors import CommandFailed
from trainrig.model.node import Node


def host_key(account: Account, node: Node, *, region: str, zone: str | None) -> str | None:  # noqa: ARG001
    try:
        return _printed(account, node, region, latest=True)
    except CommandFailed as error:
        # Machines before Nitro have only what AWS copies some minutes after the boot.
        if error.details.get("code") != "UnsupportedOperation":
            raise
        return _printed(account, node, region, latest=False)


def _printed(account: Account, node: Node, region: str, *, latest: bool) -> str | None:
    with translated(account):
        answer = client(account, "ec2", region).get_console_output(InstanceId=node.instance_id, Latest=latest)
    return console_keys.host_key(answer.get("Output", ""))
