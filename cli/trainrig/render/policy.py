"""What a plan of a rig must not do, whatever the cloud: rules over the values that Terraform planned.

A rule speaks of the clouds whose resources it knows, and of those alone; of a plan without values it says nothing.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainrig.model.plan import Finding, PlannedResource, Rule

WIDE_V4, WIDE_V6 = 16, 32  # a network of fewer fixed bits than this is more than an office
_LABELS = {"aws": "tags", "google": "labels", "azurerm": "tags"}
# What the clouds give no labels: parts of something that has them, rights, and Google's networks.
UNLABELLED = {
    "terraform_data",
    "aws_route",
    "aws_route_table_association",
    "aws_iam_role_policy",
    "google_artifact_registry_repository_iam_member",
    "google_compute_firewall",
    "google_compute_network",
    "google_compute_resource_policy",
    "google_compute_subnetwork",
    "google_service_account",
    "google_storage_bucket_iam_member",
    "azurerm_network_interface_security_group_association",
    "azurerm_network_security_rule",
    "azurerm_role_assignment",
    "azurerm_subnet",
}
# type -> attributes with the networks that may come in
_SOURCES = {
    "aws_vpc_security_group_ingress_rule": ("cidr_ipv4", "cidr_ipv6"),
    "google_compute_firewall": ("source_ranges",),
    "azurerm_network_security_rule": ("source_address_prefix", "source_address_prefixes"),
}
# Grants on a project or an account, and those that take away what others have.
_TOO_MUCH = {
    "google_project_iam_member",
    "google_storage_bucket_iam_binding",
    "google_artifact_registry_repository_iam_binding",
    "aws_iam_role_policy_attachment",
}
_ROLES = {
    "roles/storage.objectUser",
    "roles/storage.objectViewer",
    "Storage Blob Data Contributor",
    "Storage Blob Data Reader",
}
# They read the images of one registry or repository, and know no smaller place.
_IMAGE_ROLES = {"roles/artifactregistry.reader", "AcrPull"}
_LOGIN = ["ecr:GetAuthorizationToken"]  # IAM knows it with no resource, and it opens nothing by itself
_WHOLE_BUCKET = re.compile(r"arn:[a-z-]+:s3:::([^/]+)/\*")
_ROLE_IN = {
    "google_storage_bucket_iam_member": "role",
    "google_artifact_registry_repository_iam_member": "role",
    "azurerm_role_assignment": "role_definition_name",
}
_AZURE_LONGEST_SCHEDULE_SECONDS = 86_400
Broken = tuple[str, str]  # address, what is wrong
Resources = Sequence[PlannedResource]


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What the rules compare with: the rig's labels, and its lease."""

    labels: Mapping[str, str]
    lease_seconds: int


def check(resources: Iterable[PlannedResource], expected: Expected) -> tuple[tuple[Rule, ...], tuple[Finding, ...]]:
    """Every rule that has something to say of these resources, and a finding for each place where one is broken."""
    made = [r for r in resources if r.actions != ("delete",)]
    known = all(r.values is not None for r in made)
    providers = {provider for r in made if (provider := r.type.split("_", 1)[0]) != "terraform"}
    rules, findings = [], []
    for code, (says, clouds, broken) in _RULES.items():
        if not providers or not providers <= clouds:
            continue
        found = list(broken(made, expected)) if known else []
        rules.append(Rule(code=code, says=says, holds=not found if known else None))
        findings += [Finding(code=f"policy_{code}", detail=wrong, address=address) for address, wrong in found]
    return tuple(rules), tuple(findings)


def unlabelled(resources: Resources, expected: Expected) -> Iterator[Broken]:
    """Volumes and network interfaces too."""
    for r in resources:
        if r.type in UNLABELLED:
            continue
        parts = {"": _get(r, _LABELS.get(r.type.split("_", 1)[0], ""))}
        if r.type == "aws_instance":
            parts["its volumes"] = _get(r, "volume_tags")
        if r.type == "aws_launch_template":
            specified = {s["resource_type"]: s["tags"] for s in _get(r, "tag_specifications") or ()}
            parts |= {kind: specified.get(kind) for kind in ("instance", "volume", "network-interface")}
        if r.type == "google_compute_instance":
            parts["its disk"] = _get(r, "boot_disk", 0, "initialize_params", 0, "labels")
        for part, labels in parts.items():
            missing = sorted(k for k, v in expected.labels.items() if (labels or {}).get(k) != v)
            if missing:
                yield r.address, f"{part or 'it'} lacks the labels {', '.join(missing)}"


def open_ingress(resources: Resources, _expected: Expected) -> Iterator[Broken]:
    for r in resources:
        sources = [_get(r, name) for name in _SOURCES.get(r.type, ())]
        for network in (n for s in sources if s for n in ([s] if isinstance(s, str) else s)):
            wide, private = _judged(network)
            if wide:
                yield r.address, f"it lets {network} in"
            if not private and _ports(r) != ["22"]:
                yield r.address, f"it lets {network} to the ports {', '.join(_ports(r))}"


def _judged(network: str) -> tuple[bool, bool]:
    """(more than an organisation has, private). What is no network, as Azure's service tags, is the whole Internet."""
    try:
        parsed = ipaddress.ip_network(network, strict=False)
    except ValueError:
        return network != "VirtualNetwork", network == "VirtualNetwork"
    fewest = WIDE_V4 if parsed.version == 4 else WIDE_V6
    return parsed.prefixlen < fewest and not parsed.is_private, parsed.is_private


def _ports(r: PlannedResource) -> list[str]:
    match r.type:
        case "aws_vpc_security_group_ingress_rule":
            first, last = _get(r, "from_port"), _get(r, "to_port")
            return ["all"] if first is None else [f"{first}" if first == last else f"{first}-{last}"]
        case "google_compute_firewall":
            return [str(port) for allow in _get(r, "allow") or () for port in allow["ports"] or ["all"]]
        case _:
            return [str(_get(r, "destination_port_range"))]


def unencrypted(resources: Resources, _expected: Expected) -> Iterator[Broken]:
    """Google and Azure encrypt every disk and know no other way."""
    for r in resources:
        if r.type == "aws_launch_template":
            for disk in _get(r, "block_device_mappings") or ():
                if str(disk["ebs"][0]["encrypted"]) != "true":
                    yield r.address, f"the disk {disk.get('device_name')} is not encrypted"


def old_metadata_service(resources: Resources, _expected: Expected) -> Iterator[Broken]:
    for r in resources:
        if r.type == "aws_launch_template":
            options = _get(r, "metadata_options", 0) or {}
            if (options.get("http_tokens"), options.get("http_put_response_hop_limit")) != ("required", 1):
                yield r.address, "its metadata service answers without a token, or a container"


def without_end(resources: Resources, expected: Expected) -> Iterator[Broken]:
    machines = [r for r in resources if r.type == "azurerm_linux_virtual_machine"]
    schedules = [r for r in resources if r.type == "azurerm_dev_test_global_vm_shutdown_schedule"]
    if expected.lease_seconds <= _AZURE_LONGEST_SCHEDULE_SECONDS:
        ended = sum(bool(_get(s, "enabled")) for s in schedules)
        yield from ((m.address, "no schedule ends it") for m in machines[ended:])
    for r in resources:
        if r.type == "aws_launch_template" and _get(r, "instance_initiated_shutdown_behavior") != "terminate":
            yield r.address, "a node that shuts down stays, and bills"
        if r.type == "google_compute_instance":
            bound = _get(r, "scheduling", 0, "provisioning_model") == "RESERVATION_BOUND"  # ends with its reservation
            seconds = _get(r, "scheduling", 0, "max_run_duration", 0, "seconds")
            deleted = _get(r, "scheduling", 0, "instance_termination_action") == "DELETE"
            if not deleted or (not bound and seconds != expected.lease_seconds):
                yield r.address, "the cloud does not delete it at the end of the lease"


def wide_rights(resources: Resources, _expected: Expected) -> Iterator[Broken]:
    for r in resources:
        if r.type in _TOO_MUCH:
            yield r.address, "it grants rights on a whole account or project, or takes away those of others"
        for statement in _statements(_get(r, "policy")):
            actions, targets = (_many(statement.get(key)) for key in ("Action", "Resource"))
            if any("*" in action for action in actions) or ("*" in targets and actions != _LOGIN):
                yield r.address, f"it allows {', '.join(actions)} on {', '.join(targets)}"
            for bucket in (found[1] for target in targets if (found := _WHOLE_BUCKET.fullmatch(target))):
                yield r.address, f"it allows {', '.join(actions)} on all of {bucket}"
        role = _get(r, _ROLE_IN[r.type]) if r.type in _ROLE_IN else None
        if role is None or role in _IMAGE_ROLES:
            continue
        if role not in _ROLES or not _get(r, "condition"):
            yield r.address, f"it grants {role}{'' if _get(r, 'condition') else ' without a condition'}"


def _statements(policy: Any) -> list[dict[str, Any]]:
    try:
        found = json.loads(policy)["Statement"] if isinstance(policy, str) else []
    except (ValueError, KeyError, TypeError):
        return []
    return [one for one in _many(found) if isinstance(one, dict) and one.get("Effect") != "Deny"]


def _many(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]


def _get(r: PlannedResource, *path: str | int) -> Any:
    """What lies at a path of the planned values; None: nothing, or nothing that is known yet."""
    found: Any = r.values
    for key in path:
        try:
            found = found[key]
        except (KeyError, IndexError, TypeError):
            return None
    return found


_ALL = frozenset(_LABELS)
_RULES: Mapping[str, tuple[str, frozenset[str], Callable[[Resources, Expected], Iterator[Broken]]]] = {
    "ingress": (
        f"nothing but SSH can be reached from outside, and from no network wider than /{WIDE_V4}",
        _ALL,
        open_ingress,
    ),
    "rights": (
        "no `*` in what the nodes may do, and no right beyond a place in a bucket and their own image",
        _ALL,
        wide_rights,
    ),
    "encryption": ("every disk is encrypted", _ALL, unencrypted),
    "metadata": ("credentials of a node need a token (IMDSv2)", frozenset({"aws"}), old_metadata_service),
    "lease": ("each node ends with the lease by itself", _ALL, without_end),
    "labels": ("whatever can have labels has all of the rig's, volumes too", _ALL, unlabelled),
}
