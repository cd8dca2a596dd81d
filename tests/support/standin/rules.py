"""What a cloud or its provider refuses although the schema allows it, and what cannot change without a new object.

Written by hand from the providers' documentation and bug reports; the numbers are reports of terraform-provider-<name>.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Config = dict[str, Any]
Broken = Iterator[tuple[tuple[str, ...], str]]

# Attributes whose change makes a new object. google: its 7.45 source; azurerm: its 5.2 source; aws: its documentation.
FORCE_NEW = {
    "aws_instance": ("ami", "subnet_id", "placement_group", "user_data_replace_on_change"),
    "aws_launch_template": ("name",),
    "aws_placement_group": ("name", "strategy"),
    "aws_security_group": ("name", "description", "vpc_id"),
    "aws_subnet": ("vpc_id", "cidr_block", "availability_zone"),
    "aws_vpc": ("cidr_block",),
    "aws_iam_role": ("name", "path"),
    "google_compute_instance": (
        *("name", "zone", "project", "hostname", "boot_disk", "guest_accelerator", "scratch_disk"),
        *("reservation_affinity", "confidential_instance_config"),
    ),
    "google_compute_network": ("name", "auto_create_subnetworks", "network_profile"),
    "google_compute_subnetwork": ("name", "network", "region"),
    "google_compute_resource_policy": ("name", "region", "group_placement_policy"),
    "google_service_account": ("account_id",),
    "google_artifact_registry_repository_iam_member": ("project", "location", "repository", "role", "member"),
    "google_storage_bucket_iam_member": ("bucket", "role", "member", "condition"),
    "azurerm_linux_virtual_machine": (
        *("name", "location", "resource_group_name", "priority", "eviction_policy", "admin_username", "admin_ssh_key"),
        *("custom_data", "zone", "source_image_reference", "availability_set_id", "proximity_placement_group_id"),
    ),
    "azurerm_network_interface": ("name", "location", "resource_group_name"),
    "azurerm_resource_group": ("name", "location"),
}
_SCHEDULING_FORCE_NEW = ("preemptible", "provisioning_model", "termination_time", "max_run_duration")


def replaced(type_: str, prior: Config, planned: Config) -> list[str]:
    """The attributes that changed and force a new object."""
    names = [n for n in FORCE_NEW.get(type_, ()) if prior.get(n) != planned.get(n)]
    if type_ == "google_compute_instance":  # 26148, 21944
        before, after = _first(prior, "scheduling"), _first(planned, "scheduling")
        names += ["scheduling"] * any(before.get(n) != after.get(n) for n in _SCHEDULING_FORCE_NEW)
    return names


def check(type_: str, config: Config) -> Broken:
    """What is refused, as (path, message)."""
    if rule := _RULES.get(type_):
        yield from rule(config)
    tags = config.get("tags")
    if isinstance(tags, dict) and len(tags) > 50:
        yield ("tags",), "a resource has at most 50 tags"
    for key, value in (config.get("labels") or {}).items() if type_.startswith("google_") else ():
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) or not re.fullmatch(r"[a-z0-9_-]{0,63}", value or ""):
            yield (
                ("labels",),
                f"googleapi: Error 400: Invalid value for field 'resource.labels': {key}={value}, invalid",
            )


def _first(config: Config, name: str) -> Config:
    """A block that may be written once."""
    blocks = config.get(name) or [{}]
    return blocks[0] or {}


def _aws_instance(c: Config) -> Broken:
    market = _first(c, "instance_market_options")
    spot = _first(market, "spot_options")
    if spot.get("spot_instance_type") == "persistent" and spot.get("instance_interruption_behavior") == "terminate":
        yield ("instance_market_options",), "InvalidParameterCombination: persistent requests stop or hibernate"
    if market.get("market_type") == "capacity-block" and not c.get("capacity_reservation_specification"):
        yield ("instance_market_options",), "InvalidParameterCombination: capacity-block needs a capacity reservation"
    if c.get("launch_template") and c.get("subnet_id"):
        yield (
            ("subnet_id",),
            "Network interfaces and an instance-level subnet ID may not be specified on the same request",
        )


def _aws_launch_template(c: Config) -> Broken:
    interfaces = c.get("network_interfaces") or []
    if len(interfaces) > 1 and any(i.get("associate_public_ip_address") in (True, "true") for i in interfaces):
        yield ("network_interfaces",), "InvalidParameterCombination: associatePublicIPAddress and several interfaces"
    places = [(i.get("network_card_index"), i.get("device_index")) for i in interfaces]
    if len(set(places)) != len(places):
        yield ("network_interfaces",), "InvalidParameterCombination: two interfaces at one card and device index"
    if any(p == (0, 0) and i.get("interface_type") == "efa-only" for p, i in zip(places, interfaces, strict=True)):
        yield ("network_interfaces",), "InvalidParameterCombination: an efa-only interface cannot be primary"
    if len(c.get("user_data") or "") > 16384 * 4 // 3:
        yield ("user_data",), "InvalidUserData.Malformed: User data is limited to 16384 bytes"


def _aws_rule(c: Config) -> Broken:
    sources = ("cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id")
    if len([s for s in sources if c.get(s)]) > 1:
        yield ("cidr_ipv4",), f"exactly one of {', '.join(sources)} can be configured"
    if c.get("ip_protocol") == "-1" and c.get("from_port") not in (None, -1):
        yield ("from_port",), "from_port must not be set when ip_protocol is -1"


def _aws_policy(c: Config) -> Broken:
    for name in ("policy", "assume_role_policy"):
        if c.get(name) and "Statement" not in json.loads(c[name]):
            yield (name,), "MalformedPolicyDocument: Syntax errors in policy."


# Machine types that carry their GPUs, and those with local SSDs attached to them (cloud-foundation-fabric#4148).
_GPU_MACHINE = re.compile(r"(a2|a3|a4|a4x|g2|g4)-")
_BUNDLED_SSD = re.compile(r"(a2-ultragpu|a3|a4|a4x|g4|z3)-")


def _google_instance(c: Config) -> Broken:
    machine, scheduling = c.get("machine_type") or "", _first(c, "scheduling")
    model = scheduling.get("provisioning_model") or "STANDARD"
    terminates = scheduling.get("on_host_maintenance") == "TERMINATE"
    gpu = _GPU_MACHINE.match(machine) or c.get("guest_accelerator")
    if gpu and not terminates:
        message = "googleapi: Error 400: Instances with guest accelerators do not support live migration., badRequest"
        yield ("scheduling",), message
    if machine.startswith("e2-") and terminates and model == "STANDARD":
        yield ("scheduling",), "googleapi: Error 400: e2 machines must use onHostMaintenance MIGRATE, badRequest"
    if c.get("guest_accelerator") and not machine.startswith("n1-"):
        yield ("guest_accelerator",), f"googleapi: Error 400: {machine} takes no guest accelerators, badRequest"
    if _BUNDLED_SSD.match(machine) and c.get("scratch_disk"):
        yield ("scratch_disk",), f"{machine} brings its own local SSDs; scratch_disk replaces the VM at every apply"
    if model in ("SPOT", "FLEX_START") and scheduling.get("automatic_restart") is not False:
        yield ("scheduling",), f"automatic_restart must be false when provisioning_model is {model}"
    if (model == "SPOT") != bool(scheduling.get("preemptible")):
        yield ("scheduling",), "googleapi: Error 400: preemptible and provisioning_model disagree, badRequest"
    ends = model in ("SPOT", "FLEX_START") or scheduling.get("max_run_duration")
    if ends and not scheduling.get("instance_termination_action"):
        yield ("scheduling",), "instance_termination_action is needed, and flaps when it is not set"
    affinity = _first(c, "reservation_affinity").get("type")
    if model == "FLEX_START" and (affinity != "NO_RESERVATION" or not scheduling.get("max_run_duration")):
        yield ("scheduling",), "FLEX_START needs max_run_duration and reservation_affinity NO_RESERVATION"
    if model == "RESERVATION_BOUND" and affinity != "SPECIFIC_RESERVATION":
        yield ("scheduling",), "RESERVATION_BOUND needs a specific reservation"


def _google_service_account(c: Config) -> Broken:
    if not re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", c.get("account_id") or "long-enough"):
        yield ("account_id",), "account_id must match ^[a-z]([-a-z0-9]{4,28}[a-z0-9])$"


def _azurerm_vm(c: Config) -> Broken:
    spot = c.get("priority") == "Spot"
    if spot != bool(c.get("eviction_policy")):
        yield ("eviction_policy",), "an eviction_policy must be specified if, and only if, priority is Spot"
    if not spot and (c.get("max_bid_price") or -1) > 0:
        yield ("max_bid_price",), "max_bid_price can only be configured when priority is Spot"
    if c.get("capacity_reservation_group_id") and (
        spot or c.get("availability_set_id") or c.get("proximity_placement_group_id")
    ):
        yield ("capacity_reservation_group_id",), "a capacity reservation goes with no Spot, availability set or PPG"
    if c.get("availability_set_id") and c.get("zone"):
        yield ("zone",), "an availability set and a zone conflict"
    if c.get("admin_username") in ("admin", "administrator", "root", "guest", "test", "user"):
        yield ("admin_username",), "a reserved admin_username"
    if _first(c, "source_image_reference").get("version") == "latest":
        yield ("source_image_reference",), "an exact version, so that the next apply does not replace the VM"


def _azurerm_nsg(c: Config) -> Broken:
    for rule in c.get("security_rule") or []:
        if not 100 <= (rule.get("priority") or 100) <= 4096:
            yield ("security_rule",), "priority must be 100 to 4096"
        if rule.get("source_address_prefix") and rule.get("source_address_prefixes"):
            yield ("security_rule",), "only one of source_address_prefix and source_address_prefixes"


def _azurerm_shutdown(c: Config) -> Broken:
    if not re.fullmatch(r"([01]\d|2[0-3])[0-5]\d", c.get("daily_recurrence_time") or "0000"):
        yield ("daily_recurrence_time",), "daily_recurrence_time must be HHMM"


_RULES: dict[str, Callable[[Config], Broken]] = {
    "aws_instance": _aws_instance,
    "aws_launch_template": _aws_launch_template,
    "aws_vpc_security_group_ingress_rule": _aws_rule,
    "aws_vpc_security_group_egress_rule": _aws_rule,
    "aws_iam_role": _aws_policy,
    "aws_iam_role_policy": _aws_policy,
    "google_compute_instance": _google_instance,
    "google_service_account": _google_service_account,
    "azurerm_linux_virtual_machine": _azurerm_vm,
    "azurerm_network_security_group": _azurerm_nsg,
    "azurerm_dev_test_global_vm_shutdown_schedule": _azurerm_shutdown,
}
