"""What a reviewer should look at before a rig is made, each with a stable code."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

from trainrig.model.plan import Finding
from trainrig.render.policy import WIDE_V4, WIDE_V6
from trainrig.render.redact import redactor
from trainrig.render.request import RigRequest


def findings(
    request: RigRequest,
    env: Mapping[str, str],
    *,
    locked: bool,
    notes: Sequence[str],
) -> tuple[Finding, ...]:
    """`locked`: the job has a trainrig.lock of its own. `notes` are those of the pins."""
    return (
        *_network(request),
        *_secrets(env),
        *(
            ()
            if locked
            else (Finding(code="no_lock", detail="the shipped pins serve: `trainrig lock` makes the job's own"),)
        ),
        *(Finding(code="loose_pin", detail=note) for note in notes),
    )


def _network(request: RigRequest) -> Iterator[Finding]:
    if not request.ssh_ingress_cidrs:
        yield Finding(code="no_ingress", detail="nobody can reach the nodes by SSH from outside of their network")
    for cidr in request.ssh_ingress_cidrs:
        network = ipaddress.ip_network(cidr, strict=False)
        if network.prefixlen < (WIDE_V4 if network.version == 4 else WIDE_V6) and not network.is_private:
            yield Finding(code="wide_ingress", detail=f"SSH is open to {cidr}, {network.num_addresses:,} addresses")


def _secrets(env: Mapping[str, str]) -> Iterator[Finding]:
    shown = redactor(()).document(env)
    for name in sorted(name for name, value in env.items() if shown[name] != value):
        yield Finding(code="secret_in_env", detail=f"{name} looks like a secret: name it under `secrets` instead")
