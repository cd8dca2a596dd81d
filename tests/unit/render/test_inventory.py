from __future__ import annotations

from pathlib import Path

from support.jobs import a_job, a_node, an_offer
from trainrig.model.fabric import Fabric
from trainrig.model.job import Checkpoints
from trainrig.render.inventory import converge_digest, inventory, role_variables


def test_hosts_are_nodes_by_name_and_sudo_is_asked_for_only_where_needed() -> None:
    nodes = [a_node(0), a_node(1, ssh_user="ubuntu")]
    hosts = inventory(nodes, {}, ssh_config=Path("/rigs/a b/ssh_config"))["all"]["hosts"]
    assert {name: h["ansible_become"] for name, h in hosts.items()} == {"tr-hello-0": False, "tr-hello-1": True}


def test_the_connection_is_described_by_the_rigs_ssh_config_alone() -> None:
    variables = inventory([a_node()], {}, ssh_config=Path("/rigs/a b/ssh_config"))["all"]["vars"]
    assert variables["ansible_ssh_common_args"] == '-F "/rigs/a b/ssh_config"'


def test_no_variable_of_the_job_reaches_ansible() -> None:
    job = a_job(
        secrets={"TOKEN": "s3cret"}, env={"A": "plain"}, checkpoints=Checkpoints(path="/ck", save_signal="SIGUSR1")
    )
    variables = role_variables(job, an_offer(), "train:1", grace_seconds=30)
    assert "s3cret" not in str(variables)
    assert variables["job_save_signal"] == "SIGUSR1"


def test_the_digest_moves_with_files_and_with_variables() -> None:
    digests = {
        converge_digest({"a": b"1"}, {"x": 1}),
        converge_digest({"a": b"2"}, {"x": 1}),
        converge_digest({"a": b"1"}, {"x": 2}),
        converge_digest({"a": b"1", "b": b""}, {"x": 1}),
    }
    assert len(digests) == 4


def test_the_job_reaches_the_fast_network_that_the_nodes_have() -> None:
    offer = an_offer(cloud="azure", gpu="H100", gpu_count=8)
    fabric = Fabric(kind="infiniband", cards=8)
    variables = role_variables(a_job(nodes=2), offer, "train:1", fabric=fabric)
    assert (variables["fabric_kind"], variables["fabric_cards"]) == ("infiniband", 8)
    assert {"--device=/dev/infiniband", "--volume=/etc/nccl.conf:/etc/nccl.conf:ro"} <= {
        *variables["job_docker_arguments"]
    }


def test_a_network_without_verbs_has_no_device_to_give() -> None:
    fabric = Fabric(kind="gvnic", cards=5)
    arguments = role_variables(a_job(nodes=2), an_offer(cloud="gcp"), "train:1", fabric=fabric)["job_docker_arguments"]
    assert not [a for a in arguments if "infiniband" in a]
    assert "--volume=/etc/nccl.conf:/etc/nccl.conf:ro" in arguments
