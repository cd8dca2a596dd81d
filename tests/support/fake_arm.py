"""Azure Resource Manager in memory, over REST on this machine: groups, what is in them, and their deletion.

It is not Azure: deleting a group takes one poll, and nothing ever refuses.
"""

from __future__ import annotations

from typing import Any

from support.loopback import Loopback, Reply, Request
from trainrig.model.rig import RigIdentity

BASE = r"/subscriptions/([\w-]+)"


class FakeArm:
    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.groups: dict[str, dict[str, Any]] = {}
        self.inside: dict[str, list[dict[str, Any]]] = {}
        self.ending: list[str] = []
        server.route("GET", f"{BASE}/resource[gG]roups", lambda _request: {"value": list(self.groups.values())})
        server.route("GET", f"{BASE}/resource[gG]roups/([\\w-]+)/resources", self._inside)
        server.route(
            "GET", f"{BASE}/resource[gG]roups/([\\w-]+)/providers/Microsoft.Compute/virtualMachines", self._machines
        )
        server.route("DELETE", f"{BASE}/resource[gG]roups/([\\w-]+)", self._delete)
        server.route("GET", "/operations/([\\w-]+)", self._poll)

    def add_group(self, name: str, tags: dict[str, str] | None = None, location: str = "eastus") -> None:
        ident = f"/subscriptions/s/resourceGroups/{name}"
        self.groups[name] = {"id": ident, "name": name, "location": location, "tags": tags or {}}
        self.inside[name] = []

    def add(self, group: str, kind: str, name: str, tags: dict[str, str] | None = None, **more: Any) -> None:
        # Azure writes the group in capitals in this list
        ident = f"/subscriptions/s/resourceGroups/{group.upper()}/providers/{kind}/{name}"
        self.inside[group].append({"id": ident, "name": name, "type": kind, "tags": tags or {}, **more})

    def add_rig(self, rig: RigIdentity) -> None:
        """A rig as the module makes it."""
        name, labels = rig.resource_prefix, rig.all_labels()
        self.add_group(name, labels)
        self.add(name, "Microsoft.Network/virtualNetworks", name, labels)
        self.add(name, "Microsoft.Network/publicIPAddresses", f"{name}-0", labels)
        properties = {"priority": "Spot", "hardwareProfile": {"vmSize": "Standard_NC24ads_A100_v4"}}
        machine = "Microsoft.Compute/virtualMachines"
        self.add(name, machine, f"{name}-0", labels, location="eastus", properties=properties)

    def _inside(self, request: Request) -> Any:
        group = request.groups[1]
        return {"value": self.inside[group]} if group in self.groups else _missing(group)

    def _machines(self, request: Request) -> Any:
        items = self.inside[request.groups[1]]
        return {"value": [i for i in items if i["type"] == "Microsoft.Compute/virtualMachines"]}

    def _delete(self, request: Request) -> Any:
        group = request.groups[1]
        if group not in self.groups:
            return _missing(group)
        assert request.query["forceDeletionTypes"] == "Microsoft.Compute/virtualMachines"
        self.ending.append(group)
        return Reply(
            status=202, body={}, headers={"Location": f"{self.server.url}/operations/{group}", "Retry-After": "0"}
        )

    def _poll(self, request: Request) -> Any:
        self.groups.pop(request.groups[0], None)
        return Reply(status=200, body={})


def _missing(group: str) -> Reply:
    body = {"error": {"code": "ResourceGroupNotFound", "message": f"Resource group '{group}' could not be found."}}
    return Reply(status=404, body=body)
