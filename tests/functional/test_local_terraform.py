"""The local cloud's Terraform provider and module, with the real Terraform and the real Docker Engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import docker
import pytest

from support import local_rig

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.usefixtures("nothing_left")]


def test_a_node_is_a_small_machine_of_its_own(
    tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient
) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    try:
        (node,) = rig.apply()
        container = client.containers.get(node.instance_id)
        limits = container.attrs["HostConfig"]
        assert (limits["NanoCpus"], limits["Memory"]) == (1_000_000_000, 2 * 2**30)
        assert limits["PortBindings"]["22/tcp"][0]["HostIp"] == "127.0.0.1"
        assert container.labels["trainrig-run-id"] == rig.run_id
        # The host key that Terraform returned is the one that sshd shows: StrictHostKeyChecking=yes passes.
        said = local_rig.ssh(
            rig, node, "sudo docker info -f '{{.CgroupDriver}}'; systemctl is-active trainrig-lease.timer"
        )
        assert said.split() == ["systemd", "active"]
        rig.terraform("plan", "-detailed-exitcode")
    finally:
        rig.destroy()
    assert rig.leftovers() == []


def test_three_nodes_reach_one_another(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", nodes=3, attach=attached)
    try:
        nodes = rig.apply()
        assert [n.rank for n in nodes] == [0, 1, 2]
        assert len({n.host_key for n in nodes}) == len({n.private_ip for n in nodes}) == 3
        others = " && ".join(f"timeout 5 bash -c '</dev/tcp/{n.private_ip}/22'" for n in nodes[1:])
        local_rig.ssh(rig, nodes[0], others)
        kinds = sorted(kind for kind, _ in rig.leftovers())
        assert kinds == ["container"] * 3 + ["network"] + ["volume"] * 3
    finally:
        rig.destroy()
    assert rig.leftovers() == []


@pytest.mark.parametrize("how", ["kill", "pause", "remove"])
def test_a_lost_node_is_drift_and_is_replaced(
    tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient, how: str
) -> None:
    rig = local_rig.render(tmp_path / "rig", nodes=2, attach=attached)
    try:
        before = rig.apply()
        container = client.containers.get(before[1].instance_id)
        container.remove(force=True) if how == "remove" else getattr(container, how)()
        events = rig.plan_events()
        drift = [e["change"]["resource"]["resource_key"] for e in events if e["type"] == "resource_drift"]
        assert drift == [1]
        after = rig.apply()
        assert after[0] == before[0]
        assert after[1].instance_id != before[1].instance_id
        assert after[1].host_key != before[1].host_key
    finally:
        rig.destroy()
    assert rig.leftovers() == []
