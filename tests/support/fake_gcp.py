"""Google Cloud in memory, over REST on this machine: lists, deletes, and the refusals that matter for a sweep.

It is not Google: it knows no permissions, no quota and no time. Operations are done at once.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from support.loopback import Loopback, Reply, Request

PROJECT = "proj-1"


def private_key() -> str:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def write_key_file(path: Path, *, key: str, token_uri: str) -> None:
    """A service account key as `gcloud iam service-accounts keys create` writes it."""
    value = {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": "k1",
        "private_key": key,
        "client_email": f"ci@{PROJECT}.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": token_uri,
    }
    path.write_text(json.dumps(value), encoding="utf-8")


class FakeGcp:
    """`add("zones/us-central1-a", "instances", name=...)` puts a resource; `users` of one block its deletion."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.items: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        base = f"/compute/v1/projects/{PROJECT}"
        server.route("POST", "/token", {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"})
        server.route("GET", f"{base}/aggregated/(\\w+)", self._aggregated)
        server.route("GET", f"{base}/(global|zones/[\\w-]+|regions/[\\w-]+)/(\\w+)", self._list)
        server.route("GET", f"/v1/projects/{PROJECT}/serviceAccounts", self._service_accounts)
        server.route("DELETE", f"/v1/projects/{PROJECT}/serviceAccounts/(.+)", self._delete_service_account)
        server.route("DELETE", f"{base}/(global|zones/[\\w-]+|regions/[\\w-]+)/(\\w+)/([\\w-]+)", self._delete)

    def add(self, scope: str, collection: str, **fields: Any) -> dict[str, Any]:
        self.items.setdefault((scope, collection), {})[fields["name"]] = fields
        return fields

    def add_service_account(self, account_id: str, description: str = "") -> None:
        email = f"{account_id}@{PROJECT}.iam.gserviceaccount.com"
        name = f"projects/{PROJECT}/serviceAccounts/{email}"
        self.add("iam", "serviceAccounts", name=name, email=email, description=description)

    def names(self) -> set[str]:
        return {f"{collection}/{name}" for (_, collection), found in self.items.items() for name in found}

    def _aggregated(self, request: Request) -> Any:
        wanted = request.groups[0]
        named = re.fullmatch(r'name (?:eq|=) "(.*)"', request.query.get("filter", 'name eq ".*"'))
        assert named, f"a filter that this fake does not know: {request.query['filter']}"
        scopes: dict[str, Any] = {
            scope: {wanted: [item for name, item in found.items() if re.fullmatch(named[1], name)]}
            for (scope, collection), found in self.items.items()
            if collection == wanted
        }
        scopes.setdefault("zones/us-east1-b", {"warning": {"code": "NO_RESULTS_ON_PAGE"}})
        return {"items": scopes}

    def _list(self, request: Request) -> Any:
        scope, collection = request.groups
        return {"items": list(self.items.get((scope, collection), {}).values())}

    def _service_accounts(self, request: Request) -> Any:
        return {"accounts": list(self.items.get(("iam", "serviceAccounts"), {}).values())}

    def _delete_service_account(self, request: Request) -> Any:
        found = self.items.get(("iam", "serviceAccounts"), {})
        name = f"projects/{PROJECT}/serviceAccounts/{request.groups[0]}"
        return {} if found.pop(name, None) else error(404, "notFound", f"{name} does not exist")

    def _delete(self, request: Request) -> Any:
        scope, collection, name = request.groups
        found = self.items.get((scope, collection), {})
        if name not in found:
            return error(404, "notFound", f"The resource '{scope}/{collection}/{name}' was not found")
        users = found[name].get("users") or []
        if any("/".join(user.split("/")[-2:]) in self.names() for user in users):
            return error(
                400,
                "resourceInUseByAnotherResource",
                f"The resource '{name}' is already being used by '{users[0]}'",
            )
        del found[name]
        return {"kind": "compute#operation", "name": f"op-{name}", "status": "DONE", "progress": 100}


def error(status: int, reason: str, message: str) -> Reply:
    return Reply(
        status=status,
        body={"error": {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}},
    )
