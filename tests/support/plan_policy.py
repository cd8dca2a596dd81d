"""What a plan of a rig must not do, whatever the cloud: rules over `terraform show -json`, each a list of sentences."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from typing import Any

Plan = Mapping[str, Any]

_LABELS = {"aws": "tags", "google": "labels", "azurerm": "tags"}
# What the clouds give no labels: parts of something that has them, rights, and Google's networks.
UNLABELLED = {
    "terraform_data",
    "aws_route",
    "aws_route_table_association",
    "aws_iam_role_policy",
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
# (type, attribute) of the networks that may come in
_SOURCES = {
    "aws_vpc_security_group_ingress_rule": ("cidr_ipv4", "cidr_ipv6"),
    "google_compute_firewall": ("source_ranges",),
    "azurerm_network_security_rule": ("source_address_prefix", "source_address_prefixes"),
}
# Grants on a project or an account, and those that take away what others have.
_TOO_MUCH = {"google_project_iam_member", "google_storage_bucket_iam_binding", "aws_iam_role_policy_attachment"}
_ROLES = {
    "roles/storage.objectUser",
    "roles/storage.objectViewer",
    "Storage Blob Data Contributor",
    "Storage Blob Data Reader",
}


def resources(plan: Plan) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(address, type, planned values) of each managed resource."""
    for change in plan["resource_changes"]:
        if change["mode"] == "managed" and change["change"]["after"] is not None:
            yield change["address"], change["type"], change["change"]["after"]


def unlabelled(plan: Plan, labels: Mapping[str, str]) -> list[str]:
    """Resources, volumes and network interfaces without all labels of the rig."""
    found = []
    for address, type_, values in resources(plan):
        parts = {address: values.get(_LABELS.get(type_.split("_", 1)[0], ""))}
        if type_ in UNLABELLED:
            continue
        if type_ == "aws_instance":
            parts[f"{address}: its volumes"] = values["volume_tags"]
        if type_ == "aws_launch_template":
            specified = {s["resource_type"]: s["tags"] for s in values["tag_specifications"]}
            parts |= {f"{address}: {k}": specified.get(k) for k in ("instance", "volume", "network-interface")}
        if type_ == "google_compute_instance":
            parts[f"{address}: its disk"] = values["boot_disk"][0]["initialize_params"][0]["labels"]
        found += [where for where, got in parts.items() if not labels.items() <= (got or {}).items()]
    return found


def open_ingress(plan: Plan) -> list[str]:
    """Ways in from more of the Internet than an organisation has, or to another port than SSH's."""
    found = []
    for address, type_, values in resources(plan):
        sources = [values.get(name) for name in _SOURCES.get(type_, ())]
        networks = [n for s in sources if s for n in ([s] if isinstance(s, str) else s)]
        for network in networks:
            parsed = ipaddress.ip_network(network, strict=False)
            if parsed.prefixlen < (8 if parsed.version == 4 else 32):
                found.append(f"{address}: from {network}")
            if not parsed.is_private and _ports(type_, values) != ["22"]:
                found.append(f"{address}: {network} to ports {_ports(type_, values)}")
    return found


def _ports(type_: str, values: Mapping[str, Any]) -> list[str]:
    match type_:
        case "aws_vpc_security_group_ingress_rule":
            first, last = values["from_port"], values["to_port"]
            return ["all"] if first is None else [f"{first}" if first == last else f"{first}-{last}"]
        case "google_compute_firewall":
            return [port for allow in values["allow"] for port in allow["ports"] or ["all"]]
        case _:
            return [values["destination_port_range"]]


def unencrypted(plan: Plan) -> list[str]:
    """Disks without encryption. Google and Azure encrypt every disk and know no other way."""
    return [
        address
        for address, type_, values in resources(plan)
        if type_ == "aws_launch_template"
        and not all(str(d["ebs"][0]["encrypted"]) == "true" for d in values["block_device_mappings"])
    ]


def old_metadata_service(plan: Plan) -> list[str]:
    """AWS machines whose credentials a request without a token gets, or a container one hop further."""
    return [
        address
        for address, type_, values in resources(plan)
        if type_ == "aws_launch_template"
        and (values["metadata_options"][0]["http_tokens"], values["metadata_options"][0]["http_put_response_hop_limit"])
        != ("required", 1)
    ]


def without_end(plan: Plan, lease_seconds: int) -> list[str]:
    """Nodes that nothing ends at the end of the lease."""
    found: list[str] = []
    schedules: list[bool] = []
    values_of = list(resources(plan))
    types = [type_ for _, type_, _ in values_of]
    for address, type_, values in values_of:
        if type_ == "aws_launch_template" and values["instance_initiated_shutdown_behavior"] != "terminate":
            found.append(address)
        if type_ == "google_compute_instance":
            scheduling = values["scheduling"][0]
            duration = scheduling["max_run_duration"]
            bound = scheduling["provisioning_model"] == "RESERVATION_BOUND"  # ends with its reservation
            if scheduling["instance_termination_action"] != "DELETE" or (
                not bound and [d["seconds"] for d in duration] != [lease_seconds]
            ):
                found.append(address)
        if type_ == "azurerm_dev_test_global_vm_shutdown_schedule":
            schedules.append(values["enabled"])
    if "azurerm_linux_virtual_machine" in types:
        wanted = [lease_seconds <= 86400] * types.count("azurerm_linux_virtual_machine")
        found += ["azurerm_linux_virtual_machine"] * (schedules != wanted)
    return found


def wide_rights(plan: Plan) -> list[str]:
    """Rights of the nodes that name no exact action, or more than a place in a bucket."""
    found = []
    for address, type_, values in resources(plan):
        if type_ in _TOO_MUCH:
            found.append(address)
        if type_ == "aws_iam_role_policy":
            found += [
                f"{address}: {statement}"
                for statement in json.loads(values["policy"])["Statement"]
                if any("*" in action for action in statement["Action"]) or "*" in statement["Resource"]
            ]
        role = values.get("role") if type_ == "google_storage_bucket_iam_member" else values.get("role_definition_name")
        if role is not None and (role not in _ROLES or not values["condition"]):
            found.append(f"{address}: {role} {values['condition']}")
    return found


def secrets(plan: Plan) -> list[str]:
    """Private keys anywhere in the plan."""
    return [mark for mark in ("PRIVATE KEY", "ed25519_private") if mark in json.dumps(plan)]
