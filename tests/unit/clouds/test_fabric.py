from __future__ import annotations

import pytest

from support.jobs import a_job, an_offer
from trainrig.lifecycle.rig_request import fabric_of
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.offer import Market

FABRICS = [
    ("aws", "p5.48xlarge", Fabric(kind="efa", cards=32)),
    ("aws", "p6-b300.48xlarge", Fabric(kind="efa", cards=16)),  # card 0 of 17 is a plain one
    ("aws", "g5.xlarge", ETHERNET),
    ("gcp", "a4-highgpu-8g", Fabric(kind="roce", cards=8)),
    ("gcp", "a3-megagpu-8g", Fabric(kind="gvnic", cards=9)),
    ("gcp", "g2-standard-96", ETHERNET),
    ("azure", "Standard_ND96isr_H100_v5", Fabric(kind="infiniband", cards=8)),
    ("azure", "Standard_ND40rs_v2", Fabric(kind="infiniband", cards=1)),
    ("azure", "Standard_NC96ads_A100_v4", ETHERNET),
    ("nebius", "gpu-h100-sxm_8gpu-128vcpu-1600gb", ETHERNET),  # no fabric is named
    ("local", "local-2", ETHERNET),
]


@pytest.mark.parametrize(("cloud", "machine", "wanted"), FABRICS, ids=[f"{c}-{m}" for c, m, _ in FABRICS])
def test_what_joins_the_nodes_is_what_the_module_builds(cloud: str, machine: str, wanted: Fabric) -> None:
    offer = an_offer(cloud=cloud, instance_type=machine, gpu="H100", gpu_count=8)
    environment = Environment(name="test", clouds=(CloudPolicy(cloud=cloud),))
    assert fabric_of(a_job(nodes=2), environment, offer) == wanted
    assert fabric_of(a_job(nodes=1), environment, offer) == ETHERNET


def test_azure_joins_no_spot_machines_by_infiniband() -> None:
    offer = an_offer(
        cloud="azure", instance_type="Standard_ND96isr_H100_v5", gpu="H100", gpu_count=8, market=Market.SPOT
    )
    assert fabric_of(a_job(nodes=2), Environment(name="test", clouds=()), offer) == ETHERNET


def test_a_fabric_of_nebius_is_named_by_the_environment() -> None:
    policy = CloudPolicy(cloud="nebius", network={"fabric": "fabric-4"})
    offer = an_offer(cloud="nebius", instance_type="gpu-h100-sxm_8gpu-128vcpu-1600gb", gpu="H100", gpu_count=8)
    found = fabric_of(a_job(nodes=2), Environment(name="test", clouds=(policy,)), offer)
    assert found == Fabric(kind="infiniband", cards=8)
