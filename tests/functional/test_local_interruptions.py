"""An apply on the local cloud that is interrupted, killed, or fails half-way leaves nothing that is not found again."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import docker
import pytest

from support import local_rig
from support.local_rig import LocalRig
from trainrig.clouds import registry

pytestmark = [pytest.mark.docker, pytest.mark.terraform, pytest.mark.usefixtures("nothing_left")]

CREATING = "trainrig_local_node.node[0]: Creating..."


def start_apply(rig: LocalRig) -> subprocess.Popen[str]:
    """An apply in its own process group that has begun to create nodes."""
    rig.terraform("init", "-input=false")
    process = subprocess.Popen(
        rig.command("apply", "-auto-approve", "-input=false", "-no-color"),
        cwd=rig.root,
        env=rig.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert any(CREATING in line for line in process.stdout)
    return process


def containers_in_state(rig: LocalRig) -> int:
    return rig.terraform("state", "list").count("trainrig_local_node")


def plugins_of(process: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(pid) for path in children for pid in path.read_text().split()]


def gone(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(condition: object, seconds: float = 20) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)


def test_one_interrupt_waits_for_the_nodes_under_way(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", nodes=4, attach=attached)
    apply = start_apply(rig)
    apply.send_signal(signal.SIGINT)
    said, _ = apply.communicate(timeout=60)
    assert "Interrupt received" in said
    kept = [name for kind, name in rig.leftovers() if kind == "container"]
    assert len(kept) == containers_in_state(rig) > 0
    rig.destroy()
    assert rig.leftovers() == []


def test_ctrl_c_on_plain_terraform_reaches_the_plugin_too_and_loses_nothing(tmp_path: Path, local_cloud: None) -> None:
    rig = local_rig.render(tmp_path / "rig", nodes=2)
    apply = start_apply(rig)
    subprocess.run(["kill", "-INT", "--", f"-{apply.pid}"], check=True)
    apply.communicate(timeout=60)
    kept = [name for kind, name in rig.leftovers() if kind == "container"]
    assert len(kept) == containers_in_state(rig) > 0
    rig.destroy()
    assert rig.leftovers() == []


def test_a_killed_terraform_leaves_what_a_sweep_finds(tmp_path: Path, local_cloud: None) -> None:
    with registry.provider("local").serve() as attach:
        rig = local_rig.render(tmp_path / "rig", nodes=3, attach=attach)
        apply = start_apply(rig)
        # Terraform says "Creating" before it asks the provider.
        wait_until(lambda: any(kind == "container" for kind, _ in rig.leftovers()))
        apply.kill()
        apply.communicate(timeout=60)
    # The provider lives in this process and has ended what it was asked to do.
    assert "container" in [kind for kind, _ in rig.leftovers()]
    rig.sweep()
    assert rig.leftovers() == []


def test_a_plugin_does_not_outlive_a_killed_terraform(tmp_path: Path, local_cloud: None) -> None:
    rig = local_rig.render(tmp_path / "rig")
    apply = start_apply(rig)
    plugins = plugins_of(apply)
    assert plugins
    apply.kill()
    apply.communicate(timeout=60)
    wait_until(lambda: all(gone(pid) for pid in plugins))
    rig.sweep()
    assert rig.leftovers() == []


def test_an_apply_after_a_kill_takes_the_place_of_what_was_left(tmp_path: Path, attached: Mapping[str, str]) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    apply = start_apply(rig)
    wait_until(lambda: any(kind == "container" for kind, _ in rig.leftovers()))
    apply.kill()
    apply.communicate(timeout=60)
    (rig.root / ".terraform.tfstate.lock.info").unlink(missing_ok=True)
    try:
        (node,) = rig.apply()
        assert local_rig.ssh(rig, node, "hostname").strip() == node.name
    finally:
        rig.destroy()
    assert rig.leftovers() == []


def test_a_node_that_does_not_boot_is_tainted_and_cleaned(
    tmp_path: Path, attached: Mapping[str, str], client: docker.DockerClient
) -> None:
    rig = local_rig.render(tmp_path / "rig", attach=attached)
    # It has no /sbin/init: Docker creates the container and cannot start it.
    rig.set_input(image=registry.built_images("local").container())
    rig.terraform("init", "-input=false")
    said = rig.terraform("apply", "-auto-approve", "-input=false", code=1)
    assert "/sbin/init" in said
    assert ("container", f"tr-finetune-{rig.run_id}-0") in rig.leftovers()
    assert "is tainted" in rig.terraform("plan", "-no-color")
    rig.set_input(image=registry.built_images("local").machine())
    (node,) = rig.apply()
    assert client.containers.get(node.instance_id).status == "running"
    rig.destroy()
    assert rig.leftovers() == []


def test_plain_terraform_works_in_the_rendered_folder(tmp_path: Path, local_cloud: None) -> None:
    rig = local_rig.render(tmp_path / "rig with a space")
    try:
        (node,) = rig.apply()
        assert local_rig.ssh(rig, node, "whoami").strip() == "trainrig"
        rig.terraform("plan", "-detailed-exitcode")
    finally:
        rig.destroy()
    assert rig.leftovers() == []
