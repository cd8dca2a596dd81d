"""The roles on Ubuntu nodes, made from Ubuntu's own archive whatever this machine runs: configured, checked, unchanged
by a second run, and a job that runs."""

from __future__ import annotations

import hashlib
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support import nodes
from support.jobs import a_job, an_offer
from trainrig.clouds import registry
from trainrig.lifecycle import deliver, job_control
from trainrig.lifecycle.configure import configure, converge
from trainrig.lifecycle.verify import require, verify
from trainrig.localcloud import engine, image
from trainrig.localcloud.recipe import NODE
from trainrig.model.events import silent
from trainrig.model.process import Command
from trainrig.render.inventory import role_variables
from trainrig.render.launch import Launch
from trainrig.tools import proc

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ARCHIVE = "http://archive.ubuntu.com/ubuntu"
KEYRING = f"{ARCHIVE}/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
KEYRING_SHA256 = "36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8"
JOB = a_job(run="echo hello", metrics=True)  # the exporter is installed by apt
OFFER = an_offer()


def node_image(suite: str) -> str:
    """Built once, as on an Ubuntu machine; skips where Ubuntu's archive is not reached."""
    docker, reference = engine.connect(), NODE.reference(suite)
    if docker.has_image(reference):
        return reference
    try:
        with urllib.request.urlopen(KEYRING, timeout=10) as answer:
            deb = answer.read()
    except OSError as error:
        pytest.skip(f"Ubuntu's archive is not reached: {error}")
    assert hashlib.sha256(deb).hexdigest() == KEYRING_SHA256
    with TemporaryDirectory(prefix="trainrig-ubuntu-") as folder:
        scratch = Path(folder)
        scratch.chmod(0o711)
        (scratch / "keyring.deb").write_bytes(deb)
        proc.run(Command(argv=["dpkg-deb", "-x", f"{scratch}/keyring.deb", str(scratch)]))
        keyring = scratch / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
        sources = tuple(f"deb {ARCHIVE} {pocket} main universe" for pocket in (suite, f"{suite}-updates"))
        argv = image.mmdebstrap(NODE, image.Distribution(suite=suite, sources=sources), scratch / "image.tar")
        argv = [argv[0], f"--keyring={keyring}", *argv[1:]]
        proc.run(Command(argv=argv, env={"TMPDIR": folder}, timeout_seconds=image.BUILD_TIMEOUT_SECONDS))
        docker.import_image(scratch / "image.tar", reference, entry=NODE.entry)
    return reference


@pytest.mark.parametrize("suite", ["jammy", "noble"])
def test_an_ubuntu_node_is_configured_and_runs_a_job(tmp_path: Path, local_cloud: None, suite: str) -> None:
    container = registry.built_images("local").container()
    with nodes.booted(tmp_path, image=node_image(suite)) as (node,):
        ssh = configure(tmp_path, JOB, OFFER, [node], container, silent)
        try:
            assert suite in ssh.run(node, ["cat", "/etc/os-release"]).stdout
            require(verify(ssh, JOB, OFFER, container, silent))
            assert converge(ssh, ssh.nodes, role_variables(JOB, OFFER, container), silent).changed == []
            launch = Launch(job=JOB, nodes=(node,), offer=OFFER, image=container, rig="t", run_id="abc23456")
            deliver.deliver(ssh, launch, silent)
            job_control.start(ssh, launch, silent)
            assert job_control.follow(ssh, silent).verdict == "succeeded"
        finally:
            ssh.close()
