"""Nodes that somebody spoiled by hand: configure heals them, or says node, task, message, log and what to do; verify is
not misled by what is harmless."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support import nodes
from support.jobs import a_job, an_offer
from support.node_faults import HARMLESS, HEALED, TOLD, Spoiled
from trainrig.clouds import registry
from trainrig.errors import ConfigureFailed
from trainrig.lifecycle import deliver, job_control
from trainrig.lifecycle.configure import configure, open_ssh
from trainrig.lifecycle.verify import accept, require, verify
from trainrig.localcloud import engine
from trainrig.model.events import silent
from trainrig.model.node import Node
from trainrig.render.launch import Launch

pytestmark = [pytest.mark.docker, pytest.mark.slow]

JOB = a_job(run="echo hello")
OFFER = an_offer()
SECONDS = 5  # that a node which does not answer is waited for


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    rig: Path
    node: Node
    image: str
    container: Any

    def sh(self, line: str) -> None:
        code, output = self.container.exec_run(
            ["sh", "-ec", line], environment={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        )
        assert code == 0, output.decode()

    def configure(self) -> None:
        """As the verb does where the node was found to have moved."""
        ssh = configure(self.rig, JOB, OFFER, [self.node], self.image, silent, ready_seconds=SECONDS, always=True)
        try:
            require(accept(ssh, JOB, OFFER, self.image, silent))
        finally:
            ssh.close()

    def verify(self) -> None:
        ssh = open_ssh(self.rig, [self.node], silent, ready_seconds=SECONDS)
        try:
            require(verify(ssh, JOB, OFFER, self.image, silent), mended=False)
        finally:
            ssh.close()

    def run(self) -> str:
        """A job, from the delivery of its files to its end."""
        ssh = open_ssh(self.rig, [self.node], silent, ready_seconds=SECONDS)
        launch = Launch(job=JOB, nodes=(self.node,), offer=OFFER, image=self.image, rig="t", run_id="abc23456")
        try:
            deliver.deliver(ssh, launch, silent)
            job_control.start(ssh, launch, silent)
            return job_control.follow(ssh, silent).verdict
        finally:
            ssh.close()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    rig = tmp_path_factory.mktemp("rig")
    with nodes.booted(rig) as (node,):
        container = engine.connect().client.containers.get(node.instance_id)
        bench = Bench(rig=rig, node=node, image=registry.built_images("local").container(), container=container)
        configure(rig, JOB, OFFER, [node], bench.image, silent).close()
        yield bench


def test_what_is_harmless_is_no_drift_and_hinders_no_job(bench: Bench) -> None:
    for fault in HARMLESS.values():
        bench.sh(fault.spoil)
    try:
        bench.verify()
        bench.configure()
        assert bench.run() == "succeeded"
    finally:
        for fault in HARMLESS.values():
            bench.sh(fault.mend)


@pytest.mark.parametrize("name", HEALED)
def test_configure_heals(bench: Bench, name: str) -> None:
    bench.sh(HEALED[name].spoil)
    with pytest.raises(ConfigureFailed, match="are not as promised"):
        bench.verify()
    bench.configure()
    bench.verify()
    assert bench.run() == "succeeded"


@pytest.mark.parametrize("name", TOLD)
def test_configure_says_what_is_wrong_and_what_to_do(bench: Bench, name: str) -> None:
    fault = TOLD[name]
    try:
        bench.sh(fault.spoil)
        told(bench, fault)
    finally:
        bench.sh(fault.mend)
    bench.configure()


def told(bench: Bench, fault: Spoiled) -> None:
    with pytest.raises(ConfigureFailed) as failed:
        bench.configure()
    assert re.search(fault.says, failed.value.message), failed.value.message
    assert bench.node.name in failed.value.message
    assert fault.advises in failed.value.hint
    log = re.search(r"log: (\S+)|look with: ssh -v", failed.value.hint)
    if not log:  # no task failed, a check did
        assert "are not as promised" in failed.value.message, failed.value.hint
    elif log[1]:
        assert bench.node.name in Path(log[1]).read_text()


def test_another_key_on_our_side_is_told_of(bench: Bench) -> None:
    key, kept = bench.rig / "id_ed25519", bench.rig / "kept"
    shutil.copy(key, kept)
    key.unlink()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    try:
        told(bench, TOLD["another key in authorized_keys"])
    finally:
        shutil.copy(kept, key)
