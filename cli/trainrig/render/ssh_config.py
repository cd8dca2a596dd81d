"""The ssh_config of a rig: one file that OpenSSH, rsync, Ansible and the user's own `ssh -F` all read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainrig.model.node import Node

# A dead peer is noticed within alive interval x count, also on a connection that is shared.
CONNECT_SECONDS = 10
ALIVE_SECONDS = 5
ALIVE_COUNT = 3


def ssh_config(nodes: Sequence[Node], *, key: Path, known_hosts: Path, control_dir: Path) -> str:
    """`Host` blocks by node name. Host keys are looked up by that name, so a reused address cannot confuse them."""
    blocks = [_host(node, key, known_hosts, control_dir) for node in nodes]
    return "# written by trainrig; ssh -F THIS_FILE NODE\n" + "".join(blocks)


def known_hosts(nodes: Sequence[Node]) -> str:
    """One line a node whose host key is known."""
    return "".join(f"{node.name} {node.host_key}\n" for node in nodes if node.host_key)


def _host(node: Node, key: Path, known_hosts: Path, control_dir: Path) -> str:
    options = {
        "HostName": node.ssh_address,
        "Port": node.ssh_port,
        "User": node.ssh_user,
        "IdentityFile": _quoted(key),
        "IdentitiesOnly": "yes",
        "PreferredAuthentications": "publickey",
        "HostKeyAlias": node.name,
        "UserKnownHostsFile": _quoted(known_hosts),
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "CheckHostIP": "no",
        "ConnectTimeout": CONNECT_SECONDS,
        "ServerAliveInterval": ALIVE_SECONDS,
        "ServerAliveCountMax": ALIVE_COUNT,
        "ControlMaster": "auto",
        "ControlPath": f"{control_dir}/%C",
        "ControlPersist": "30",
        "ForwardAgent": "no",
        "LogLevel": "ERROR",
    }
    return f"\nHost {node.name}\n" + "".join(f"  {name} {value}\n" for name, value in options.items())


def _quoted(path: Path) -> str:
    return f'"{path}"'
