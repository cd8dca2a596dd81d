"""What the folder shows by label."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from support.stub_cloud import objects
from trainrig.clouds.base import Account, Resource
from trainrig.errors import CommandFailed, CredentialsMissing
from trainrig.model.offer import Market


def find(account: Account, run_id: str | None = None) -> Iterator[Resource]:
    if (objects.root() / "no-credentials").exists():
        raise CredentialsMissing("stub: the token has expired")
    for found in objects.everything():
        labels = found["labels"]
        if "trainrig-run-id" in labels and (run_id is None or labels["trainrig-run-id"] == run_id):
            yield Resource(
                cloud="stub",
                region="region-1",
                type=found["type"].removeprefix("stub_"),
                id=found["id"],
                name=found["name"],
                run_id=labels["trainrig-run-id"],
                expires_at=datetime.fromtimestamp(int(labels["trainrig-expires"]), UTC),
                price_hour_usd=Decimal("1.25") if found["type"] == "stub_node" else None,
                market=Market(found["market"]) if found["type"] == "stub_node" else None,
            )


def delete(account: Account, resource: Resource) -> None:
    try:
        objects.delete(resource.id)
    except objects.StubError as error:
        raise CommandFailed(str(error.args[0])) from error
