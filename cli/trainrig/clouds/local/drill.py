"""Takes a node away on purpose, as a cloud takes back spot capacity."""

from __future__ import annotations

from typing import Final

from trainrig.clouds.base import Account
from trainrig.clouds.local.facts import FACTS
from trainrig.errors import CommandFailed
from trainrig.localcloud.engine import connect, doing
from trainrig.localcloud.isolation import words
from trainrig.model.node import Node

NOTICE_FILE: Final = "/run/trainrig-notice.json"  # the agent's role asks it

# The power goes at the end of the notice, and with it the node's memory of the notice.
_ANNOUNCE = f"""set -e
systemd-run --quiet --on-active={FACTS.preemption_notice_seconds} --timer-property=AccuracySec=100ms \
  systemctl --no-block poweroff
echo '{{"action": "terminate"}}' >{NOTICE_FILE}.new
mv {NOTICE_FILE}.new {NOTICE_FILE}
"""


def preempt(account: Account, node: Node, *, notice: bool) -> None:  # noqa: ARG001
    """With notice the node is told, as a cloud's metadata service tells it, and shuts down when the time is over,
    whoever is still alive by then. Without, its power is cut."""
    with connect() as engine, doing(f"drill {node.name}"):
        container = engine.client.containers.get(node.instance_id)
        if not notice:
            container.kill()
            return
        code, output = container.exec_run(["sh", "-c", _ANNOUNCE])
        if code:
            why = words(output) or f"it went before it could be told (exit code {code})"
            raise CommandFailed(f"drill {node.name}: {why}")
