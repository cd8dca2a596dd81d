"""From where the nodes of a rig may be reached by SSH."""

from __future__ import annotations

from trainrig.clouds import registry
from trainrig.model.environment import Environment
from trainrig.tools.caller_address import caller_address

LOOPBACK = ("127.0.0.1/32",)


def ssh_ingress(environment: Environment, cloud: str) -> tuple[str, ...]:
    """The environment's own, else the caller's address alone. Nodes that this machine holds are reached from it.

    Raises:
        PreflightFailed: the caller's address cannot be found out.
    """
    if environment.ssh_ingress:
        return environment.ssh_ingress
    if registry.has(cloud, "provider"):
        return LOOPBACK
    address = caller_address()
    return (f"{address}/{128 if ':' in address else 32}",)
