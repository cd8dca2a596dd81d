"""How the fake cloud names, completes and lets go of its objects."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from tf.types import Unknown

from support.standin import wire
from support.standin.cloud import FakeCloud

State = dict[str, Any]

_AWS_ID = {
    "aws_instance": "i",
    "aws_vpc": "vpc",
    "aws_subnet": "subnet",
    "aws_security_group": "sg",
    "aws_default_security_group": "sg",
    "aws_internet_gateway": "igw",
    "aws_route_table": "rtb",
    "aws_launch_template": "lt",
    "aws_eip": "eipalloc",
    "aws_vpc_security_group_ingress_rule": "sgr",
    "aws_vpc_security_group_egress_rule": "sgr",
}
_NAMED_ON_AWS = {"aws_placement_group", "aws_iam_role", "aws_iam_instance_profile", "aws_s3_bucket"}
_UNIQUE_NAME = {"aws_launch_template"}
_FIXED: dict[str, State] = {
    "aws_instance": {"instance_state": "running"},
    "aws_launch_template": {"latest_version": 1, "default_version": 1},
    "google_compute_instance": {"current_status": "RUNNING", "instance_id": "4711"},
}
# type -> the attribute by which others hold on to it
_HELD_BY = {
    "aws_vpc": "vpc_id",
    "aws_subnet": "subnet_id",
    "aws_security_group": "vpc_security_group_ids",
    "aws_placement_group": "placement_group",
    "google_compute_network": "network",
    "google_compute_subnetwork": "subnetwork",
    "azurerm_subnet": "subnet_id",
    "azurerm_network_interface": "network_interface_ids",
}
_IN_USE = {
    "aws": "DependencyViolation",
    "google": "resourceInUseByAnotherResource",
    "azurerm": "InUseCannotBeDeleted",
    "nebius": "FailedPrecondition",
}
_SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000"


def name_of(state: State) -> str:
    """What a person calls it; "" when it has no name yet."""
    tags = state.get("tags")
    tag = tags.get("Name") if isinstance(tags, dict) else None
    names = [state.get("name"), state.get("account_id"), state.get("bucket"), tag]
    return next((n for n in names if isinstance(n, str)), "")


def derive(planned: State) -> None:
    """What a provider computes at plan time from what is written beside it."""
    for written, computed in (("tags", "tags_all"), ("labels", "effective_labels"), ("labels", "terraform_labels")):
        if computed in planned and planned.get(written) is not Unknown:
            planned[computed] = planned[written]


def complete(type_: str, block: wire.Block, planned: State, cloud: FakeCloud) -> State:
    """`planned` with a value for everything that the cloud decides."""
    id_ = planned["id"] if planned.get("id") not in (None, Unknown) else _id(type_, planned)
    seed = hashlib.sha256(id_.encode()).digest()
    inherited = _of_launch_template(type_, planned, cloud)
    fixed = {**_FIXED.get(type_, {}), **inherited, "id": id_}

    def leaf(name: str, attribute: Mapping[str, Any], value: Any) -> Any:
        if value is not Unknown:
            return value
        if nested := attribute.get("nested_type"):
            one = {inner: leaf(inner, schema, Unknown) for inner, schema in nested["attributes"].items()}
            return one if nested["nesting_mode"] == "single" else [one]
        kind = attribute["type"]
        if isinstance(kind, list):
            return {} if kind[0] in ("map", "object") else []
        if kind in ("number", "bool"):
            return 0 if kind == "number" else False
        words = name.split("_")
        if "ip" in words:
            net = "198.51.100" if {"public", "nat"} & set(words) or name == "ip_address" else "10.77.0"
            return f"{net}.{seed[0] % 250 + 2}"
        return f"{name}-{seed.hex()[:8]}"

    state = wire.rebuild(block, planned, leaf)
    return {**state, **{k: v for k, v in fixed.items() if k in state and planned.get(k) in (None, Unknown)}}


def answer_id(config: State) -> str:
    """The id of what a data source finds: the same for the same question."""
    return f"found-{hashlib.sha256(repr(config).encode()).hexdigest()[:12]}"


def already_exists(type_: str, id_: str) -> str:
    if type_.startswith("azurerm_"):
        return (
            f"A resource with the ID {id_!r} already exists - to be managed via Terraform this resource needs to be "
            "imported into the State."
        )
    if type_.startswith("google_"):
        return f"googleapi: Error 409: The resource '{id_}' already exists, alreadyExists"
    return f"api error EntityAlreadyExists: {id_} already exists."


def blockers(type_: str, state: State, cloud: FakeCloud, provider: State) -> Iterator[str]:
    """Why an object cannot be deleted: others hold on to it."""
    if type_ == "azurerm_resource_group":
        group = (provider.get("features") or [{}])[0].get("resource_group") or [{}]
        inside = [o["id"] for o in _in_group(state["name"], cloud)]
        if inside and group[0].get("prevent_deletion_if_contains_resources") is not False:
            yield f"deleting Resource Group {state['name']!r}: the Resource Group still contains Resources: {inside}"
    held_by, code = _HELD_BY.get(type_), _IN_USE[type_.partition("_")[0]]
    for other in cloud.objects() if held_by else ():
        if other["id"] != state["id"] and _holds(other["state"], str(held_by), state["id"]):
            yield f"{code}: {state['id']} is in use by {other['id']}"


def delete(type_: str, state: State, cloud: FakeCloud) -> None:
    if type_ == "azurerm_resource_group":
        for inside in _in_group(state["name"], cloud):
            cloud.remove(inside["type"], inside["id"])
    cloud.remove(type_, state["id"])


def _id(type_: str, planned: State) -> str:
    name, unique = name_of(planned), uuid.uuid4().hex
    if type_ in _UNIQUE_NAME or (type_ not in _NAMED_ON_AWS and type_.startswith("aws_")):
        return f"{_AWS_ID.get(type_, type_)}-{unique[:17]}"
    if type_.startswith("azurerm_"):
        group = planned.get("resource_group_name")
        if type_ == "azurerm_resource_group":
            return f"{_SUBSCRIPTION}/resourceGroups/{name}"
        return f"{_SUBSCRIPTION}/resourceGroups/{group}/providers/{type_}/{name or unique}"
    if type_.startswith("google_"):
        place = next((planned[k] for k in ("zone", "region") if isinstance(planned.get(k), str)), "global")
        # An IAM member has a bucket's name, not one of its own.
        return f"projects/p/{place}/{type_}/{unique if 'iam_member' in type_ else name or unique}"
    return name


def _of_launch_template(type_: str, planned: State, cloud: FakeCloud) -> State:
    """What an instance takes from its launch template, so that the fake cloud knows what holds on to what."""
    if type_ != "aws_instance" or not planned.get("launch_template"):
        return {}
    template = cloud.get("aws_launch_template", str(planned["launch_template"][0]["id"])) or {}
    primary: State = next(iter(template.get("network_interfaces") or []), {})
    spot = any(o["market_type"] == "spot" for o in planned.get("instance_market_options") or [])
    return {
        "ami": template.get("image_id"),
        "instance_type": template.get("instance_type"),
        "subnet_id": primary.get("subnet_id"),
        "vpc_security_group_ids": primary.get("security_groups") or [],
        "instance_lifecycle": "spot" if spot else "",
        "spot_instance_request_id": f"sir-{uuid.uuid4().hex[:8]}" if spot else "",
    }


def _in_group(group: str, cloud: FakeCloud) -> list[dict[str, Any]]:
    return [o for o in cloud.objects("azurerm_*") if o["state"].get("resource_group_name") == group]


def _holds(value: Any, attribute: str, id_: str) -> bool:
    if isinstance(value, dict):
        held = value.get(attribute)
        direct = id_ == held or (isinstance(held, list) and id_ in held)
        return direct or any(_holds(v, attribute, id_) for v in value.values())
    return isinstance(value, list) and any(_holds(v, attribute, id_) for v in value)
