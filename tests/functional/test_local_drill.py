"""Taking local nodes away: what a job can still do before it is gone, and when a node goes by itself."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import docker
import pytest
from docker.errors import NotFound

from support import local_rig, node_faults, rigs
from support.local_rig import ACCOUNT, LocalRig
from trainrig.clouds import registry
from trainrig.model.clock import iso

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.usefixtures("nothing_left")]

JOB = "trap 'echo saved >/var/saved; exit' TERM; while sleep 0.1; do :; done"


@pytest.mark.parametrize("notice", [True, False])
def test_only_with_notice_the_job_can_save(
    tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient, notice: bool
) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    try:
        (node,) = rig.apply()
        local_rig.ssh(rig, node, f'sudo systemd-run --unit=job sh -c "{JOB}"')
        registry.drill("local").preempt(ACCOUNT, node, notice=notice)
        container = client.containers.get(node.instance_id)
        assert container.status == ("running" if notice else "exited")
        container.wait(timeout=120)
        try:
            container.get_archive("/var/saved")
            saved = True
        except NotFound:
            saved = False
        assert saved is notice
    finally:
        rig.destroy()


def test_a_node_that_hangs_and_a_node_that_is_cut_off(
    tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient
) -> None:
    rig = local_rig.render(tmp_path / "rig", nodes=2, attach=attached)
    try:
        nodes = rig.apply()
        peer = f"timeout 5 bash -c '</dev/tcp/{nodes[1].private_ip}/22' && echo reached"
        node_faults.hang(client, nodes[0])
        with pytest.raises(subprocess.TimeoutExpired):
            local_rig.ssh(rig, nodes[0], "true", seconds=3)
        node_faults.wake(client, nodes[0])
        assert local_rig.ssh(rig, nodes[0], peer) == "reached\n"
        node_faults.cut(client, nodes[1])
        assert "reached" not in local_rig.ssh(rig, nodes[0], f"{peer} || echo lost")
    finally:
        rig.destroy()


def test_a_lease_is_extended_in_place(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    try:
        before = rig.apply()
        later = rigs.in_an_hour() + timedelta(hours=2)
        set_expiry(rig, later)
        assert rig.apply() == before
        inventory = registry.inventory("local")
        assert {r.expires_at for r in inventory.find(ACCOUNT, rig.run_id)} == {later}
        timers = local_rig.ssh(rig, before[0], "systemctl list-timers trainrig-lease.timer --no-legend")
        assert f"{later:%Y-%m-%d %H:%M:%S}" in timers
    finally:
        rig.destroy()


def test_a_node_ends_itself_when_its_lease_is_over(
    tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient
) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    set_expiry(rig, datetime.now(UTC) + timedelta(seconds=12))
    try:
        rig.terraform("init", "-input=false")
        rig.terraform("apply", "-auto-approve", "-input=false")
        container = client.containers.get(f"tr-finetune-{rig.run_id}-0")
        deadline = time.monotonic() + 60
        while container.status != "exited":
            assert time.monotonic() < deadline, container.status
            time.sleep(0.5)
            container.reload()
    finally:
        rig.destroy()


def set_expiry(rig: LocalRig, moment: datetime) -> None:
    inputs = json.loads((rig.root / "terraform.tfvars.json").read_text())
    rig.set_input(rig={**inputs["rig"], "expires_at": iso(moment)})
