"""A rendered rig of the local cloud, driven with the real Terraform; and what Docker holds, to compare."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import rigs
from trainrig.clouds import registry
from trainrig.clouds.base import Account
from trainrig.clouds.local.computed_offers import REGION
from trainrig.lifecycle.render_rig import render_rig
from trainrig.model.environment import CloudPolicy, Environment
from trainrig.model.job import Job, ResourceOption
from trainrig.model.node import Node
from trainrig.model.rig import new_run_id
from trainrig.render.request import PinnedImage
from trainrig.tools import terraform_program

ACCOUNT = Account(cloud="local")


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalRig:
    root: Path
    run_id: str
    attach: Mapping[str, str] = field(default_factory=dict)

    def command(self, *arguments: str) -> list[str]:
        return [*terraform_program.find().argv, *arguments]

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, **self.attach, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}

    def terraform(self, *arguments: str, code: int = 0) -> str:
        argv = self.command(*arguments)
        done = subprocess.run(argv, cwd=self.root, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def apply(self) -> list[Node]:
        self.terraform("init", "-input=false")
        self.terraform("apply", "-auto-approve", "-input=false")
        return self.nodes()

    def nodes(self) -> list[Node]:
        return [Node.from_output(n) for n in json.loads(self.terraform("output", "-json", "nodes"))]

    def plan_events(self) -> list[dict[str, Any]]:
        """The JSON lines of a plan that has changes."""
        return [json.loads(line) for line in self.terraform("plan", "-json", "-detailed-exitcode", code=2).splitlines()]

    def destroy(self) -> None:
        self.terraform("destroy", "-auto-approve", "-input=false")

    def set_input(self, **values: Any) -> None:
        path = self.root / "terraform.tfvars.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    def leftovers(self) -> list[tuple[str, str]]:
        return [(r.type, r.name) for r in registry.inventory("local").find(ACCOUNT, self.run_id)]

    def sweep(self) -> None:
        inventory = registry.inventory("local")
        for resource in list(inventory.find(ACCOUNT, self.run_id)):
            inventory.delete(ACCOUNT, resource)


def render(root: Path, *, nodes: int = 1, attach: Mapping[str, str] | None = None) -> LocalRig:
    """A rig that is named after nobody and small."""
    run_id = new_run_id()
    key = root.parent / f"{root.name}-id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    reference = registry.built_images("local").machine()
    request = rigs.request(
        nodes=nodes,
        identity=rigs.identity(run_id=run_id, expires_at=rigs.in_an_hour()),
        image=PinnedImage(id=reference, name=reference),
        ssh_public_key=key.with_suffix(".pub").read_text().strip(),
        offer_changes={
            "cloud": "local",
            "region": REGION,
            "zone": None,
            "instance_type": "local.small",
            "gpu": None,
            "gpu_count": 0,
            "vcpus": 1,
            "memory_gib": 2.0,
        },
    )
    job = Job(name="finetune", options=(ResourceOption(cloud="local"),), nodes=nodes)
    environment = Environment(name="test", clouds=(CloudPolicy(cloud="local"),))
    render_rig(request, job=job, environment=environment, out=root)
    return LocalRig(root=root, run_id=run_id, attach=attach or {})


def ssh(rig: LocalRig, node: Node, command: str, *, seconds: float = 60) -> str:
    """Runs a command on a node, with its host key pinned."""
    known = rig.root / "known_hosts"
    known.write_text(f"[{node.ssh_address}]:{node.ssh_port} {node.host_key}\n")
    argv = ["ssh", "-F", "none", "-o", "BatchMode=yes", "-o", f'UserKnownHostsFile="{known}"']
    argv += ["-o", "StrictHostKeyChecking=yes", "-i", str(rig.root.parent / f"{rig.root.name}-id_ed25519")]
    argv += ["-p", str(node.ssh_port), f"{node.ssh_user}@{node.ssh_address}", command]
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=seconds).stdout
