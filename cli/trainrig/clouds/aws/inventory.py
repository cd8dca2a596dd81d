"""What of ours is in an AWS account, whatever Terraform's state says: EC2 by region, IAM once. Never a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from typing import Any

from trainrig.clouds.aws import delete_ec2, delete_iam
from trainrig.clouds.aws.blockers import blockers
from trainrig.clouds.aws.ec2_kinds import KINDS, Item, Kind, tags_of
from trainrig.clouds.aws.facts import FACTS
from trainrig.clouds.aws.session import client, regions, translated
from trainrig.clouds.base import Account, Resource
from trainrig.clouds.leftovers import HOURS_A_MONTH, RUN_ID_LABEL, claim, with_known_runs
from trainrig.errors import CommandFailed, UsageError
from trainrig.model.offer import Market

IAM_PATH = "/trainrig/"  # of the roles and profiles that the module makes
GLOBAL = "global"
ORDER = [*(kind.type for kind in KINDS), "instance_profile", "role"]

Delete = Callable[[Any, Resource], None]


def find(account: Account, run_id: str | None = None) -> Iterator[Resource]:
    """All regions of the account at once. What is on its way out but still there is listed."""
    with translated(account):
        with ThreadPoolExecutor(max_workers=8) as pool:
            by_region = list(pool.map(partial(_in_region, account, run_id), regions(account)))
        found = [*(r for resources in by_region for r in resources), *_in_iam(account, run_id)]
    yield from with_known_runs(sorted(found, key=lambda r: ORDER.index(r.type)))


def delete(account: Account, resource: Resource) -> None:
    """Deletes one; waits for the run's own instances to end before it takes what they hold.

    Raises:
        CommandFailed: AWS refuses; where something holds the resource, that is named.
    """
    if resource.type in delete_iam.DELETE:
        with translated(account):
            delete_iam.DELETE[resource.type](client(account, "iam"), resource)
        return
    if resource.type not in delete_ec2.DELETE:
        raise UsageError(f"aws has no resource of type {resource.type!r}")
    ec2 = client(account, "ec2", resource.region)
    try:
        with translated(account):
            if resource.type not in {"instance", "spot_request"}:
                delete_ec2.wait_for_instances(ec2, resource)
            delete_ec2.DELETE[resource.type](ec2, resource)
    except CommandFailed as error:
        if error.details.get("code") != "DependencyViolation":
            raise
        with translated(account):
            held_by = blockers(ec2, resource)
        raise CommandFailed(
            f"{error.message} Held by {held_by or 'something that is not seen yet'}.", details=error.details
        ) from error


def _in_region(account: Account, run_id: str | None, region: str) -> list[Resource]:
    ec2 = client(account, "ec2", region)
    return [r for kind in KINDS for item in items(ec2, kind) if (r := _resource(kind, item, region, run_id))]


def items(ec2: Any, kind: Kind) -> Iterator[Item]:
    arguments = {"Filters": [{"Name": "tag-key", "Values": [RUN_ID_LABEL]}]} if kind.by_tag else {}
    if ec2.can_paginate(kind.call):
        answers = ec2.get_paginator(kind.call).paginate(**arguments)
    else:
        answers = [getattr(ec2, kind.call)(**arguments)]
    for answer in answers:
        for item in answer[kind.key]:
            yield from item["Instances"] if kind.key == "Reservations" else (item,)


def _resource(kind: Kind, item: Item, region: str, run_id: str | None) -> Resource | None:
    name = kind.name(item)
    found = None if kind.gone(item) else claim(tags_of(item), name, run_id=run_id)
    if found is None:
        return None
    machine = kind.type == "instance"
    return Resource(
        cloud="aws",
        region=region,
        type=kind.type,
        id=item[kind.id],
        name=tags_of(item).get("Name") or name,
        run_id=found.run_id,
        expires_at=found.expires_at,
        price_hour_usd=_price(kind, item),
        market=(Market.SPOT if item.get("InstanceLifecycle") == "spot" else Market.ON_DEMAND) if machine else None,
        instance_type=item["InstanceType"] if machine else None,
        image=item.get("ImageId") if machine else None,
        labelled=RUN_ID_LABEL in tags_of(item),
        disks=_disks(item) if machine else (),
    )


def _disks(instance: Item) -> tuple[str, ...]:
    return tuple(m["Ebs"]["VolumeId"] for m in instance.get("BlockDeviceMappings", []) if "Ebs" in m)


def _price(kind: Kind, item: Item) -> Decimal | None:
    match kind.type:
        case "volume":
            return Decimal(item["Size"]) * FACTS.disk_gb_month_usd / HOURS_A_MONTH
        case "address":
            return FACTS.address_hour_usd
        case _:
            return None


def _in_iam(account: Account, run_id: str | None) -> Iterator[Resource]:
    """Our path marks them, so their names can be believed. Lists do not show tags, so those of ours are asked for."""
    iam = client(account, "iam")
    for kind, key in (("instance_profile", "InstanceProfile"), ("role", "Role")):
        for page in iam.get_paginator(f"list_{kind}s").paginate(PathPrefix=IAM_PATH):
            for name in (item[f"{key}Name"] for item in page[f"{key}s"]):
                if claim({}, name, marked=True, run_id=run_id):
                    with delete_ec2.gone_is_fine():
                        labels = tags_of(getattr(iam, f"get_{kind}")(**{f"{key}Name": name})[key])
                        yield _iam_resource(kind, name, labels)


def _iam_resource(kind: str, name: str, labels: dict[str, str]) -> Resource:
    found = claim(labels, name, marked=True)
    return Resource(
        cloud="aws",
        region=GLOBAL,
        type=kind,
        id=name,
        name=name,
        run_id=found.run_id if found else None,
        expires_at=found.expires_at if found else None,
    )
