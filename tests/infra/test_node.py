"""Nodes are as promised: testinfra's own look at what `trainrig verify` judges. Run against any rig:

    pytest tests/infra --ssh-config=RIG_FOLDER/ssh_config --hosts=ssh://NODE

Without --hosts it boots and configures a local node, and looks at that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import testinfra

from support import nodes
from support.jobs import a_job, an_offer
from trainrig.clouds import registry
from trainrig.lifecycle.configure import configure
from trainrig.model.events import silent

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    hosts, config = request.config.getoption("--hosts"), request.config.getoption("--ssh-config")
    if hosts:
        yield testinfra.get_host(hosts, ssh_config=config, sudo=True)
        return
    rig = tmp_path_factory.mktemp("rig")
    with nodes.booted(rig) as booted:
        ssh = configure(rig, a_job(), an_offer(), booted, registry.built_images("local").container(), silent)
        yield testinfra.get_host(f"ssh://{booted[0].name}", ssh_config=str(ssh.config), sudo=True)
        ssh.close()


def test_nothing_upgrades_in_the_background(node: Any) -> None:
    for unit in ("apt-daily.timer", "apt-daily-upgrade.timer", "unattended-upgrades.service"):
        assert node.file(f"/etc/systemd/system/{unit}").linked_to == "/dev/null"
        assert not node.service(unit).is_running


def test_docker_runs_and_is_held(node: Any) -> None:
    assert node.service("docker").is_running
    assert node.service("docker").is_enabled
    assert "docker" in node.check_output("apt-mark showhold")
    assert node.check_output("docker info --format '{{.CgroupDriver}}'") == "systemd"


def test_the_jobs_unit_waits_for_a_launch(node: Any) -> None:
    unit = node.file("/etc/systemd/system/trainrig-job.service")
    assert (unit.user, unit.mode) == ("root", 0o644)
    assert node.run("systemctl is-enabled trainrig-job").stdout.strip() == "static"  # nothing starts it at boot
    for path in ("workdir", "checkpoints", "outputs"):
        assert node.file(f"/srv/trainrig/{path}").mode == 0o777


def test_the_agent_keeps_a_heartbeat(node: Any) -> None:
    assert node.service("trainrig-agent").is_running
    node.run("sleep 6")
    heartbeat = json.loads(node.file("/run/trainrig-agent/heartbeat.json").content_string)
    assert abs(heartbeat["at"] - int(node.check_output("date +%s"))) < 30


def test_no_password_opens_the_node(node: Any) -> None:
    assert "passwordauthentication no" in node.check_output("sshd -T")


def test_the_probe_answers_every_part_that_this_node_has(node: Any) -> None:
    facts = json.loads(node.check_output("/usr/local/lib/trainrig/probe"))
    assert facts["errors"] == {}
    assert facts["disk"]["free_bytes"] > 0
    assert not node.file("/srv/trainrig/.probe").exists
