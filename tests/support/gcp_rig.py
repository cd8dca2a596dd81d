"""A rig as the Google module makes it, in the fake of Google Cloud."""

from __future__ import annotations

from support.fake_gcp import FakeGcp
from trainrig.model.rig import RigIdentity

ZONE, REGION = "zones/us-central1-a", "regions/us-central1"


def build(cloud: FakeGcp, rig: RigIdentity) -> None:
    """A rig as the module makes it: what takes no labels has a description."""
    name, labels = rig.resource_prefix, rig.all_labels()
    mark = {"description": f"Nodes of the rig {name}"}
    used_by_node = {"users": [f"https://x/{ZONE}/instances/{name}-0"]}
    cloud.add(
        ZONE,
        "instances",
        name=f"{name}-0",
        id=str(int.from_bytes(rig.run_id.encode()) % 10**12),
        labels=labels,
        machineType=f"https://x/{ZONE}/machineTypes/a2-highgpu-1g",
        scheduling={"provisioningModel": "SPOT"},
        disks=[{"source": f"https://x/projects/p/{ZONE}/disks/{name}-0"}, {"type": "SCRATCH"}],
    )
    cloud.add(ZONE, "disks", name=f"{name}-0", labels=labels, sizeGb="365", **used_by_node)
    cloud.add(REGION, "resourcePolicies", name=name, **mark, **used_by_node)
    cloud.add("global", "firewalls", name=f"{name}-ssh4", description=f"SSH to the rig {name}")
    cloud.add(REGION, "subnetworks", name=f"{name}-sub", **mark, **used_by_node)
    firewall, subnet = f"https://x/global/firewalls/{name}-ssh4", f"https://x/{REGION}/subnetworks/{name}-sub"
    cloud.add("global", "networks", name=f"{name}-net", **mark, users=[firewall, subnet])
    cloud.add_service_account(name, f"Nodes of the rig {name}")
