"""Asks the nodes whether they are as promised: acceptance before a job, and `verify` at any time."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainrig.errors import ConfigureFailed
from trainrig.lifecycle import acceptance
from trainrig.lifecycle.acceptance import Answers, Promise
from trainrig.lifecycle.configure import CHECKED, converge
from trainrig.model.clock import Clock, iso, utc_now
from trainrig.model.codec import build
from trainrig.model.events import Observer, Progress
from trainrig.model.evidence import Evidence, NodeCheck, NodeEvidence
from trainrig.model.fabric import ETHERNET, Fabric
from trainrig.model.job import Job
from trainrig.model.node import Node
from trainrig.model.offer import Offer
from trainrig.recovery.node_advice import advice
from trainrig.render.inventory import role_variables
from trainrig.store import locks
from trainrig.store.workdir import write_atomic
from trainrig.tools.container import local_image, node_image
from trainrig.tools.ssh import Ssh

LIB = "/usr/local/lib/trainrig"
FILE = "evidence.json"
ASK_SECONDS = 300
OTHER_VERIFY_SECONDS = 120


def accept(
    ssh: Ssh,
    job: Job,
    offer: Offer,
    image: str,
    observe: Observer,
    *,
    driver: str | None = None,
    bucket: str | None = None,
    now: Clock = utc_now,
) -> Evidence:
    """Checks every node and keeps the evidence with the rig. It raises nothing for what it finds: see `require`.

    Args:
        driver: the version in the pinned machine image; the job's own pin wins.
        bucket: URL of the checkpoint store, tried with the node's own identity.
    """
    promise = Promise(
        gpu=offer.gpu,
        gpu_count=offer.gpu_count,
        gpu_memory_gib=offer.gpu_memory_gib,
        driver=None if offer.cloud == "local" else job.pins.driver or driver,
        cuda=job.pins.cuda,
        mounts=tuple(str(m.source) for m in job.mounts if m.is_bucket),
    )

    here = local_image(image)
    built = here[0] if here and not here[1] else None  # that no registry knows: only its id says which it is

    def ask(node: Node) -> NodeEvidence:
        answers = _answers(ssh, node, promise, image, bucket, built)
        evidence = NodeEvidence(
            node=node.name, rank=node.rank, checks=acceptance.judge(promise, answers), facts=answers.probe
        )
        bad = "; ".join(f"{c.name}: {c.detail}" for c in evidence.failures)
        observe(
            Progress(phase="configure", message=f"not as promised: {bad}" if bad else "as promised", node=node.name)
        )
        return evidence

    evidence = Evidence(rig=ssh.rig.name, at=iso(now()), nodes=tuple(ssh.each(ask)))
    store(ssh.rig, evidence)
    return evidence


def verify(
    ssh: Ssh,
    job: Job,
    offer: Offer,
    image: str,
    observe: Observer,
    *,
    driver: str | None = None,
    fabric: Fabric = ETHERNET,
    bucket: str | None = None,
    now: Clock = utc_now,
) -> Evidence:
    """As `accept`, and one check more a node: whether it moved away from its roles, by a run that changes nothing.

    Raises:
        ConfigureFailed: the roles could not even be compared.
        RigBusy: another process compares them, for long.
    """
    evidence = accept(ssh, job, offer, image, observe, driver=driver, bucket=bucket, now=now)
    variables = role_variables(job, offer, image, driver=driver, fabric=fabric, bucket=bucket)
    with locks.hold(ssh.rig / CHECKED, "verify", wait_seconds=OTHER_VERIFY_SECONDS):
        recap = converge(ssh, ssh.nodes, variables, observe, check=True)
    nodes = tuple(replace(n, checks=(*n.checks, _drift(n.node, recap.changed))) for n in evidence.nodes)
    evidence = replace(evidence, nodes=nodes)
    store(ssh.rig, evidence)
    return evidence


def require(evidence: Evidence, *, mended: bool = True) -> None:
    """Raises ConfigureFailed when a check failed: the next attempt may get better machines.

    Args:
        mended: the roles have just run, and this is what they could not mend.
    """
    failed = {n.node: n.failures for n in evidence.nodes if n.failures}
    if failed:
        lines = [f"{node}: {c.name}: {c.detail}" for node, checks in failed.items() for c in checks]
        raise ConfigureFailed(
            "\n    ".join([f"{len(failed)} of {len(evidence.nodes)} nodes are not as promised", *lines]),
            hint=advice("\n".join(lines)) if mended else "trainrig configure RIG mends what the roles can mend",
            details={"evidence": evidence.to_document()},
        )


def store(rig: Path, evidence: Evidence) -> None:
    write_atomic(rig / FILE, json.dumps(evidence.to_document(), indent=2).encode())


def stored(rig: Path) -> Evidence | None:
    """The last evidence of a rig, None when it was never checked."""
    try:
        return build(Evidence, json.loads((rig / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


def _drift(node: str, changed: list[tuple[str, str]]) -> NodeCheck:
    tasks = [task for where, task in changed if where == node]
    if tasks:
        return NodeCheck(name="drift", status="fail", detail=f"moved away from its roles: {', '.join(tasks)}")
    return NodeCheck(name="drift", status="pass", detail="as the roles left it")


def _answers(
    ssh: Ssh, node: Node, promise: Promise, image: str, bucket: str | None, built: str | None = None
) -> Answers:
    words = [f"{LIB}/probe", *(["--gpus"] if promise.gpu_count else [])]
    probe = _document(ssh, node, words)
    # A Docker that does not answer the probe in its time would keep us for good.
    there = node_image(ssh, node, image) if probe.get("docker") is not None else None
    present = there is not None
    return Answers(
        probe=probe,
        skew_seconds=_skew(ssh, node),
        image_present=present,
        image_other=present and built not in {None, there},
        in_container=_in_container(ssh, node, image) if promise.gpu_count and present else None,
        bucket=None if bucket is None else _bucket(ssh, node, bucket),
    )


def _document(ssh: Ssh, node: Node, words: list[str]) -> Mapping[str, Any]:
    outcome = ssh.run(node, words, check=False, timeout_seconds=ASK_SECONDS)
    lines = outcome.stdout.strip().splitlines()
    if not outcome.ok or not lines:
        said = outcome.stderr.strip().splitlines() or [f"exit code {outcome.returncode}"]
        return {"error": said[-1], "errors": {}}
    try:
        document: Mapping[str, Any] = json.loads(lines[-1])
    except ValueError:
        return {"error": f"{words[0]} does not say what it should: {lines[-1][:200]}", "errors": {}}
    return document


def _skew(ssh: Ssh, node: Node) -> float:
    """Seconds by which the node's clock is surely ahead (or behind, negative): 0 when it said a time between the
    question and the answer, which take long on a busy machine."""
    before = time.time()
    theirs = float(ssh.run(node, ["date", "+%s.%N"]).stdout)
    after = time.time()
    return min(theirs - before, 0.0) + max(theirs - after, 0.0)


def _in_container(ssh: Ssh, node: Node, image: str) -> Mapping[str, Any]:
    """A CUDA call, and an all-reduce over the node's GPUs, from inside the job's own image."""
    docker = ["docker", "run", "--rm", "--pull=never", "--gpus=all", "--network=none", "--shm-size=1g"]
    call = ["--entrypoint=python3", f"--volume={LIB}/gpu-call:/gpu-call:ro", image, "/gpu-call"]
    return _document(ssh, node, [*docker, *call])


def _bucket(ssh: Ssh, node: Node, url: str) -> str:
    """What failed, empty when a small object could be written, read and deleted."""
    outcome = ssh.run(node, [f"{LIB}/data", "check", url], check=False, timeout_seconds=ASK_SECONDS)
    return "" if outcome.ok else outcome.stderr.strip() or f"exit code {outcome.returncode}"
