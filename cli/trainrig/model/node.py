"""A node: one machine of a rig, as a module's `nodes` output returns it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    rank: int  # 0..N-1; rank 0 is the rendezvous address
    name: str
    public_ip: str | None  # where the caller reaches it; None behind a bastion
    private_ip: str  # where the other nodes reach it
    instance_id: str  # the cloud's own id
    ssh_user: str
    ssh_port: int
    host_key: str | None = None  # "ssh-ed25519 AAAA...", when the module knows it

    @property
    def ssh_address(self) -> str:
        return self.public_ip or self.private_ip

    @classmethod
    def from_output(cls, value: Mapping[str, Any]) -> Node:
        """One element of `terraform output -json nodes`.

        Raises:
            KeyError: the module breaks the interface of terraform/README.md.
        """
        return cls(
            rank=int(value["rank"]),
            name=str(value["name"]),
            public_ip=value["public_ip"] or None,
            private_ip=str(value["private_ip"]),
            instance_id=str(value["instance_id"]),
            ssh_user=str(value["ssh_user"]),
            ssh_port=int(value["ssh_port"]),
            host_key=value.get("host_key") or None,
        )
