"""Sorts planned resources by what a reviewer fears: rights first, then ways in, then the machines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from trainrig.model.money import dollars
from trainrig.model.plan import Plan, PlannedResource

RIGHTS, NETWORK, REST = "Rights", "Network", "Machines and the rest"
GROUPS = (RIGHTS, NETWORK, REST)
_RIGHTS = re.compile(r"_iam_|_role_assignment|_service_account|_user_assigned_identity|_kms_")
_NETWORK = re.compile(
    r"_(vpc|subnet|subnetwork|security_group|security_rule|network|route|route_table|firewall|internet_gateway|eip"
    r"|public_ip|virtual_network|nat_gateway)(_|$)"
)
# What decides about a resource of these groups; everything else is in plan.json.
_TELLING = (
    *("policy", "assume_role_policy", "role", "role_definition_name", "member", "scope", "bucket", "repository"),
    *("cidr_ipv4", "cidr_ipv6", "from_port", "to_port", "ip_protocol", "source_ranges", "allow", "direction"),
    *("source_address_prefix", "source_address_prefixes", "destination_port_range", "destination_cidr_block"),
    *("cidr_block", "ip_cidr_range", "address_space"),
)


def group_of(resource: PlannedResource) -> str:
    return group_of_type(resource.type)


def group_of_type(type_: str) -> str:
    if _RIGHTS.search(type_):
        return RIGHTS
    return NETWORK if _NETWORK.search(type_) else REST


def grouped(resources: Iterable[PlannedResource]) -> dict[str, list[PlannedResource]]:
    found: dict[str, list[PlannedResource]] = {name: [] for name in GROUPS}
    for resource in resources:
        found[group_of(resource)].append(resource)
    return found


def telling(resource: PlannedResource) -> dict[str, str]:
    """The values that decide about a right or a way in."""
    return telling_values(resource.values or {})


def telling_values(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: in_words(values[name]) for name in _TELLING if values.get(name) not in (None, "", [], {})}


def statements(value: object) -> list[dict[str, Any]]:
    """Those of a policy as AWS writes it; none: it is no such policy."""
    try:
        found = json.loads(value)["Statement"] if isinstance(value, str) else []
    except (ValueError, KeyError, TypeError):
        return []
    many = found if isinstance(found, list) else [found]
    return many if all(isinstance(one, dict) for one in many) else []


def allows(statement: Mapping[str, Any]) -> str:
    """`Allow s3:GetObject, s3:PutObject on arn:aws:s3:::runs/*`, with whatever else it says as it says it."""
    rest = {k: v for k, v in statement.items() if k not in {"Sid", "Effect", "Action", "Resource"}}
    words = [str(statement.get("Effect", "")), _short(statement.get("Action", ""))]
    words += ["on", _short(statement["Resource"])] if "Resource" in statement else []
    words += ["with", json.dumps(rest)] if rest else []
    return " ".join(filter(None, words))


def in_words(value: object) -> str:
    found = statements(value)
    return "; ".join(map(allows, found)) if found else _short(value)


def _short(value: object) -> str:
    match value:
        case str():
            return " ".join(value.split())
        case list() as many:
            return ", ".join(_short(one) for one in many)
        case dict() as mapping:
            return ", ".join(f"{k}={_short(v)}" for k, v in mapping.items() if v not in (None, "", [], {}))
        case _:
            return str(value)


def ceiling(plan: Plan) -> str:
    """The most that is approved with a plan."""
    hour = dollars(plan.ceiling_hour_usd)
    most = dollars(plan.ceiling_hour_usd * plan.lease_seconds / 3600)
    hours = plan.lease_seconds // 3600
    return f"Whichever candidate it will be: at most {hour} an hour, {most} until the lease of {hours} h ends the rig."


def judged(plan: Plan) -> list[str]:
    """What came of the rules, in a sentence each; the places where one is broken are findings."""
    said = {True: "Held to the planned values", False: "Broken, see above", None: "Not known, no provider was asked"}
    told = []
    for holds, words in said.items():
        rules = [rule.says for rule in plan.policy if rule.holds is holds]
        if rules:
            told.append(f"{words}: {'; '.join(rules)}.")
    return told
