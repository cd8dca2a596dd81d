"""The driver and toolkit roles against a stand-in for NVIDIA's repositories: real apt, dummy packages with real names
and versions. It proves what happens to packages, pins and holds. It proves nothing about a GPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from support import apt_repo, nodes
from support.jobs import a_job, an_offer
from trainrig import assets
from trainrig.clouds import registry
from trainrig.errors import ConfigureFailed
from trainrig.lifecycle import deliver, job_control
from trainrig.lifecycle.configure import configure, lay_secrets, open_ssh
from trainrig.lifecycle.run_launch import _mendable
from trainrig.localcloud import engine
from trainrig.model.events import silent
from trainrig.render.inventory import inventory
from trainrig.render.launch import Launch
from trainrig.tools.ansible import run_playbook
from trainrig.tools.ssh import Ssh

pytestmark = [pytest.mark.docker, pytest.mark.slow]

DRIVERS = ("570.86.15", "570.124.06", "570.133.20")
STATES = "dpkg-query -W -f '${Package} ${db:Status-Want} ${Version}\\n' 'nvidia-*' 'libnvidia-*' libcuda1 2>/dev/null"


# The roles as they are, without those that drivers do not need: each module call costs a second here.
PREPARE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.import_role: {name: base}
"""
DRIVER = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.setup: {gather_subset: ["!all", "!min", distribution, platform]}
    - ansible.builtin.include_role: {name: nvidia_driver}
    - ansible.builtin.include_role: {name: container_runtime, tasks_from: toolkit}
      when: with_toolkit
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    ssh: Ssh
    playbooks: Path
    variables: dict[str, Any]

    def play(
        self, text: str, variables: dict[str, Any], on_reboot: Callable[[str], None] = lambda _: None
    ) -> list[str]:
        """The tasks that changed something."""
        playbook = self.playbooks / "configure.yml"
        playbook.write_text(text)
        hosts = inventory(self.ssh.nodes, variables, ssh_config=self.ssh.config)
        directory = self.ssh.rig / "ansible"
        recap = run_playbook(playbook, hosts, directory=directory, observe=silent, on_reboot=on_reboot)
        return [task for _, task in recap.changed]

    def converge(self, driver: str, *, on_reboot: Callable[[str], None] = lambda _: None, **changes: Any) -> list[str]:
        return self.play(DRIVER, {**self.variables, "nvidia_driver_version": driver, **changes}, on_reboot)

    @property
    def container(self) -> Any:
        return engine.connect().client.containers.get(self.ssh.nodes[0].instance_id)

    def sh(self, line: str) -> str:
        return self.ssh.run(self.ssh.nodes[0], ["sh", "-c", line], check=False, timeout_seconds=60).stdout.strip()

    def packages(self) -> dict[str, tuple[str, str]]:
        """Package -> (want, version)."""
        rows = (line.split() for line in self.sh(STATES).splitlines())
        return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    rig = tmp_path_factory.mktemp("rig")
    root = tmp_path_factory.mktemp("repositories")
    roles = tmp_path_factory.mktemp("roles") / "ansible"
    shutil.copytree(assets.path("ansible"), roles)
    nvidia = apt_repo.build(root / "nvidia", [p for v in DRIVERS for p in apt_repo.driver(v)])
    toolkit = apt_repo.build(root / "toolkit", [p for v in ("1.17.4-1", "1.17.8-1") for p in apt_repo.toolkit(v)])
    with nodes.booted(rig) as booted, apt_repo.served(root, nodes.gateway(booted[0])) as url:
        ssh = open_ssh(rig, booted, silent)
        bench = Bench(ssh=ssh, playbooks=roles / "playbooks", variables=_variables(url, nvidia, toolkit))
        bench.play(PREPARE, {})
        bench.sh("echo '2 H100-standin' > /etc/standin-gpus")
        yield bench
        ssh.close()


def _variables(url: str, nvidia: apt_repo.Repository, toolkit: apt_repo.Repository) -> dict[str, Any]:
    base = yaml.safe_load((assets.path("ansible") / "roles/base/vars/main.yml").read_text())
    return {
        "base_lib": base["base_lib"],
        "base_check": "",
        "base_apt_lock_seconds": 60,
        "with_toolkit": False,
        "nvidia_driver_gpu_count": 2,
        "nvidia_driver_reboot": False,  # without a kernel of its own it would boot each time, see below
        "nvidia_driver_repository_url": f"{url}/nvidia",
        "nvidia_driver_repository_suite": "./",
        "nvidia_driver_key_url": f"{url}/nvidia/key.asc",
        "nvidia_driver_key_fingerprint": nvidia.fingerprint,
        "container_runtime_toolkit_url": f"{url}/toolkit",
        "container_runtime_toolkit_suite": "./",
        "container_runtime_toolkit_key_url": f"{url}/toolkit/key.asc",
        "container_runtime_toolkit_key_fingerprint": toolkit.fingerprint,
    }


def test_driver_and_toolkit_are_installed_at_their_pins_and_held(bench: Bench) -> None:
    bench.converge("570.124.06", with_toolkit=True)
    packages = bench.packages()
    for name in ("nvidia-driver-cuda", "libcuda1", "nvidia-kernel-open-dkms"):
        assert packages[name] == ("hold", "570.124.06-1")
    for name in ("nvidia-container-toolkit", "libnvidia-container1"):
        assert packages[name] == ("hold", "1.17.8-1")
    assert "stand-in" in bench.sh("nvidia-smi")
    assert bench.sh("cat /etc/cdi/nvidia.yaml") == "# libcuda.so.570.124.06"
    assert bench.converge("570.124.06", with_toolkit=True) == []


def test_the_gpus_are_described_for_cdi_as_the_driver_has_them(bench: Bench) -> None:
    bench.converge("570.124.06", with_toolkit=True)
    bench.converge("570.133.20", with_toolkit=True)
    assert bench.sh("cat /etc/cdi/nvidia.yaml") == "# libcuda.so.570.133.20"
    bench.sh("rm /etc/cdi/nvidia.yaml")
    assert [task for task in bench.converge("570.133.20", with_toolkit=True) if "CDI" in task]
    assert bench.sh("cat /etc/cdi/nvidia.yaml") == "# libcuda.so.570.133.20"


def test_a_toolkit_that_was_removed_by_hand_is_brought_back(bench: Bench) -> None:
    bench.converge("570.124.06", with_toolkit=True)
    bench.sh("dpkg --purge --force-all nvidia-container-toolkit")
    assert bench.sh("command -v nvidia-ctk") == ""
    assert any("Install the toolkit" in task for task in bench.converge("570.124.06", with_toolkit=True))
    assert bench.packages()["nvidia-container-toolkit"] == ("hold", "1.17.8-1")


@pytest.mark.parametrize("version", ["570.133.20", "570.86.15"], ids=["upgrade", "downgrade"])
def test_the_driver_is_moved_to_another_pin(bench: Bench, version: str) -> None:
    bench.converge(version)
    assert bench.packages()["nvidia-driver-cuda"] == ("hold", f"{version}-1")
    assert bench.packages()["libcuda1"] == ("hold", f"{version}-1")


def test_a_driver_changed_by_hand_is_brought_back(bench: Bench) -> None:
    bench.converge("570.124.06")
    bench.sh("apt-get install -y --allow-change-held-packages nvidia-driver-cuda=570.133.20-1 libcuda1=570.133.20-1")
    assert bench.packages()["libcuda1"][1] == "570.133.20-1"
    assert any("Install the driver" in task for task in bench.converge("570.124.06"))
    assert bench.packages()["libcuda1"] == ("hold", "570.124.06-1")


def test_a_version_that_nobody_has_is_refused_by_name(bench: Bench) -> None:
    with pytest.raises(ConfigureFailed, match=r"nvidia_driver : Install the driver at its pin: .*570\.999\.99"):
        bench.converge("570.999.99")


def test_a_key_that_is_not_the_known_one_is_not_trusted(bench: Bench) -> None:
    with pytest.raises(ConfigureFailed, match="the signing key is not the one that trainrig knows"):
        bench.converge("570.86.15", nvidia_driver_key_fingerprint="0" * 40)


def test_a_mirror_that_is_broken_is_named(bench: Bench) -> None:
    url = bench.variables["nvidia_driver_repository_url"]
    with pytest.raises(ConfigureFailed, match="/gone/"):
        bench.converge("570.86.15", nvidia_driver_repository_url=url.replace("/nvidia", "/gone/nvidia"))


@pytest.mark.parametrize(
    ("gpus", "found"), [("1 H100-standin", "570.124.06, H100-standin"), ("2 H100 lost", "GPU is lost")]
)
def test_a_node_with_other_gpus_than_promised_is_refused(bench: Bench, gpus: str, found: str) -> None:
    bench.sh(f"echo '{gpus}' > /etc/standin-gpus")
    try:
        with pytest.raises(ConfigureFailed, match=found):
            bench.converge("570.124.06")
    finally:
        bench.sh("echo '2 H100-standin' > /etc/standin-gpus")


def test_a_node_boots_into_its_new_driver_and_runs_a_job(bench: Bench) -> None:
    bench.converge("570.124.06")
    lay_secrets(bench.ssh, bench.ssh.nodes, {"KEY": "first"})
    port, key = bench.ssh.nodes[0].ssh_port, bench.sh("cat /etc/ssh/ssh_host_ed25519_key.pub")
    booted: list[str] = []

    def lay_again(name: str) -> None:
        booted.append(name)
        assert bench.sh("cat /run/trainrig/data.json") == ""  # memory, and gone
        lay_secrets(bench.ssh, bench.ssh.nodes, {"KEY": "again"})

    options = {"nvidia_driver_reboot": True, "nvidia_driver_secrets": True}
    changed = bench.converge("570.133.20", on_reboot=lay_again, **options)
    assert "nvidia_driver : Boot into the new driver" in changed
    assert booted == [bench.ssh.nodes[0].name]
    assert bench.packages()["libcuda1"] == ("hold", "570.133.20-1")
    assert "again" in bench.sh("cat /run/trainrig/data.json")
    assert bench.container.attrs["NetworkSettings"]["Ports"]["22/tcp"][0]["HostPort"] == str(port)
    assert bench.sh("cat /etc/ssh/ssh_host_ed25519_key.pub") == key
    image = registry.built_images("local").container()
    ssh = configure(bench.ssh.rig, a_job(), an_offer(), bench.ssh.nodes, image, silent)
    launch = Launch(job=a_job(run="true"), nodes=ssh.nodes, offer=an_offer(), image=image, rig="t", run_id="abc23456")
    deliver.deliver(ssh, launch, silent)
    job_control.start(ssh, launch, silent)
    assert job_control.follow(ssh, silent).verdict == "succeeded"


def test_a_node_that_does_not_come_back_from_its_reboot_gets_its_verdict_in_time(bench: Bench) -> None:
    bench.converge("570.133.20")
    bench.container.update(restart_policy={"Name": "no"})
    try:
        with pytest.raises(ConfigureFailed, match=r"it did not come back from its reboot in \d+ s") as failed:
            bench.converge("570.124.06", nvidia_driver_reboot=True, nvidia_driver_reboot_seconds=5)
        assert _mendable(failed.value)  # the next attempt may do better
    finally:
        bench.container.start()
        open_ssh(bench.ssh.rig, bench.ssh.nodes, silent)
    bench.converge("570.124.06")  # it goes on where the reboot was
    assert bench.packages()["libcuda1"] == ("hold", "570.124.06-1")
