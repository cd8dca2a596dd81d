"""What configuring costs, as ratios in one run: python tests/bench/configure.py [NODES]

bare     ansible-playbook of the same roles on a fresh node, started by hand: no events, no checks
first    `configure` of fresh nodes, all at once
again    `configure` when nothing has moved: one question a node
roles    all roles once more, nothing to change: what a node that moved costs
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import nodes
from support.jobs import a_job, an_offer
from trainrig import assets
from trainrig.clouds import registry
from trainrig.lifecycle.configure import configure, converge, open_ssh
from trainrig.model.events import silent
from trainrig.render.inventory import inventory, role_variables


def seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def bare(rig: Path, variables: dict[str, object]) -> float:
    with nodes.booted(rig) as booted:
        ssh = open_ssh(rig, booted, silent)
        hosts = rig / "bare.json"
        hosts.write_text(json.dumps(inventory(ssh.nodes, variables, ssh_config=ssh.config)))
        ansible = assets.path("ansible")
        command = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(hosts), "playbooks/configure.yml"]
        taken = seconds(lambda: subprocess.run(command, cwd=ansible, check=True, capture_output=True))
        ssh.close()
        return taken


def ours(rig: Path, count: int, image: str, variables: dict[str, object]) -> tuple[float, float, float]:
    job, offer = a_job(), an_offer()
    with nodes.booted(rig, count) as booted:
        first = seconds(lambda: configure(rig, job, offer, booted, image, silent))
        again = seconds(lambda: configure(rig, job, offer, booted, image, silent))
        ssh = open_ssh(rig, booted, silent)
        roles = seconds(lambda: converge(ssh, ssh.nodes, variables, silent))
        ssh.close()
        return first, again, roles


def main(count: int) -> None:
    image = registry.built_images("local").container()
    variables = role_variables(a_job(), an_offer(), image)
    with tempfile.TemporaryDirectory(prefix="trainrig-bench-") as directory:
        root = Path(directory)
        one_bare = bare(root / "bare", variables)
        first, again, roles = ours(root / "one", 1, image, variables)
        print(f"bare ansible-playbook, 1 node     {one_bare:6.1f} s")
        print(f"configure, 1 fresh node           {first:6.1f} s  {first / one_bare:.2f} of bare")
        print(f"configure again, nothing moved    {again:6.1f} s  {again / first:.2f} of the first")
        print(f"all roles again, nothing to do    {roles:6.1f} s  {roles / first:.2f} of the first")
        if count > 1:
            many, _, _ = ours(root / "many", count, image, variables)
            print(f"configure, {count} fresh nodes          {many:6.1f} s  {many / first:.2f} of one")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
